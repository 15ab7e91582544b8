import { eventFields, type AuthorizedCall, type Refusal, type ValidatedCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'
import type { Word } from '../policy/interaction/interactions.ts'
import { AnsweredMeanwhile } from './answered-meanwhile.ts'
import { approvalRequest } from '../policy/approval-request.ts'
import type { CallMeaning } from '../policy/call-view.ts'
import { refuse } from './refuse.ts'
import { ruleInRounds, type SettledRuling } from './decide.ts'
import { allow, deny, headless, type Verdict } from '../policy/verdict.ts'
import { permitsIn, stageGrant } from '../policy/state-machine.ts'
import { haltIfHeadless } from '../policy/halt.ts'
import { beginRecord } from './required-audit.ts'

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
  const { verdict, approvals, changes = [] } = ruling
  for (const change of changes) {
    host.events.emit({ type: 'ToolInvocationChanged', ...eventFields(call), subject: 'arguments', ...change })
  }
  if (approvals) call.relyOn(approvals)
  if (verdict.action !== 'ask') return conclude(call, host, verdict, ruling)
  const asked = host.clock.monotonic()
  return askPerson(call, ruling).then((answered) => {
    call.askedMs += host.clock.monotonic() - asked
    return conclude(call, host, answered, ruling)
  })
}

const conclude = (call: ValidatedCall, host: HostContext, verdict: Verdict, ruling: SettledRuling): Authorized =>
  verdict.action === 'allow' ? permit(call, host, verdict, ruling) : refuse(call, host, verdict, ruling.meaning.approvalKey)

async function askPerson(call: ValidatedCall, { verdicts, meaning, answerable }: SettledRuling): Promise<Verdict> {
  const { session: { approvals, interactions } } = call
  const asks = verdicts.filter(({ action }) => action === 'ask')
  const permits = permitsIn(asks)
  const nobodyThere = (verdict: Verdict) => {
    haltIfHeadless(call, permits.length > 0 ? 'grantStageTool' : 'Approve')
    return verdict
  }
  approvals.noteExpired(call, meaning)
  if (!interactions.canApprove) return nobodyThere(headless())
  const meanwhile = new AnsweredMeanwhile(call, meaning, answerable && permits.length === 0)
  const resume = call.parent?.pause()
  const request = approvalRequest(call, meaning, asks)
  try {
    const word = permits.length > 0
      ? await interactions.grant(stageGrant(call, permits, request), call.signal)
      : await interactions.approve(request, meanwhile.signal, () => meanwhile.answer())
    // Before it is carried out: what it grants is no answer to itself.
    meanwhile.dispose()
    if (word.nobody) return nobodyThere(headless(word.reason ?? 'nobody is there to be asked'))
    if (permits.length > 0) return heedGrant(word)
    // A no to this very call is one, whatever was said to another.
    return word.decision === 'once' && meanwhile.verdict ? meanwhile.verdict : heed(word, call, meaning)
  } catch (thrown) {
    if (meanwhile.verdict && !call.signal.aborted) return meanwhile.verdict
    throw thrown
  } finally {
    meanwhile.dispose()
    resume?.()
  }
}

/** What a stage does not list is granted for one call, and never remembered. */
const heedGrant = ({ decision, reason }: Word): Verdict => decision === 'reject'
  ? deny('approval', 'ApprovalDenied', 'person', reason ?? 'a person said no')
  : allow('state-machine', 'sm-grant-token', reason ?? 'a person granted this one call')

function heed({ decision, reason, by = 'person' }: Word, call: ValidatedCall, { approvalKey, keyByTool }: CallMeaning): Verdict {
  if (decision === 'reject') return deny('approval', 'ApprovalDenied', 'person', reason ?? 'a person said no')
  const scope = decision === 'project' && keyByTool ? 'session' : decision
  if (scope !== 'once') call.session.approvals.remember(call, approvalKey, scope, by)
  return allow('approval', 'person', reason ?? `approved: ${scope}`)
}

function permit(call: ValidatedCall, host: HostContext, verdict: Verdict, ruling: SettledRuling): AuthorizedCall {
  const { stage, source, reason } = verdict
  const { verdicts, meaning: { approvalKey } } = ruling
  beginRecord(call, host)
  if (host.events.hears('ToolInvocationDecided')) {
    // Of every call, so without a copy of anything.
    host.events.emit({
      type: 'ToolInvocationDecided', sessionId: call.session.id, callId: call.id, tool: call.name, origin: call.tool.origin,
      decision: 'allow', stage, source, reason, approvalKey, args: call.args,
    })
  }
  if (!call.session.policy.isStaged) return call.permit({ stage, source, reason, approvalKey })
  return call.permit({ stage, source, reason, approvalKey, permits: permitsIn(verdicts) })
}
