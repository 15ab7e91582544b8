import { eventFields, Refusal, type AuthorizedCall, type ValidatedCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import type { Word } from '../interaction/interactions.ts'
import { AnsweredMeanwhile } from '../permissions/answered-meanwhile.ts'
import { approvalRequest } from '../permissions/approval-request.ts'
import type { CallMeaning } from '../permissions/call-meaning.ts'
import { rule, type Ruling } from '../permissions/ruling.ts'
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
  const { verdict, approvals, meaning: { approvalKey } } = ruling
  if (approvals) call.session.approvals.use(approvals)
  if (verdict.action !== 'ask') return conclude(call, host, verdict, approvalKey)
  return askPerson(call, ruling).then((answered) => conclude(call, host, answered, approvalKey))
}

const conclude = (call: ValidatedCall, host: HostContext, verdict: Verdict, approvalKey: string): Authorized =>
  verdict.action === 'allow' ? permit(call, host, verdict, approvalKey) : refuse(call, host, verdict, approvalKey)

async function askPerson(call: ValidatedCall, { verdicts, meaning, answerable }: Ruling): Promise<Verdict> {
  const { tool, session: { approvals, interactions } } = call
  const nobodyThere = (verdict: Verdict) => {
    haltIfHeadless(call, 'Approve')
    return verdict
  }
  approvals.noteExpired(tool, meaning)
  if (!interactions.canApprove) return nobodyThere(headless())
  const meanwhile = new AnsweredMeanwhile(call, meaning, answerable)
  const resume = call.parent?.pause()
  const request = approvalRequest(call, meaning, verdicts.filter(({ action }) => action === 'ask'))
  try {
    const word = await interactions.approve(request, meanwhile.signal, () => meanwhile.answer())
    // Before it is carried out: what it grants is no answer to itself.
    meanwhile.dispose()
    if (word.nobody) return nobodyThere(headless(word.reason ?? 'nobody is there to be asked'))
    return meanwhile.verdict ?? heed(word, call, meaning)
  } catch (thrown) {
    if (meanwhile.verdict && !call.signal.aborted) return meanwhile.verdict
    throw thrown
  } finally {
    meanwhile.dispose()
    resume?.()
  }
}

function heed({ decision, reason, by = 'person' }: Word, { tool, session: { approvals } }: ValidatedCall, { approvalKey }: CallMeaning): Verdict {
  if (decision === 'reject') return deny('approval', 'ApprovalDenied', 'person', reason ?? 'a person said no')
  if (decision !== 'once') approvals.remember(tool, approvalKey, decision, by)
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
