import { eventFields, Refusal, type AuthorizedCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import { deny, refusalOf } from '../permissions/verdict.ts'

/** What a stage of a state machine permitted runs in that stage or not at all: it may have ended since the call was decided. */
export function redeemPermits(call: AuthorizedCall, host: HostContext): Refusal | undefined {
  const { permits, approvalKey } = call.decision
  for (const permit of permits ?? []) {
    const why = permit.redeem(call)
    if (why === undefined) continue
    const verdict = deny('state-machine', 'ApprovalDenied', `stage ${permit.stage}`, why)
    const { stage, source, reason } = verdict
    host.events.emit({
      type: 'ToolInvocationDecided', ...eventFields(call), decision: 'deny', stage, source, reason, approvalKey, args: call.args,
    })
    return new Refusal(refusalOf(verdict, call.tool.name))
  }
  return undefined
}
