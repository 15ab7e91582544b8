import { BulkheadError, type ApprovalAnswer, type ApprovalRequest, type InteractionKind } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { eventFields, sessionFields } from '../model/event-fields.ts'
import type { KeptApproval } from '../policy/approvals/kept-approval.ts'
import { AllowedCall, type Call, type DecidedCall, type HostContext, type ValidatedCall } from '../policy/call.ts'
import type { Decision } from '../policy/decision.ts'
import type { CallAnalysis } from '../policy/model/checked-call.ts'
import { chosenOffer, type Offer } from '../policy/approvals/offers.ts'
import { findApprovals } from '../policy/evaluate.ts'
import type { PersonAnswer } from '../policy/interaction/interactions.ts'
import { permitsIn, stageGrant } from '../policy/policies.ts'
import { approve, deny, errorOf, headless, type Verdict } from '../policy/model/verdict.ts'
import { questionOf } from './approval-request.ts'
import { lossesOf } from './decide.ts'

/** For a decision that needs no person. Throws the error of a deny. */
export function requireAllowed(call: DecidedCall, host: HostContext): AllowedCall {
  const { verdict, approvals } = call.decision
  emitChanges(call, host)
  if (approvals) call.session.approvals.use(approvals)
  return carryOut(call, { verdict, approvals }, host)
}

/** Asks one person one question, and waits for the answer. Throws if the answer is no. */
export async function askPerson(call: DecidedCall, host: HostContext): Promise<AllowedCall> {
  emitChanges(call, host)
  return carryOut(call, await answerOf(call, host), host)
}

function emitChanges(call: DecidedCall, { events }: HostContext): void {
  for (const change of call.changes) {
    events.emit({ type: 'ToolInvocationChanged', ...eventFields(call), subject: 'arguments', ...change })
  }
}

/** What a call may do, and the earlier approvals that say so. */
interface Answer {
  readonly verdict: Verdict
  readonly approvals?: readonly KeptApproval[] | undefined
}

function carryOut(call: DecidedCall, { verdict, approvals }: Answer, host: HostContext): AllowedCall {
  if (verdict.action !== 'allow') throw refuse(call, verdict, host)
  const lossesBefore = lossesOf(host)
  if (host.events.hears('ToolInvocationDecided')) emitDecided(call, 'allow', verdict, host)
  const isApproved = verdict.approves === true || call.decision.verdicts.some(({ approves }) => approves === true)
  return new AllowedCall(call, { isApproved, approvals, lossesBefore })
}

/** Emits the deny. Returns the error that ends the call. */
function refuse(call: DecidedCall, verdict: Verdict, host: HostContext): BulkheadError {
  emitDecided(call, 'deny', verdict, host)
  return errorOf(verdict, call.tool.name)
}

/** `approvalKey`: what was decided. Default: the whole call. */
export function emitDecided(
  call: DecidedCall, decision: 'allow' | 'deny', { stage, source, reason }: Verdict, { events }: HostContext,
  approvalKey = call.decision.analysis.approvalKey,
): void {
  const { session, id, name, tool: { origin }, args, program } = call
  events.emit({
    type: 'ToolInvocationDecided', ...sessionFields(session), callId: id, tool: name, origin, decision, stage, source,
    reason, approvalKey, arguments: args, args, ...(program !== undefined && { program }),
  })
}

async function answerOf(call: DecidedCall, host: HostContext): Promise<Answer> {
  const { session: { approvals, interactions }, decision: { asks, analysis } } = call
  const permits = permitsIn(asks)
  const unanswered = (verdict: Verdict): Answer => {
    haltIfHeadless(call, permits.length > 0 ? 'grantStageTool' : 'Approve')
    return { verdict }
  }
  approvals.noteExpired(call, analysis)
  if (!interactions.canApprove) return unanswered(headless())
  const { offers, request, whole } = questionOf(call, host)
  const resume = call.waiting?.pause()
  try {
    if (permits.length > 0) {
      const grant = stageGrant(call, permits, request)
      return await askForGrant(call, async () => ({ ...grant, approval: await whole() }), unanswered)
    }
    return await askForApproval(call, { ...call.decision, offers }, whole, unanswered)
  } finally {
    resume?.()
  }
}

type Unanswered = (verdict: Verdict) => Answer

/** For a tool that the stage does not list. A grant is for one call, and never stored. */
async function askForGrant(
  call: DecidedCall, request: () => Promise<ReturnType<typeof stageGrant>>, unanswered: Unanswered,
): Promise<Answer> {
  const answer = await call.session.interactions.grant(request, call.signal)
  if (answer.unavailable) return unanswered(headless(answer.reason))
  if (answer.decision === 'reject') return { verdict: rejected(answer) }
  return { verdict: approve('state-machine', 'sm-grant-token', answer.reason ?? 'a person granted this one call') }
}

async function askForApproval(
  call: DecidedCall, { analysis, answerable, offers }: Decision & { readonly offers: readonly Offer[] },
  request: () => Promise<ApprovalRequest>, unanswered: Unanswered,
): Promise<Answer> {
  const concurrent = new ConcurrentApproval(call, analysis, answerable)
  try {
    const answer = await call.session.interactions.approve(request, concurrent.signal, () => concurrent.answer())
    // Before the answer takes effect: an approval that it grants does not answer its own question.
    concurrent.dispose()
    if (answer.unavailable) return unanswered(headless(answer.reason))
    // A no to this call holds, whatever was answered to another.
    return answer.decision === 'once' && concurrent.given ? concurrent.given
      : { verdict: heed(answer, call, offers, analysis) }
  } catch (thrown) {
    if (concurrent.given && !call.signal.aborted) return concurrent.given
    throw thrown
  } finally {
    concurrent.dispose()
  }
}

const rejected = ({ reason }: ApprovalAnswer): Verdict =>
  deny('approval', 'ApprovalDenied', 'person', reason ?? 'a person said no')

function heed(
  answer: PersonAnswer, call: ValidatedCall, offers: readonly Offer[], { questions }: CallAnalysis,
): Verdict {
  const { reason, by = 'person' } = answer
  if (answer.decision === 'reject') return rejected(answer)
  const { decision, keys, words } = chosenOffer(offers, answer)
  const { approvals } = call.session
  if (decision !== 'once') for (const key of keys) approvals.remember(call, key, decision, by, questions)
  return approve('approval', 'person', reason ?? `approved: ${visibleText(words())}`)
}

/**
 * An approval that a person gives to another question while this one waits. If it answers this one too, the question is
 * withdrawn.
 */
class ConcurrentApproval {
  /** Aborted with the call, and when the question is withdrawn. */
  readonly signal: AbortSignal
  readonly dispose: () => void
  readonly #withdrawn = new AbortController()
  readonly #call: ValidatedCall
  readonly #analysis: CallAnalysis
  readonly #answerable: boolean
  #given: Answer | undefined

  constructor(call: ValidatedCall, analysis: CallAnalysis, answerable: boolean) {
    const { signal, session: { approvals } } = call
    this.#call = call
    this.#analysis = analysis
    this.#answerable = answerable
    this.signal = AbortSignal.any([signal, this.#withdrawn.signal])
    this.dispose = approvals.onProjectGrant(() => {
      if (answerable && this.#use(approvals.answering(call, analysis))) this.#withdrawn.abort(withdrawn())
    })
  }

  get given(): Answer | undefined {
    return this.#given
  }

  /** When it is the question's turn. */
  async answer(): Promise<ApprovalAnswer | undefined> {
    return this.#answerable && this.#use(await findApprovals(this.#call, this.#analysis))
      ? { decision: 'once' } : undefined
  }

  #use(approvals: readonly KeptApproval[] | undefined): boolean {
    if (this.#given) return true
    const verdict = approvals?.[0]?.verdict
    if (!approvals || !verdict) return false
    this.#call.session.approvals.use(approvals)
    this.#given = { verdict, approvals }
    return true
  }
}

const withdrawn = () =>
  new BulkheadError(
    'InteractionAlreadyAnswered', 'An approval that was given to another question answers this one too.',
  )

/** A permit of a stage holds in that stage: it may have ended since the decision. Throws if it has. */
export function redeemPermits(call: AllowedCall, host: HostContext): void {
  if (!call.session.policy.isStaged) return
  for (const permit of permitsIn(call.decision.verdicts)) {
    const why = permit.redeem(call)
    if (why !== undefined) {
      throw refuse(call, deny('state-machine', 'ApprovalDenied', `stage ${permit.stage}`, why), host)
    }
  }
}

/**
 * Throws if an approval that allowed the call was revoked, here or elsewhere, while the call waited for those before
 * it.
 */
export async function redeemApprovals(call: AllowedCall, host: HostContext): Promise<AllowedCall> {
  const { approvals, session } = call
  if (!approvals) return call
  if (session.approvals.isStale(approvals)) await session.approvals.refresh()
  if (!approvals.some(({ isRevoked }) => isRevoked)) return call
  throw refuse(call, deny('approval', 'ApprovalDenied', 'approval', 'its approval was revoked before it began'), host)
}

/** Ends the turn of a call that needs a person, if no one is there and the session wants that. Throws the reason. */
export function haltIfHeadless(call: Call, requestKind: InteractionKind): void {
  const { session, name, scope: { turn } } = call
  if (session.policy.headless !== 'halt') return
  const message = `The turn ended: "${name}" requires approval, and no one is there to ask.`
  const data = { reason: 'cap', kind: 'permission-required', requestKind, tool: name }
  turn.cancel(new BulkheadError('TurnCancelled', message, { data }))
  call.throwIfCancelled()
}
