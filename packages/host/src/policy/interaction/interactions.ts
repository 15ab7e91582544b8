import {
  BulkheadError, type ApprovalAnswer, type ApprovalRequest, type Approver, type Clock, type EventOf,
  type InteractionEnvelope, type InteractionRequest, type InteractionResponse, type Interactor, type PasskeyProof,
} from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import type { EventBus } from '../../records/events.ts'
import { isPostponed, raceInteractors, readApproval, type RaceTerms } from './interactors.ts'
import { provenResponse, WITHOUT_PASSKEY, type PasskeyTerms, type ProvenResponse } from './passkeys.ts'
import type { AskingCall, DeskQuestion, QuestionDesk } from './question-desk.ts'
import { Mutex } from '../../model/waiting.ts'

export interface InteractionSources {
  /** Makes the ids of questions unique, also if one person answers several hosts. */
  readonly sessionId: string
  /** How the person sees the session. Absent for questions outside of one. */
  readonly asked?: Pick<InteractionEnvelope, 'sessionId' | 'principal'> | undefined
  readonly interactors: readonly Interactor[]
  readonly approver: Approver | undefined
  /** How long a person may take. */
  readonly timeoutMs: number | undefined
  readonly events: EventBus
  readonly clock: Clock
  /** Where every question of the host waits. */
  readonly desk?: QuestionDesk | undefined
  /** Absent: no passkey is known. */
  readonly passkeys?: (() => PasskeyTerms) | undefined
  /** Aborted when the session is over. For questions outside of a call: the question of a call ends with the call. */
  readonly over?: (() => AbortSignal) | undefined
  /** The queue of a session whose questions go to the same person. */
  readonly queue?: Mutex | undefined
}

type StageGrantRequest = Extract<InteractionRequest, { kind: 'grantStageTool' }>
type DecisionRequest = Extract<InteractionRequest, { kind: 'Approve' }> | StageGrantRequest

/** The answer of a person. `unavailable`: it is a no because no one could be asked. */
export interface PersonAnswer extends ApprovalAnswer {
  readonly unavailable?: boolean
  /** It is a no because no one answered in time. */
  readonly late?: boolean
  /** The passkey that it was given with. */
  readonly proof?: PasskeyProof
}

/** The questions of one session: one at a time in their order, unless every interactor takes many. */
export class Interactions {
  readonly queue: Mutex
  readonly #sources: InteractionSources
  #count = 0

  constructor(sources: InteractionSources) {
    this.#sources = sources
    this.queue = sources.queue ?? new Mutex()
  }

  get canApprove(): boolean {
    return this.#sources.approver !== undefined || this.#sources.interactors.length > 0
  }

  /** Whether a person may answer, and not only a program of the embedder. */
  get asksPeople(): boolean {
    const { approver, interactors } = this.#sources
    return approver === undefined && interactors.some(({ isNobody }) => isNobody !== true)
  }

  /** Whether no one can answer. Headless interactors still get each question. */
  get isHeadless(): boolean {
    const { approver, interactors } = this.#sources
    return approver === undefined && interactors.every(({ isNobody }) => isNobody === true)
  }

  /** Raises a question. Rejects with InteractionUnavailable if no interactor is there or all of them fail. */
  raise(
    request: InteractionRequest, source: string, signal: AbortSignal, call?: AskingCall,
  ): Promise<InteractionResponse> {
    const { interactors, over } = this.#sources
    if (interactors.length === 0) return Promise.reject(noInteractor())
    if (request.kind === 'Form' && !interactors.some(takesForms)) return Promise.reject(noForms())
    if (call === undefined && over) return this.#raiseUntil(over(), request, source, signal)
    return this.#inTurn(signal, () => this.#send(request, source, signal, call))
  }

  /** A question outside of a call ends with its session: others may wait for it. */
  async #raiseUntil(
    gone: AbortSignal, request: InteractionRequest, source: string, signal: AbortSignal,
  ): Promise<InteractionResponse> {
    const until = AbortSignal.any([signal, gone])
    try {
      return await this.#inTurn(until, () => this.#send(request, source, until, undefined))
    } catch (thrown) {
      throw gone.aborted && !signal.aborted ? personGone(gone.reason) : thrown
    }
  }

  /**
   * Calls `settled` when it is the turn of this question: the answer to an earlier one may settle it. `request` is
   * called only if it does not. A fault of the interactor is not a yes.
   */
  approve(
    request: () => Promise<ApprovalRequest>, signal: AbortSignal, settled: () => Promise<ApprovalAnswer | undefined>,
  ): Promise<PersonAnswer> {
    const ask = async (): Promise<PersonAnswer> =>
      this.#decide({ kind: 'Approve', approval: await request() }, signal).catch(failed)
    return this.#inTurn(signal, async () => await settled() ?? await ask())
  }

  /** Asks whether one call may run that its stage does not list. The answer is never stored. */
  grant(request: () => Promise<StageGrantRequest>, signal: AbortSignal): Promise<PersonAnswer> {
    return this.#inTurn(signal, async () => this.#decide(await request(), signal).catch(failed))
  }

  async #inTurn<Value>(signal: AbortSignal, run: () => Promise<Value>): Promise<Value> {
    const { approver, interactors } = this.#sources
    const takesMany = approver === undefined && interactors.every((interactor) => interactor.takesMany === true)
    if (!takesMany) return this.queue.run(signal, run)
    signal.throwIfAborted()
    return untilAborted(run(), signal)
  }

  async #decide(request: DecisionRequest, signal: AbortSignal): Promise<PersonAnswer> {
    const { approver, interactors } = this.#sources
    const { approval } = request
    if (approver) return this.#approveBy(approver, approval, signal)
    if (interactors.length === 0) throw noInteractor()
    const response = await this.#send(request, 'host', signal, approval)
    if (response.status === 'timeout') return LATE
    if (response.status === 'rejected') return { decision: 'reject', reason: response.reason ?? 'a person said no' }
    const proven = response.proof && { proof: response.proof }
    if (request.kind === 'Approve') return { ...readApproval(response.value), ...proven }
    return response.value === true ? { decision: 'once', ...proven } : { decision: 'reject', reason: 'a person said no' }
  }

  #send(
    request: InteractionRequest, source: string, signal: AbortSignal, call: AskingCall | undefined,
  ): Promise<ProvenResponse> {
    const { clock, interactors, desk, passkeys = () => ({ ring: undefined, now: clock.now() }) } = this.#sources
    return this.#observed(request.kind, source, call, async (correlationId) => {
      const envelope = this.#envelope(correlationId, request, source, call?.callId)
      using waiting = atDesk(desk, { envelope, ...(call && { call }) })
      this.#tell(envelope)
      const prove = (response: InteractionResponse) => provenResponse(request, response, passkeys())
      const terms = { signal, clock, timeoutMs: this.#timeFor(request), prove, ...waiting }
      return await raceInteractors(request.kind === 'Form' ? interactors.filter(takesForms) : interactors, envelope, terms)
    }, (response) => isPostponed(request, response) ? { status: 'timeout' }
      : { status: response.status, ...(request.kind === 'Approve' && byOf(response)), ...proofOf(response) })
  }

  /** A question with a device code ends when the code expires. */
  #timeFor(request: InteractionRequest): number | undefined {
    const { timeoutMs, clock } = this.#sources
    const expires = request.kind === 'Auth.DeviceCode' ? Date.parse(request.expiresAt) - clock.now() : Number.NaN
    const limits = [timeoutMs, expires].filter((ms) => ms !== undefined && !Number.isNaN(ms)) as number[]
    return limits.length === 0 ? undefined : Math.max(0, Math.min(...limits))
  }

  #approveBy(approver: Approver, approval: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const decide = async (until: AbortSignal) => {
      const answer = readApproval(await approver.approve(approval, until))
      return approval.passkey && answer.decision !== 'reject' && answer.decision !== 'later' ? NO_PASSKEY : answer
    }
    return this.#observed('Approve', 'host', approval, async (correlationId) => {
      const envelope = this.#envelope(correlationId, { kind: 'Approve', approval }, 'host', approval.callId)
      const place = this.#sources.desk?.take({ envelope, call: approval, unanswerable: BY_PROGRAM })
      this.#tell(envelope)
      return this.#inTime(signal, decide).finally(() => place?.leave())
    }, (answer) => {
      if (answer === LATE || answer.decision === 'later') return { status: 'timeout' }
      const { decision, by } = answer
      return { status: decision === 'reject' ? 'rejected' : 'accepted', ...(by !== undefined && { by }) }
    })
  }

  #envelope(
    correlationId: string, request: InteractionRequest, source: string, callId: string | undefined,
  ): InteractionEnvelope {
    const { clock, asked } = this.#sources
    const issuedAt = new Date(clock.now()).toISOString()
    return { correlationId, issuedAt, request, source, ...(callId !== undefined && { callId }), ...asked }
  }

  /** A call waits for a person from now on, and nothing else happens in it. */
  #tell({ correlationId, request, principal }: InteractionEnvelope): void {
    if (request.kind !== 'Approve' && request.kind !== 'grantStageTool') return
    const { sessionId, callId, tool, approvalKey, answers, reasons } = request.approval
    this.#sources.events.emit({
      type: 'BlockedOnPerson', correlationId, sessionId, callId, tool, approvalKey, reasons, answers,
      ...(principal && { principal: principal.id }),
    })
  }

  async #inTime(signal: AbortSignal, decide: (until: AbortSignal) => Promise<ApprovalAnswer>): Promise<ApprovalAnswer> {
    const { clock, timeoutMs } = this.#sources
    if (timeoutMs === undefined) return decide(signal)
    const late = new AbortController()
    const stopTimer =
      clock.after(timeoutMs, () => late.abort(new BulkheadError('InteractionTimeout', 'No one answered in time.')))
    const until = AbortSignal.any([signal, late.signal])
    try {
      return await untilAborted(decide(until), until)
    } catch (thrown) {
      if (late.signal.aborted && !signal.aborted) return LATE
      throw thrown
    } finally {
      stopTimer()
    }
  }

  async #observed<Answer>(
    kind: string,
    source: string,
    call: AskingCall | undefined,
    send: (correlationId: string) => Promise<Answer>,
    answered: (answer: Answer) => Pick<EventOf<'InteractionAnswered'>, 'status' | 'by' | 'passkey'>,
  ): Promise<Answer> {
    const { events, sessionId } = this.#sources
    const correlationId = `${sessionId}:${++this.#count}`
    const question = { correlationId, ...(call && { sessionId: call.sessionId, callId: call.callId }) }
    events.emit({ type: 'InteractionRaised', ...question, kind, source })
    try {
      const answer = await send(correlationId)
      events.emit({ type: 'InteractionAnswered', ...question, ...answered(answer) })
      return answer
    } catch (thrown) {
      events.emit({ type: 'InteractionAnswered', ...question, status: 'rejected' })
      throw thrown
    }
  }
}

/** At the desk until it is disposed. */
function atDesk(
  desk: QuestionDesk | undefined, question: DeskQuestion,
): Disposable & Pick<RaceTerms, 'elsewhere' | 'lastLook'> {
  const place = desk?.take(question)
  return { ...(place && { elsewhere: place.answer, lastLook: place.lastLook }), [Symbol.dispose]: () => place?.leave() }
}

const BY_PROGRAM = 'A program of the embedder decides it.'
/** A program has no passkey: a page asks a person for it. */
const NO_PASSKEY: PersonAnswer = { decision: 'reject', reason: WITHOUT_PASSKEY, unavailable: true }
const LATE: PersonAnswer = { decision: 'reject', reason: 'no one answered in time', late: true }

const failed = (thrown: unknown): PersonAnswer => ({
  decision: 'reject',
  reason: messageOf(thrown),
  ...(BulkheadError.is(thrown) && thrown.code === 'InteractionUnavailable' ? { unavailable: true } : {}),
})

const proofOf = (response: ProvenResponse): Pick<EventOf<'InteractionAnswered'>, 'passkey'> =>
  response.status === 'accepted' && response.proof ? { passkey: response.proof } : {}

/** Who answered, if the answer says so. */
function byOf(response: InteractionResponse): { readonly by?: string } {
  const { by } = response.status === 'accepted' ? readApproval(response.value) : {}
  return by === undefined ? {} : { by }
}

const personGone = (cause: unknown) =>
  new BulkheadError('InteractionUnavailable', 'The session of the person who was asked has ended.', { cause })
const takesForms = (interactor: Interactor): boolean => interactor.takesForms === true
/** Code in a compartment reads the code, and asks for one field after the other. */
const noForms = () =>
  new BulkheadError('CapabilityUnavailable', 'Forms cannot be shown in this session. Ask one question at a time.')
const noInteractor = () => new BulkheadError('InteractionUnavailable', 'No one is there to ask in this session.')
