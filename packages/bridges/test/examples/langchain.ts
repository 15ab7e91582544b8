import { toLangChainTools } from '@bulkhead/bridges/langchain'
import { HumanMessage, ToolMessage, type AIMessage, type BaseMessage } from '@langchain/core/messages'
import type { Session } from '../../../bulkhead/src/index.ts'

/** `chat`: `(messages) => model.bindTools(toLangChainTools(session)).invoke(messages)`. */
export async function answer(
  session: Session, chat: (messages: readonly BaseMessage[]) => Promise<AIMessage>, prompt: string,
): Promise<AIMessage> {
  const tools = new Map(toLangChainTools(session).map((tool) => [tool.name, tool]))
  const messages: BaseMessage[] = [new HumanMessage(prompt)]
  for (;;) {
    const message = await chat(messages)
    const calls = message.tool_calls ?? []
    if (calls.length === 0) return message
    const results = calls.map(({ id = '', name, args }) =>
      tools.get(name)?.invoke({ type: 'tool_call', id, name, args })
        ?? new ToolMessage({ tool_call_id: id, status: 'error', content: `There is no tool "${name}".` }))
    messages.push(message, ...await Promise.all(results))
  }
}
