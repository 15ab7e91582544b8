import {
  APPROVAL_ANSWERS, BulkheadError, type ApprovalAnswer, type Clock, type InteractionEnvelope, type InteractionRequest,
  type InteractionResponse, type Interactor,
} from '@bulkhead/contract'
import { onAbort } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

/** Checks the response of an interactor. Throws InteractionUnavailable if it does not fit the question. */
export function readResponse(request: InteractionRequest, response: unknown): InteractionResponse {
  const { status, value, reason } = isJsonObject(response) ? response : {}
  if (status === 'timeout') return { status }
  if (status === 'rejected') return { status, ...(typeof reason === 'string' ? { reason } : {}) }
  if (status !== 'accepted') throw malformed('in an unknown form')
  return { status, value: readValue(request, value) }
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
    case 'Auth.DeviceCode':
      return null
    case 'Approve':
      return { ...readApproval(value) }
  }
}

function readChoice({ options, multiple = false }: Extract<InteractionRequest, { kind: 'Select' }>, value: unknown): Json {
  const labels = new Set(options.map(({ label }) => label))
  const isLabel = (each: unknown): each is string => typeof each === 'string' && labels.has(each)
  if (!multiple && isLabel(value)) return value
  if (multiple && Array.isArray(value) && value.every(isLabel)) return [...new Set(value)]
  throw malformed('with something that is not one of the options')
}

const MAX_NAME_CHARS = 200
const decisions: ReadonlySet<unknown> = new Set(APPROVAL_ANSWERS)

/** An unknown answer is a no. */
export function readApproval(value: unknown): ApprovalAnswer {
  const { decision = value, reason, by } = isJsonObject(value) ? value : {}
  if (!decisions.has(decision)) return { decision: 'reject', reason: 'the answer is unknown' }
  return {
    decision: decision as ApprovalAnswer['decision'],
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof by === 'string' && by !== '' ? { by: by.slice(0, MAX_NAME_CHARS) } : {}),
  }
}

const malformed = (how: string) => new BulkheadError('InteractionUnavailable', `The question was answered ${how}.`)

export interface RaceTerms {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly timeoutMs: number | undefined
}

/**
 * Resolves with the first answer. The signal of the other interactors is aborted, and their later answers are ignored.
 * If all of them fail, it rejects with InteractionUnavailable. If none answers in time, the status is `timeout`.
 */
export function raceInteractors(
  interactors: readonly Interactor[], envelope: InteractionEnvelope, { signal, clock, timeoutMs }: RaceTerms,
): Promise<InteractionResponse> {
  const over = new AbortController()
  const disposers: (() => void)[] = []
  const { promise, resolve, reject } = Promise.withResolvers<InteractionResponse>()
  const end = (why: BulkheadError, settle: () => void) => {
    if (over.signal.aborted) return
    for (const dispose of disposers) dispose()
    over.abort(why)
    settle()
  }
  const answered = (response: InteractionResponse) => end(
    new BulkheadError('InteractionAlreadyAnswered', 'Another interactor answered the question.'), () => resolve(response),
  )
  const late = () =>
    end(new BulkheadError('InteractionTimeout', 'No one answered in time.'), () => resolve({ status: 'timeout' }))
  const faults: unknown[] = []
  let waiting = interactors.length
  const giveUp = (fault?: unknown) => {
    if (fault !== undefined) faults.push(fault)
    if (--waiting > 0) return
    if (faults.length < interactors.length) return late()
    const error = unavailable(faults[0])
    end(error, () => reject(error))
  }
  disposers.push(onAbort(signal, () => end(BulkheadError.from(signal.reason), () => reject(signal.reason))))
  if (timeoutMs !== undefined) disposers.push(clock.after(timeoutMs, late))
  for (const interactor of interactors) {
    const asked = (async () => readResponse(envelope.request, await interactor.interact(envelope, over.signal)))()
    asked.then(
      (response) => response.status === 'timeout' ? giveUp() : answered(response),
      (thrown: unknown) => giveUp(thrown ?? 'it failed'),
    )
  }
  return promise
}

function unavailable(fault: unknown): BulkheadError {
  if (BulkheadError.is(fault) && fault.code === 'InteractionUnavailable') return fault
  return new BulkheadError('InteractionUnavailable', `The question could not be asked: ${messageOf(fault)}.`, { cause: fault })
}
