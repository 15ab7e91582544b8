import { eventFields, Refusal, type AuthorizedCall, type ValidatedCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import type { Word } from '../interaction/interactions.ts'
import { AnsweredMeanwhile } from '../permissions/answered-meanwhile.ts'
import { approvalRequest } from '../permissions/approval-request.ts'
import type { CallMeaning } from '../permissions/call-meaning.ts'
import { rule, type Ruling } from '../permissions/ruling.ts'
import { allow, deny, headless, refusalOf, type Verdict } from '../permissions/verdict.ts'
import { haltIfHeadless } from '../sessions/halt.ts'

/** Who must agree, agrees. The strictest verdict holds, and where that is `ask`, one person is asked one question. */
export async function authorize(call: ValidatedCall, host: HostContext): Promise<AuthorizedCall | Refusal> {
  const ruling = await rule(call, host)
  const { meaning: { approvalKey } } = ruling
  if (ruling.approvals) call.session.approvals.use(ruling.approvals)
  const verdict = ruling.verdict.action === 'ask' ? await askPerson(call, ruling) : ruling.verdict
  return verdict.action === 'allow' ? permit(call, host, verdict, approvalKey) : refuse(call, host, verdict, approvalKey)
}

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
    return meanwhile.verdict ?? carryOut(word, call, meaning)
  } catch (thrown) {
    if (meanwhile.verdict && !call.signal.aborted) return meanwhile.verdict
    throw thrown
  } finally {
    meanwhile.dispose()
    resume?.()
  }
}

function carryOut({ decision, reason, by = 'person' }: Word, { tool, session: { approvals } }: ValidatedCall, { approvalKey }: CallMeaning): Verdict {
  if (decision === 'reject') return deny('approval', 'ApprovalDenied', 'person', reason ?? 'a person said no')
  if (decision !== 'once') approvals.remember(tool, approvalKey, decision, by)
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
