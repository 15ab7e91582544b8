/** Our tools are those of OpenAI's own SDK for agents. This file fails to compile otherwise. */
import { Agent, run, type Tool } from '@openai/agents'
import { toAgentTools, type AgentToolsSession } from '../../src/openai-agents/index.ts'

declare const session: AgentToolsSession

export async function converse(): Promise<string | undefined> {
  const tools: Tool[] = toAgentTools(session)
  return (await run(new Agent({ name: 'agent', tools }), 'Go.')).finalOutput
}
