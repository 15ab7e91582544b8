import { eventFields, Refusal, type AuthorizedCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import { deny, refusalOf, type Verdict } from '../permissions/verdict.ts'

/** What a stage of a state machine permitted runs in that stage or not at all: it may have ended since the call was decided. */
export function redeemPermits(call: AuthorizedCall, host: HostContext): Refusal | undefined {
  for (const permit of call.decision.permits ?? []) {
    const why = permit.redeem(call)
    if (why !== undefined) return refuse(call, host, deny('state-machine', 'ApprovalDenied', `stage ${permit.stage}`, why))
  }
  return undefined
}

/** What was revoked, here or elsewhere, while the call waited for those before it, lets nothing through. Never rejects. */
export async function redeemApprovals(call: AuthorizedCall, host: HostContext): Promise<Refusal | undefined> {
  const { approvals = [], session } = call
  if (session.approvals.isStale(approvals)) await session.approvals.refresh()
  if (!approvals.some(({ isRevoked }) => isRevoked)) return undefined
  return refuse(call, host, deny('approval', 'ApprovalDenied', 'approval', 'what it was approved by was revoked before it began'))
}

function refuse(call: AuthorizedCall, host: HostContext, verdict: Verdict): Refusal {
  const { stage, source, reason } = verdict
  const { approvalKey } = call.decision
  host.events.emit({
    type: 'ToolInvocationDecided', ...eventFields(call), decision: 'deny', stage, source, reason, approvalKey, args: call.args,
  })
  return new Refusal(refusalOf(verdict, call.tool.name))
}
