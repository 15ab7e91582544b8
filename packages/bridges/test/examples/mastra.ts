import { toMastraTools, ToolApprovals, type MastraQuestion } from '@bulkhead/bridges/mastra'
import { Mastra } from '@mastra/core'
import { Agent } from '@mastra/core/agent'
import type { MastraModelConfig } from '@mastra/core/llm'
import { InMemoryStore } from '@mastra/core/storage'
import type { Host } from '../../../bulkhead/src/index.ts'

/** `allow` asks the person. The question has what the call would touch, and the diff. */
export async function answer(
  host: Host, model: MastraModelConfig, prompt: string, allow: (asked: MastraQuestion) => Promise<boolean>,
): Promise<string> {
  const approvals = new ToolApprovals()
  const session = await host.openSession({ approver: approvals })
  const tools = toMastraTools(session, { approvals })
  const writer = new Agent({ id: 'writer', name: 'writer', instructions: 'You write files.', model, tools })
  // The storage keeps suspended calls until they are resumed.
  const agent = new Mastra({ agents: { writer }, storage: new InMemoryStore() }).getAgent('writer')
  let output = await agent.generate(prompt)
  while (output.finishReason === 'suspended') {
    const { toolCallId, suspendPayload } = output.suspendPayload
    output = await agent.resumeGenerate({ approved: await allow(suspendPayload) }, { runId: output.runId!, toolCallId })
  }
  await session.close()
  return output.text
}
