import { eventFields, Refusal, type ValidatedCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'
import { refusalOf, type Verdict } from '../policy/verdict.ts'

/** A deny, told to whoever listens. */
export function refuse(call: ValidatedCall, { events }: HostContext, verdict: Verdict, approvalKey: string): Refusal {
  const { stage, source, reason } = verdict
  const decided = { decision: 'deny', stage, source, reason, approvalKey, args: call.args } as const
  events.emit({ type: 'ToolInvocationDecided', ...eventFields(call), ...decided })
  return new Refusal(refusalOf(verdict, call.tool.name))
}
