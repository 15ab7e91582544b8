/** Our tools are those of LangChain, and its calls are ours. This file fails to compile otherwise. */
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { AIMessageChunk, BaseMessage, ToolMessage } from '@langchain/core/messages'
import type { StructuredToolInterface } from '@langchain/core/tools'
import { toLangChainTools, type LangChainSession } from '../../src/langchain/index.ts'

declare const model: BaseChatModel
declare const session: LangChainSession

export async function converse(messages: readonly BaseMessage[]): Promise<readonly ToolMessage[]> {
  const tools: StructuredToolInterface[] = toLangChainTools(session)
  const answer = await model.bindTools!(tools).invoke([...messages]) as AIMessageChunk
  return Promise.all((answer.tool_calls ?? []).map((call) => tools[0]!.invoke({ ...call, type: 'tool_call' as const })))
}
