import { toLlamaIndexTools } from '@bulkhead/bridges/llamaindex'
import type { ToolCallLLM } from '@llamaindex/core/llms'
import { agent } from '@llamaindex/workflow'
import type { Session } from '../../../bulkhead/src/index.ts'

export async function answer(session: Session, llm: ToolCallLLM, prompt: string): Promise<string> {
  const { data: { result } } = await agent({ llm, tools: toLlamaIndexTools(session) }).run(prompt)
  return String(result)
}
