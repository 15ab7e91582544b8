import type { ApprovalAnswer } from '@bulkhead/contract'
import { eventFields, Refusal, type AuthorizedCall, type ValidatedCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import { approvalRequest } from '../permissions/approval-request.ts'
import { ruleInRounds, type SettledRuling } from '../permissions/rounds.ts'
import { approvedBefore } from '../permissions/ruling.ts'
import { allow, deny, headless, refusalOf, type Verdict } from '../permissions/verdict.ts'
import { permitsIn, stageGrant } from '../permissions/state-machine/stage-gate.ts'
import { haltIfHeadless } from '../sessions/halt.ts'

type Authorized = AuthorizedCall | Refusal

/**
 * Who must agree, agrees. The strictest verdict holds, and where that is `ask`, one person is asked one question. At once where
 * nobody has to be waited for.
 */
export function authorize(call: ValidatedCall, host: HostContext): Authorized | Promise<Authorized> {
  const ruling = ruleInRounds(call, host)
  return ruling instanceof Promise ? ruling.then((known) => carryOut(call, known, host)) : carryOut(call, ruling, host)
}

function carryOut(call: ValidatedCall, ruling: SettledRuling, host: HostContext): Authorized | Promise<Authorized> {
  for (const change of ruling.changes ?? []) {
    host.events.emit({ type: 'ToolInvocationChanged', ...eventFields(call), subject: 'arguments', ...change })
  }
  if (ruling.verdict.action !== 'ask') return conclude(call, host, ruling.verdict, ruling)
  return askPerson(call, ruling).then((answered) => conclude(call, host, answered, ruling))
}

const conclude = (call: ValidatedCall, host: HostContext, verdict: Verdict, ruling: SettledRuling): Authorized =>
  verdict.action === 'allow' ? permit(call, host, verdict, ruling) : refuse(call, host, verdict, ruling.meaning.approvalKey)

async function askPerson(call: ValidatedCall, { verdicts, meaning, answerable }: SettledRuling): Promise<Verdict> {
  const { tool, session: { approvals, interactions } } = call
  const { approvalKey } = meaning
  const asks = verdicts.filter(({ action }) => action === 'ask')
  const permits = permitsIn(asks)
  const nobodyThere = (verdict: Verdict) => {
    haltIfHeadless(call, permits.length > 0 ? 'grantStageTool' : 'Approve')
    return verdict
  }
  if (!interactions.canApprove) return nobodyThere(headless())
  const answeredMeanwhile = (): ApprovalAnswer | undefined =>
    answerable && approvedBefore(call, meaning) ? { decision: 'once' } : undefined
  const resume = call.parent?.pause()
  const request = approvalRequest(call, approvalKey, asks)
  const asking = permits.length > 0
    ? interactions.grant(stageGrant(call, permits, request), call.signal)
    : interactions.approve(request, call.signal, answeredMeanwhile)
  const { decision, reason, nobody } = await asking.finally(resume)
  if (nobody) return nobodyThere(headless(reason ?? 'nobody is there to be asked'))
  if (decision === 'reject') return deny('approval', 'ApprovalDenied', 'person', reason ?? 'a person said no')
  if (permits.length > 0) return allow('state-machine', 'sm-grant-token', reason ?? 'a person granted this one call')
  if (decision !== 'once') approvals.remember(tool, approvalKey, decision)
  return allow('approval', 'person', reason ?? `approved: ${decision}`)
}

function permit(call: ValidatedCall, host: HostContext, verdict: Verdict, ruling: SettledRuling): AuthorizedCall {
  const { stage, source, reason } = verdict
  const { verdicts, meaning: { approvalKey } } = ruling
  if (host.events.hears('ToolInvocationDecided')) {
    const decided = { decision: 'allow', stage, source, reason, approvalKey, args: call.args } as const
    host.events.emit({ type: 'ToolInvocationDecided', ...eventFields(call), ...decided })
  }
  if (!call.session.policy.isStaged) return call.permit({ stage, source, reason, approvalKey })
  return call.permit({ stage, source, reason, approvalKey, permits: permitsIn(verdicts) })
}

function refuse(call: ValidatedCall, host: HostContext, verdict: Verdict, approvalKey: string): Refusal {
  const { stage, source, reason } = verdict
  const decided = { decision: 'deny', stage, source, reason, approvalKey, args: call.args } as const
  host.events.emit({ type: 'ToolInvocationDecided', ...eventFields(call), ...decided })
  return new Refusal(refusalOf(verdict, call.tool.name))
}
