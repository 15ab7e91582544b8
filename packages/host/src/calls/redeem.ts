import type { AuthorizedCall, Refusal } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'
import { refuse } from './refuse.ts'
import { deny } from '../policy/verdict.ts'

/** What a stage of a state machine permitted runs in that stage or not at all: it may have ended since the call was decided. */
export function redeemPermits(call: AuthorizedCall, host: HostContext): Refusal | undefined {
  const { permits = [], approvalKey } = call.decision
  for (const permit of permits) {
    const why = permit.redeem(call)
    if (why !== undefined) return refuse(call, host, deny('state-machine', 'ApprovalDenied', `stage ${permit.stage}`, why), approvalKey)
  }
  return undefined
}

/** What was revoked, here or elsewhere, while the call waited for those before it, lets nothing through. Never rejects. */
export async function redeemApprovals(call: AuthorizedCall, host: HostContext): Promise<Refusal | undefined> {
  const { approvals = [], session } = call
  if (session.approvals.isStale(approvals)) await session.approvals.refresh()
  if (!approvals.some(({ isRevoked }) => isRevoked)) return undefined
  const revoked = deny('approval', 'ApprovalDenied', 'approval', 'what it was approved by was revoked before it began')
  return refuse(call, host, revoked, call.decision.approvalKey)
}
