import { BulkheadError, type Clock, type InteractionEnvelope, type InteractionResponse, type Interactor } from '@bulkhead/contract'
import { onAbort } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { readResponse } from './answers.ts'

export interface RaceTerms {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly timeoutMs: number | undefined
}

/**
 * Resolves with the first answer. The signal of the other interactors is aborted, and their later answers are ignored. If all
 * of them fail, it rejects with InteractionUnavailable. If none answers in time, the status is `timeout`.
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
