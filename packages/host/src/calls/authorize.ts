import { BulkheadError, CALL_LIMITS, type ApprovalAnswer, type ApprovalRequest, type CallUse, type InteractionKind } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { Attempts } from '../model/call-run.ts'
import { eventFields, sessionFields } from '../model/event-fields.ts'
import type { KeptApproval } from '../policy/approvals/kept-approval.ts'
import type { AllowedCall, Call, DecidedCall, HostContext, ValidatedCall } from '../policy/call.ts'
import type { CallAnalysis } from '../policy/model/checked-call.ts'
import { chosenOffer, type Offer } from '../policy/approvals/offers.ts'
import { findApprovals, withFreshApprovals } from '../policy/evaluate.ts'
import { AskedCall } from '../policy/interaction/asked-call.ts'
import type { PersonAnswer } from '../policy/interaction/interactions.ts'
import { WITHOUT_PASSKEY } from '../policy/interaction/passkeys.ts'
import { permitsIn, stageGrant } from '../policy/policies.ts'
import { digestOf } from '../policy/model/stage-permit.ts'
import { approve, demandsPasskey, deny, errorOf, headless, type Verdict } from '../policy/model/verdict.ts'
import { questionOf } from './approval-request.ts'
import { lossesOf } from './decide.ts'
import { EDITED, judgeEdit } from './edited-call.ts'
import { answerWhilePaused, pauseForApproval, storedWhileAsked, undecided, type CallQuestion } from './paused-approval.ts'

/** For a decision that needs no person. Throws the error of a deny. */
export function requireAllowed(decided: DecidedCall, host: HostContext): AllowedCall {
  const { call, decision: { verdict, approvals, revision } } = decided
  emitChanges(decided, host)
  if (approvals) call.session.approvals.use(approvals)
  return carryOut(decided, { verdict, approvals, revision }, host)
}

/**
 * Asks one person one question, and waits for the answer. A person who changes the arguments is asked again about what
 * they have not seen. Throws if the answer is no.
 */
export async function askPerson(decided: DecidedCall, attempts: Attempts, host: HostContext): Promise<AllowedCall> {
  emitChanges(decided, host)
  let asked = decided
  for (let edits = 0; ; edits++) {
    const answer = await answerOf(asked, host)
    if ('verdict' in answer) return carryOut(asked, answer, host)
    if (edits >= CALL_LIMITS.argumentChanges) throw refuse(asked, UNSETTLED, host)
    const edited = await judgeEdit(asked, answer.arguments, attempts, host)
    emitChanges(edited, host)
    if (isSeen(edited, asked)) return carryOut(edited, { verdict: approve('approval', 'person', EDITED) }, host)
    asked = edited
  }
}

const UNSETTLED = deny('approval', 'ArgumentsUnsettled', 'person', 'a person changed its arguments too often')

/** Whether nothing asks about it that the person has not seen. */
const isSeen = ({ call, decision: { verdict, asks } }: DecidedCall, before: DecidedCall): boolean =>
  call !== before.call && (verdict.action === 'allow'
    || asks.every(({ reason, permit }) => !permit && before.decision.asks.some((seen) => seen.reason === reason)))

function emitChanges({ call, changes }: DecidedCall, { events }: HostContext): void {
  for (const change of changes) {
    events.emit({ type: 'ToolInvocationChanged', ...eventFields(call), subject: 'arguments', ...change })
  }
}

/** What a call may do, and the earlier approvals that say so. */
interface Answer {
  readonly verdict: Verdict
  readonly approvals?: readonly KeptApproval[] | undefined
  readonly revision?: number | undefined
}

function carryOut(decided: DecidedCall, { verdict, approvals, revision }: Answer, host: HostContext): AllowedCall {
  if (verdict.action !== 'allow') throw refuse(decided, verdict, host)
  const lossesBefore = lossesOf(host)
  if (host.events.hears('ToolInvocationDecided')) emitDecided(decided, 'allow', verdict, host)
  const { call, decision } = decided
  const isApproved = verdict.approves === true || decision.verdicts.some(({ approves }) => approves === true)
  return { call, decision, isApproved, approvals, revision, lossesBefore }
}

/** For a recorded call that ran: someone or something allowed it then. */
export const allowedBefore = (decided: DecidedCall, host: HostContext): AllowedCall =>
  carryOut(decided, { verdict: approve('approval', 'the recording', 'it ran when it was recorded') }, host)

/** From the decision on. */
type WithDecision = Pick<DecidedCall, 'call' | 'decision'>

/** Emits the deny. Returns the error that ends the call. */
function refuse(decided: WithDecision, verdict: Verdict, host: HostContext): BulkheadError {
  emitDecided(decided, 'deny', verdict, host)
  return errorOf(verdict, decided.call.tool.name)
}

/** `use`: what was decided. Default: the whole call. */
export function emitDecided(
  { call, decision: { analysis } }: WithDecision, decision: 'allow' | 'deny', { stage, source, reason }: Verdict,
  { events }: HostContext, use?: CallUse,
): void {
  const { session, id, name, tool: { origin }, args, parent, program } = call
  events.emit({
    type: 'ToolInvocationDecided', ...sessionFields(session), callId: id, tool: name, origin, decision, stage, source,
    reason, approvalKey: use ? visibleText(use.subject) : analysis.approvalKey, arguments: args, args,
    ...(parent && { parentCallId: parent.callId }), ...(program !== undefined && { program }),
    ...(use && { use: use.capability }),
  })
}

async function answerOf(decided: DecidedCall, host: HostContext): Promise<Answer | Edit> {
  const { call, decision: { asks, analysis } } = decided
  const { approvals, interactions } = call.session
  const permits = permitsIn(asks)
  const { offers, request, whole } = questionOf(decided, host)
  const stage = permits.length > 0 ? stageGrant(call, permits, request) : undefined
  const asked = AskedCall.of(call)
  const grant = stage && (async () => ({ ...stage, approval: await whole() }))
  const approval = async () => ({ kind: 'Approve' as const, approval: await whole() })
  const question: () => Promise<CallQuestion> = grant ?? approval
  const unanswered: Unanswered = async ({ late, ...answer }) => {
    await pauseForApproval(call, question, asked)
    if (answer.decision === 'later') throw undecided(call, answer.reason)
    if (late) return { verdict: rejected(answer) }
    haltIfHeadless(call, stage ? 'grantStageTool' : 'Approve')
    return { verdict: headless(answer.reason) }
  }
  approvals.noteExpired(call, analysis)
  const given = await answerWhilePaused(call, question, host)
  if (given?.proof) emitProof(given, call, host)
  if (given) return stage ? { verdict: grantedBy(given, asks) } : applyAnswer(given, decided, offers, host.clock.now())
  if (!interactions.canApprove) return unanswered({ decision: 'reject' })
  const resume = call.waiting?.pause()
  try {
    const answer = grant ? await askForGrant(decided, storedWhileAsked(call, grant, asked), unanswered)
      : await askForApproval(
        decided, offers, async () => (await storedWhileAsked(call, approval, asked)()).approval, unanswered,
        () => host.clock.now(),
      )
    await asked?.over()
    return answer
  } catch (thrown) {
    await asked?.over().catch((fault: unknown) => host.events.suppressed('a stored question', fault))
    throw thrown
  } finally {
    resume?.()
  }
}

/** The person wants the call to run with these arguments. */
type Edit = Required<Pick<ApprovalAnswer, 'arguments'>>

type Unanswered = (answer: PersonAnswer) => Promise<Answer>
const isUnanswered = ({ unavailable, late, decision }: PersonAnswer): boolean =>
  unavailable === true || late === true || decision === 'later'

/** For a tool that the stage does not list. A grant is for one call, and never stored. */
async function askForGrant(
  { call, decision: { asks } }: DecidedCall, request: () => Promise<ReturnType<typeof stageGrant>>, unanswered: Unanswered,
): Promise<Answer> {
  const answer = await call.session.interactions.grant(request, call.signal)
  return isUnanswered(answer) ? unanswered(answer) : { verdict: grantedBy(answer, asks) }
}

/** A grant is bound to the arguments that the person saw. */
const grantedBy = (answer: PersonAnswer, asks: readonly Verdict[]): Verdict =>
  answer.decision === 'reject' || answer.arguments ? rejected(answer) : lacksPasskey(answer, asks) ? rejected({ reason: WITHOUT_PASSKEY })
  : approve('state-machine', 'sm-grant-token', answer.reason ?? 'a person granted this one call')

async function askForApproval(
  decided: DecidedCall, offers: readonly Offer[],
  request: () => Promise<ApprovalRequest>, unanswered: Unanswered, now: () => number,
): Promise<Answer | Edit> {
  const { call, decision: { analysis, answerable } } = decided
  const concurrent = new ConcurrentApproval(call, analysis, answerable)
  try {
    const answer = await call.session.interactions.approve(request, concurrent.signal, () => concurrent.answer())
    // Before the answer takes effect: an approval that it grants does not answer its own question.
    concurrent.dispose()
    if (isUnanswered(answer)) return await unanswered(answer)
    // A no to this call holds, whatever was answered to another.
    return answer.decision === 'once' && !answer.arguments && concurrent.given ? concurrent.given
      : applyAnswer(answer, decided, offers, now())
  } catch (thrown) {
    if (concurrent.given && !call.signal.aborted) return concurrent.given
    throw thrown
  } finally {
    concurrent.dispose()
  }
}

/** A rule that demands a passkey counts no other way to allow, wherever the answer was given. */
const lacksPasskey = ({ proof }: PersonAnswer, asks: readonly Verdict[]): boolean => demandsPasskey(asks) && proof === undefined

/** The question was answered while the call was paused, so that no event has said it. */
const emitProof = ({ by, proof }: PersonAnswer, { id, session }: ValidatedCall, { events }: HostContext): void => events.emit({
  type: 'InteractionAnswered', correlationId: `${session.id}:paused`, sessionId: session.id, callId: visibleText(id),
  status: 'accepted', ...(by !== undefined && { by }), ...(proof && { passkey: proof }),
})

const rejected = ({ reason }: Pick<ApprovalAnswer, 'reason'>): Verdict =>
  deny('approval', 'ApprovalDenied', 'person', reason ?? 'a person said no')

function applyAnswer(
  answer: PersonAnswer, { call, decision: { asks, analysis: { questions } } }: DecidedCall, offers: readonly Offer[],
  now: number,
): Answer | Edit {
  const { reason, by = 'person', until, uses, arguments: edited } = answer
  if (answer.decision === 'reject') return { verdict: rejected(answer) }
  if (lacksPasskey(answer, asks)) return { verdict: rejected({ reason: WITHOUT_PASSKEY }) }
  if (edited && digestOf(edited) !== digestOf(call.args)) return { arguments: edited }
  const { decision, keys, words } = chosenOffer(offers, answer, now)
  const { approvals } = call.session
  const limits = { maxUses: uses, until: until === undefined ? undefined : Date.parse(until) }
  if (decision !== 'once') for (const key of keys) approvals.remember(call, key, decision, by, questions, limits)
  return { verdict: approve('approval', 'person', reason ?? `approved: ${visibleText(words())}`) }
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
    const { approvals: ofSession } = this.#call.session
    ofSession.use(approvals)
    this.#given = { verdict, approvals, revision: ofSession.revisionOf(approvals) }
    return true
  }
}

const withdrawn = () =>
  new BulkheadError(
    'InteractionAlreadyAnswered', 'An approval that was given to another question answers this one too.',
  )

/** A permit of a stage holds in that stage: it may have ended since the decision. Throws if it has. */
export function redeemPermits(allowed: AllowedCall, host: HostContext): void {
  const { call, decision } = allowed
  if (!call.session.policy.isStaged) return
  for (const permit of permitsIn(decision.verdicts)) {
    const why = permit.redeem(call)
    if (why !== undefined) {
      throw refuse(allowed, deny('state-machine', 'ApprovalDenied', `stage ${permit.stage}`, why), host)
    }
  }
}

/**
 * The approvals changed since the decision, here or elsewhere. Returns the call as it is allowed now, and asks a person
 * if that is needed. Throws as the decision does.
 */
export async function decideAgain(
  { call, decision: before, ...allowed }: AllowedCall, attempts: Attempts, host: HostContext,
): Promise<AllowedCall> {
  const { approvals } = call.session
  await approvals.refresh()
  const decision = withFreshApprovals(before, call)
  if (decision.verdict.action === 'allow') {
    return { ...allowed, call, decision, approvals: decision.approvals, revision: decision.revision }
  }
  return askPerson({ call, decision, changes: [] }, attempts, host)
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
