import {
  BulkheadError, requireOptions, type InteractionEnvelope, type InteractionKind, type InteractionResponse,
  type Interactor,
} from '@bulkhead/contract'
import { forms } from '@bulkhead/kit/options'
import { onAbort } from '@bulkhead/kit/deadlines'
import type { RawCall } from '../call.ts'

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
   * ConfigInvalid for an invalid response; the question stays pending.
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
      const before = request.kind === 'Approve' ? `, or allow "${request.approval.tool}" by a rule or the allowlist` : ''
      const hint = `Run with a person present${before}.`
      const required = { kind: 'permission-required', requestKind: request.kind, correlationId, hint } as const
      report(required)
      throw new BulkheadError('InteractionUnavailable', `No one is there to ask. ${hint}`, { data: { ...required } })
    },
  }
}

/** Ends the turn of a call that needs a person, if no one is there and the session wants that. Throws the reason. */
export function haltIfHeadless(call: RawCall, requestKind: InteractionKind): void {
  const { session, name, scope: { turn } } = call
  if (session.policy.headless !== 'halt') return
  const message = `The turn ended: "${name}" requires approval, and no one is there to ask.`
  const data = { reason: 'cap', kind: 'permission-required', requestKind, tool: name }
  turn.cancel(new BulkheadError('TurnCancelled', message, { data }))
  call.throwIfCancelled()
}
