import { toAgentTools, ToolApprovals } from '@bulkhead/bridges/openai-agents'
import { Agent, type Runner } from '@openai/agents'
import type { ApprovalRequest, Host } from '../../../bulkhead/src/index.ts'

/** `allow` asks the person. The question has what the call would touch, and the diff. */
export async function answer(
  host: Host, runner: Runner, prompt: string, allow: (question?: ApprovalRequest) => Promise<boolean>,
): Promise<string | undefined> {
  const approvals = new ToolApprovals()
  const session = await host.openSession({ approver: approvals })
  const agent = new Agent({ name: 'writer', model: 'gpt-5', tools: toAgentTools(session, { approvals }) })
  let result = await runner.run(agent, prompt)
  while (result.interruptions.length > 0) {
    for (const item of result.interruptions) {
      const isAllowed = 'callId' in item.rawItem && await allow(approvals.question(item.rawItem.callId))
      if (isAllowed) result.state.approve(item)
      else result.state.reject(item)
    }
    result = await runner.run(agent, result.state)
  }
  await session.close()
  return result.finalOutput
}
