import {
  APPROVAL_ANSWERS, APPROVAL_COVERS, BulkheadError, requireOptions, type ApprovalAnswer, type Clock, type InteractionEnvelope,
  type InteractionKind, type InteractionRequest, type InteractionResponse, type Interactor, wholeAssertion,
} from '@bulkhead/contract'
import { onAbort } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { readFormValues } from '@bulkhead/kit/form'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { forms } from '@bulkhead/kit/options'
import { demandOn, requirePasskey, type ProvenResponse } from './passkeys.ts'

/** Reaches a person through a program: a window, a chat, a queue. */
export interface ProgrammaticInteractor extends Interactor {
  /** Open questions, oldest first. */
  readonly pending: readonly InteractionEnvelope[]
  /**
   * Called for each question as it comes. A listener that fails, at once or later, fails the question if it is still
   * open. Returns the function that ends the subscription. Throws ConfigInvalid.
   */
  onQuestion(listener: (envelope: InteractionEnvelope) => void): () => void
  /**
   * Throws InteractionAlreadyAnswered if the question is not pending: answered, withdrawn, or too late. Throws
   * ConfigInvalid for an invalid response, and InputInvalid for one without a passkey that a rule demands; the question
   * stays pending.
   */
  answer(correlationId: string, response: InteractionResponse): void
}

interface Pending {
  readonly envelope: InteractionEnvelope
  readonly settle: (response: InteractionResponse) => void
}

const LISTENING = { listener: forms.method }
const ANSWER = {
  correlationId: forms.text, response: forms.whole({ status: forms.oneOf('accepted', 'rejected', 'timeout') }),
}

export function createProgrammaticInteractor(): ProgrammaticInteractor {
  const pending = new Map<string, Pending>()
  const listeners = new Set<{ readonly listener: (envelope: InteractionEnvelope) => void }>()
  return {
    get pending() {
      return [...pending.values()].map(({ envelope }) => envelope)
    },
    onQuestion(listener) {
      requireOptions('onQuestion', { listener }, LISTENING, 'listener')
      const subscription = { listener }
      listeners.add(subscription)
      return () => listeners.delete(subscription)
    },
    async interact(envelope, signal) {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<InteractionResponse>()
      pending.set(envelope.correlationId, { envelope, settle: resolve })
      const forget = onAbort(signal, () => reject(signal.reason))
      try {
        // A listener may fail late. That fails the question, unless it is over.
        for (const { listener } of listeners) (async () => listener(envelope))().catch(reject)
        return await promise
      } finally {
        forget()
        pending.delete(envelope.correlationId)
      }
    },
    answer(correlationId, response) {
      requireOptions('answer', { correlationId, response }, ANSWER, 'correlationId', 'response')
      const question = pending.get(correlationId)
      if (!question) {
        const message = `The question ${correlationId} is not pending: it was answered or withdrawn, or it timed out.`
        throw new BulkheadError('InteractionAlreadyAnswered', message, { data: { correlationId } })
      }
      requirePasskey(question.envelope.request, response)
      pending.delete(correlationId)
      question.settle(response)
    },
  }
}

/** What a run without a person needed a person for. */
export interface PermissionRequired {
  readonly kind: 'permission-required'
  readonly requestKind: InteractionKind
  readonly correlationId: string
  readonly hint: string
}

/**
 * For a run without a person: every question fails at once with InteractionUnavailable, so that other interactors can
 * answer. `report` gets each question, to show which rule or approval is missing. Throws ConfigInvalid.
 */
export function createHeadlessInteractor(report: (required: PermissionRequired) => void = () => {}): Interactor {
  requireOptions('createHeadlessInteractor', { report }, { report: forms.method })
  return {
    isNobody: true,
    async interact({ correlationId, request }) {
      const other = request.kind === 'Approve' ? `, or allow "${request.approval.tool}" by a rule or the allowlist` : ''
      const hint = `Run with a person present${other}.`
      const required = { kind: 'permission-required', requestKind: request.kind, correlationId, hint } as const
      report(required)
      throw new BulkheadError('InteractionUnavailable', `No one is there to ask. ${hint}`, { data: { ...required } })
    },
  }
}

/** Checks the response of an interactor. Throws InteractionUnavailable if it does not fit the question. */
export function readResponse(request: InteractionRequest, response: unknown): InteractionResponse {
  const { status, value, reason, passkey } = isJsonObject(response) ? response : {}
  if (status === 'timeout') return { status }
  if (status === 'rejected') return { status, ...(typeof reason === 'string' ? { reason } : {}) }
  if (status !== 'accepted') throw malformed('in an unknown form')
  const read: InteractionResponse = { status, value: readValue(request, value) }
  const assertion = passkey === undefined || !demandOn(request, read) ? undefined : wholeAssertion(passkey)
  return assertion ? { ...read, passkey: assertion } : read
}

/** Throws InteractionUnavailable if the value does not answer the question. */
export function readValue(request: InteractionRequest, value: unknown): Json {
  switch (request.kind) {
    case 'Ask':
    case 'Auth.Password':
      if (typeof value === 'string') return value
      throw malformed('with something that is not a string')
    case 'Confirm':
    case 'grantStageTool':
      if (typeof value === 'boolean') return value
      throw malformed('with something other than true or false')
    case 'trustProject':
      if (typeof value === 'boolean' || value === 'once' || value === 'trusted' || value === 'declined') return value
      throw malformed('with something that is not a decision about trust')
    case 'Select':
      return readChoice(request, value)
    case 'Form': {
      const values = isJsonObject(value) ? readFormValues(request.schema, value) : undefined
      if (values !== undefined) return values
      throw malformed('with something that does not fit the form')
    }
    case 'Auth.DeviceCode':
      return null
    case 'Approve':
      return { ...readApproval(value) }
  }
}

function readChoice(
  { options, multiple = false }: Extract<InteractionRequest, { kind: 'Select' }>, value: unknown,
): Json {
  const labels = new Set(options.map(({ label }) => label))
  const isLabel = (each: unknown): each is string => typeof each === 'string' && labels.has(each)
  if (!multiple && isLabel(value)) return value
  if (multiple && Array.isArray(value) && value.every(isLabel)) return [...new Set(value)]
  throw malformed('with something that is not one of the options')
}

const MAX_NAME_CHARS = 200
const decisions: ReadonlySet<unknown> = new Set(APPROVAL_ANSWERS)
const coverings: ReadonlySet<unknown> = new Set(APPROVAL_COVERS)

const UNKNOWN: ApprovalAnswer = { decision: 'reject', reason: 'the answer is unknown' }

/** Throws InteractionUnavailable for an unknown answer. */
export function requireApproval(value: unknown): void {
  if (readApproval(value) === UNKNOWN) throw malformed(`with something other than ${APPROVAL_ANSWERS.join(', ')}`)
}

/** An unknown answer is a no. */
export function readApproval(value: unknown): ApprovalAnswer {
  const { decision = value, covers, reason, by, ...limits } = isJsonObject(value) ? value : {}
  if (!decisions.has(decision) || (covers !== undefined && !coverings.has(covers))) return UNKNOWN
  if (!areLimits(limits)) return UNKNOWN
  const { key, until, uses, arguments: edited } = limits
  return {
    decision: decision as ApprovalAnswer['decision'],
    ...(covers === undefined ? {} : { covers: covers as NonNullable<ApprovalAnswer['covers']> }),
    ...(key !== undefined && { key }), ...(until !== undefined && { until }), ...(uses !== undefined && { uses }),
    ...(edited !== undefined && { arguments: edited }),
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof by === 'string' && by !== '' ? { by: by.slice(0, MAX_NAME_CHARS) } : {}),
  }
}

/** A date with a time and its zone. */
const IN_A_ZONE = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/

/** An answer with a limit that cannot be read must not count without it. */
function areLimits(value: object): value is Pick<ApprovalAnswer, 'key' | 'until' | 'uses' | 'arguments'> {
  const { key, until, uses, arguments: edited } = value as { readonly [name: string]: unknown }
  return (key === undefined || typeof key === 'string')
    && (until === undefined || (typeof until === 'string' && IN_A_ZONE.test(until) && !Number.isNaN(Date.parse(until))))
    && (uses === undefined || (Number.isSafeInteger(uses) && (uses as number) > 0))
    && (edited === undefined || isJsonObject(edited))
}

const malformed = (how: string) => new BulkheadError('InteractionUnavailable', `The question was answered ${how}.`)

export interface RaceTerms {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly timeoutMs: number | undefined
  /** An answer from elsewhere. Contract: never rejects. */
  readonly elsewhere?: Promise<ProvenResponse>
  /** Resolves when an answer that was given there before has arrived. Contract: never rejects. */
  readonly lastLook?: () => Promise<void>
  /** Checks the passkey of an answer. Throws if it does not count. */
  readonly prove: (response: InteractionResponse) => ProvenResponse
}

/**
 * Resolves with the first answer. The signal of the other interactors is aborted, and their later answers are ignored.
 * If all of them fail, it rejects with InteractionUnavailable. If none answers in time, the status is `timeout`.
 */
export function raceInteractors(
  interactors: readonly Interactor[], envelope: InteractionEnvelope,
  { signal, clock, timeoutMs, elsewhere, lastLook, prove }: RaceTerms,
): Promise<ProvenResponse> {
  const over = new AbortController()
  const disposers: (() => void)[] = []
  const { promise, resolve, reject } = Promise.withResolvers<ProvenResponse>()
  const end = (why: BulkheadError, settle: () => void) => {
    if (over.signal.aborted) return
    for (const dispose of disposers) dispose()
    over.abort(why)
    settle()
  }
  const answered = (response: ProvenResponse) => end(
    new BulkheadError('InteractionAlreadyAnswered', 'Another interactor answered the question.'),
    () => resolve(response),
  )
  const timeOut = () =>
    end(new BulkheadError('InteractionTimeout', 'No one answered in time.'), () => resolve({ status: 'timeout' }))
  const late = () => lastLook ? void lastLook().then(timeOut) : timeOut()
  const faults: unknown[] = []
  let postponed: ProvenResponse | undefined
  let waiting = interactors.length
  const giveUp = (fault?: unknown) => {
    if (fault !== undefined) faults.push(fault)
    if (--waiting > 0) return
    if (postponed) return answered(postponed)
    if (faults.length < interactors.length) return late()
    const error = unavailable(faults[0])
    end(error, () => reject(error))
  }
  disposers.push(onAbort(signal, () => end(BulkheadError.from(signal.reason), () => reject(signal.reason))))
  if (timeoutMs !== undefined) disposers.push(clock.after(timeoutMs, late))
  // "Not now" from elsewhere changes nothing here.
  elsewhere?.then((response) => isPostponed(envelope.request, response) ? undefined : answered(response), () => undefined)
  for (const interactor of interactors) {
    const asked = (async () => prove(readResponse(envelope.request, await interactor.interact(envelope, over.signal))))()
    asked.then(
      (response) => {
        if (isPostponed(envelope.request, response)) postponed = response
        return response.status === 'timeout' || response === postponed ? giveUp() : answered(response)
      },
      (thrown: unknown) => giveUp(thrown ?? 'it failed'),
    )
  }
  return promise
}

/** "Not now" of one person leaves the question to others. */
export const isPostponed = ({ kind }: InteractionRequest, response: InteractionResponse): boolean =>
  kind === 'Approve' && response.status === 'accepted' && readApproval(response.value).decision === 'later'

function unavailable(fault: unknown): BulkheadError {
  if (BulkheadError.is(fault) && fault.code === 'InteractionUnavailable') return fault
  const message = `The question could not be asked: ${messageOf(fault)}.`
  return new BulkheadError('InteractionUnavailable', message, { cause: fault })
}
