import type { ApprovalAnswer } from '@bulkhead/contract'
import { eventFields, Refusal, type AuthorizedCall, type ValidatedCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import { approvalRequest } from '../permissions/approval-request.ts'
import { approvedBefore, rule, type Ruling } from '../permissions/ruling.ts'
import { allow, deny, headless, refusalOf, type Verdict } from '../permissions/verdict.ts'
import { haltIfHeadless } from '../sessions/halt.ts'

/** Who must agree, agrees. The strictest verdict holds, and where that is `ask`, one person is asked one question. */
export async function authorize(call: ValidatedCall, host: HostContext): Promise<AuthorizedCall | Refusal> {
  const ruling = await rule(call, host)
  const { meaning: { approvalKey } } = ruling
  const verdict = ruling.verdict.action === 'ask' ? await askPerson(call, ruling) : ruling.verdict
  return verdict.action === 'allow' ? permit(call, host, verdict, approvalKey) : refuse(call, host, verdict, approvalKey)
}

async function askPerson(call: ValidatedCall, { verdicts, meaning, answerable }: Ruling): Promise<Verdict> {
  const { tool, session: { approvals, interactions } } = call
  const { approvalKey } = meaning
  const nobodyThere = (verdict: Verdict) => {
    haltIfHeadless(call, 'Approve')
    return verdict
  }
  if (!interactions.canApprove) return nobodyThere(headless())
  const answeredMeanwhile = (): ApprovalAnswer | undefined =>
    answerable && approvedBefore(call, meaning) ? { decision: 'once' } : undefined
  const resume = call.parent?.pause()
  const request = approvalRequest(call, approvalKey, verdicts.filter(({ action }) => action === 'ask'))
  const { decision, reason, nobody } = await interactions.approve(request, call.signal, answeredMeanwhile).finally(resume)
  if (nobody) return nobodyThere(headless(reason ?? 'nobody is there to be asked'))
  if (decision === 'reject') return deny('approval', 'ApprovalDenied', 'person', reason ?? 'a person said no')
  if (decision !== 'once') approvals.remember(tool, approvalKey, decision)
  return allow('approval', 'person', reason ?? `approved: ${decision}`)
}

function permit(call: ValidatedCall, host: HostContext, { stage, source, reason }: Verdict, approvalKey: string): AuthorizedCall {
  const decision = { stage, source, reason, approvalKey }
  host.events.emit({ type: 'ToolInvocationDecided', ...eventFields(call), decision: 'allow', ...decision, args: call.args })
  return { ...call, decision }
}

function refuse(call: ValidatedCall, host: HostContext, verdict: Verdict, approvalKey: string): Refusal {
  const { stage, source, reason } = verdict
  const decided = { decision: 'deny', stage, source, reason, approvalKey, args: call.args } as const
  host.events.emit({ type: 'ToolInvocationDecided', ...eventFields(call), ...decided })
  return new Refusal(refusalOf(verdict, call.tool.name))
}
