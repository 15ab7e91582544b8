import { BulkheadError, type InteractionEnvelope, type InteractionResponse } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { readResponse, requireApproval } from './interactors.ts'
import { provenResponse, type PasskeyTerms, type ProvenResponse } from './passkeys.ts'

/** The call that asks. */
export interface AskingCall {
  /** Of its session, which may be another than the one that is asked. */
  readonly sessionId: string
  readonly callId: string
}

/** A question that waits in this process. */
export interface DeskQuestion {
  readonly envelope: InteractionEnvelope
  readonly call?: AskingCall
  /** Why it is not answered here. */
  readonly unanswerable?: string
}

export interface DeskChange {
  readonly is: 'open' | 'closed'
  readonly question: DeskQuestion
}

interface Open {
  readonly question: DeskQuestion
  readonly settle: (response: ProvenResponse) => void
}

/** A question at the desk. */
export interface AtDesk {
  /** An answer that was given at the desk. Never rejects. */
  readonly answer: Promise<ProvenResponse>
  /** Resolves when an answer of another process that was given before has arrived. Never rejects. */
  lastLook(): Promise<void>
  leave(): void
}

/**
 * Every question of a host that waits for a person, of any session. An answer that is given here counts like that of an
 * interactor. The desk raises no question: where no person can be asked, none waits.
 */
export class QuestionDesk {
  /** Looks for an answer of another process. Absent if no other process sees the questions. Never rejects. */
  lookElsewhere: ((correlationId: string) => Promise<void>) | undefined
  readonly #open = new Map<string, Open>()
  readonly #listeners = new Set<(change: DeskChange) => void>()
  readonly #passkeys: () => PasskeyTerms

  constructor(passkeys: () => PasskeyTerms) {
    this.#passkeys = passkeys
  }

  /** Oldest first. */
  get questions(): readonly DeskQuestion[] {
    return [...this.#open.values()].map(({ question }) => question)
  }

  /** Contract: the listener must not throw. */
  onChange(listener: (change: DeskChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  take(question: DeskQuestion): AtDesk {
    const { correlationId } = question.envelope
    const { promise, resolve } = Promise.withResolvers<ProvenResponse>()
    this.#open.set(correlationId, { question, settle: resolve })
    this.#tell({ is: 'open', question })
    return {
      answer: promise,
      lastLook: async () => this.lookElsewhere?.(correlationId),
      leave: () => {
        if (this.#open.delete(correlationId)) this.#tell({ is: 'closed', question })
      },
    }
  }

  /**
   * `page`: the origin of the page of this process that showed the question. Throws InteractionAlreadyAnswered,
   * CapabilityUnavailable, StoreUnavailable or InputInvalid, and then the question still waits.
   */
  answer(correlationId: string, response: InteractionResponse, page?: string): void {
    const open = this.#open.get(correlationId)
    if (open === undefined) {
      const message = `The question ${correlationId} does not wait any more: it was answered or withdrawn.`
      throw new BulkheadError('InteractionAlreadyAnswered', message, { data: { correlationId } })
    }
    const { question: { envelope: { request }, unanswerable } } = open
    if (unanswerable !== undefined) throw new BulkheadError('CapabilityUnavailable', unanswerable)
    let read: ProvenResponse
    try {
      if (request.kind === 'Approve' && response.status === 'accepted') requireApproval(response.value)
      read = provenResponse(request, readResponse(request, response), { ...this.#passkeys(), page })
    } catch (thrown) {
      if (BulkheadError.is(thrown) && thrown.code !== 'InteractionUnavailable') throw thrown
      throw new BulkheadError('InputInvalid', messageOf(thrown), { cause: thrown })
    }
    this.#open.delete(correlationId)
    this.#tell({ is: 'closed', question: open.question })
    open.settle(read)
  }

  #tell(change: DeskChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}
