/** Our tools are those of LlamaIndex. This file fails to compile otherwise. */
import type { BaseTool, ToolCallLLM } from '@llamaindex/core/llms'
import { agent, multiAgent } from '@llamaindex/workflow'
import { toLlamaIndexTools, type LlamaIndexSession } from '../../src/llamaindex/index.ts'

declare const session: LlamaIndexSession
declare const llm: ToolCallLLM

export async function converse(): Promise<unknown> {
  const tools = toLlamaIndexTools(session)
  await llm.chat({ messages: [], tools: tools satisfies BaseTool[] })
  const one = agent({ llm, tools })
  return multiAgent({ agents: [one], rootAgent: one }).run('Go.')
}
