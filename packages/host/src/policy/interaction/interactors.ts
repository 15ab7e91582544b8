import { BulkheadError, requireOptions, type InteractionEnvelope, type InteractionResponse, type Interactor } from '@bulkhead/contract'
import { forms } from '@bulkhead/kit/options'
import { onAbort } from '../../model/cancellation.ts'

/** A person who is reached by a program: a window, a chat, a queue. */
export interface ProgrammaticInteractor extends Interactor {
  /** Questions nobody has answered, oldest first. */
  readonly pending: readonly InteractionEnvelope[]
  /**
   * Hears each question as it comes, and may answer when it knows. One that fails, at once or later, fails the question if nobody
   * has answered. Returns what ends the subscription. Throws ConfigInvalid.
   */
  onQuestion(listener: (envelope: InteractionEnvelope) => void): () => void
  /**
   * Throws InteractionAlreadyAnswered for a question that is not pending: answered, taken back, or too late; and ConfigInvalid for
   * what is no response, after which the question is pending as before.
   */
  answer(correlationId: string, response: InteractionResponse): void
}

interface Pending {
  readonly envelope: InteractionEnvelope
  readonly settle: (response: InteractionResponse) => void
}

const LISTENING = { listener: forms.method }
const ANSWER = { correlationId: forms.text, response: forms.whole({ status: forms.oneOf('accepted', 'rejected', 'timeout') }) }

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
        // Most who ask a person take their time. What fails then fails the question, and is nothing once that is over.
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
        const message = `The question ${correlationId} is not pending: it was answered, taken back, or its time is over.`
        throw new BulkheadError('InteractionAlreadyAnswered', message, { data: { correlationId } })
      }
      pending.delete(correlationId)
      question.settle(response)
    },
  }
}
