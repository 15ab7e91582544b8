/** Our tools are those of Mastra. This file fails to compile otherwise. */
import { Agent, type ToolsInput } from '@mastra/core/agent'
import { toMastraTools, type MastraSession } from '../../src/mastra/index.ts'

declare const session: MastraSession

export async function converse(): Promise<string> {
  const tools: ToolsInput = toMastraTools(session)
  const agent = new Agent({ id: 'agent', name: 'agent', instructions: 'Go.', model: 'openai/gpt-5', tools })
  return (await agent.generate('Go.')).text
}
