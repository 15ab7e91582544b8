import type { ApprovalAnswer } from '@bulkhead/contract'
import { eventFields, Refusal, type AuthorizedCall, type ValidatedCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import { approvalRequest } from '../permissions/approval-request.ts'
import { approvedBefore, rule, type Ruling } from '../permissions/ruling.ts'
import { allow, deny, headless, refusalOf, type Verdict } from '../permissions/verdict.ts'
import { haltIfHeadless } from '../sessions/halt.ts'

type Authorized = AuthorizedCall | Refusal

/**
 * Who must agree, agrees. The strictest verdict holds, and where that is `ask`, one person is asked one question. At once where
 * nobody has to be waited for.
 */
export function authorize(call: ValidatedCall, host: HostContext): Authorized | Promise<Authorized> {
  const ruling = rule(call, host)
  return ruling instanceof Promise ? ruling.then((known) => carryOut(call, known, host)) : carryOut(call, ruling, host)
}

function carryOut(call: ValidatedCall, ruling: Ruling, host: HostContext): Authorized | Promise<Authorized> {
  const { verdict, meaning: { approvalKey } } = ruling
  if (verdict.action !== 'ask') return conclude(call, host, verdict, approvalKey)
  return askPerson(call, ruling).then((answered) => conclude(call, host, answered, approvalKey))
}

const conclude = (call: ValidatedCall, host: HostContext, verdict: Verdict, approvalKey: string): Authorized =>
  verdict.action === 'allow' ? permit(call, host, verdict, approvalKey) : refuse(call, host, verdict, approvalKey)

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
  if (host.events.hears('ToolInvocationDecided')) {
    const decided = { decision: 'allow', stage, source, reason, approvalKey, args: call.args } as const
    host.events.emit({ type: 'ToolInvocationDecided', ...eventFields(call), ...decided })
  }
  return call.permit({ stage, source, reason, approvalKey })
}

function refuse(call: ValidatedCall, host: HostContext, verdict: Verdict, approvalKey: string): Refusal {
  const { stage, source, reason } = verdict
  const decided = { decision: 'deny', stage, source, reason, approvalKey, args: call.args } as const
  host.events.emit({ type: 'ToolInvocationDecided', ...eventFields(call), ...decided })
  return new Refusal(refusalOf(verdict, call.tool.name))
}
