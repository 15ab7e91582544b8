import { BulkheadError, type Clock, type Interactor, type Store } from '@bulkhead/contract'
import { onAbort } from '@bulkhead/kit/deadlines'
import { asJson } from '@bulkhead/kit/json'
import type { EventBus } from '../../records/events.ts'
import type { Claimant } from '../../records/owner.ts'
import type { DeskQuestion, QuestionDesk } from './question-desk.ts'
import { isOld, isShared, questionDigest, readStored, storedQuestion, type StoredQuestion } from './stored-question.ts'

export interface SharedQuestionSources {
  readonly desk: QuestionDesk
  readonly store: Store
  readonly events: EventBus
  readonly clock: Clock
  readonly seat: Pick<Claimant, 'id'>
}

/** How long an answer in the store may wait until the host sees it. */
const LOOK_MS = 250
/** How long a question may outlast its time for it. */
const LAST_LOOK_MS = 1_000
const SOURCE = 'sharing questions'

/**
 * Shows the questions of a host in its store, and takes answers from there: of other processes, links and webhooks. The
 * desk settles who was first. A store that fails costs no call anything: the question waits here as before.
 */
export function shareQuestions(sources: SharedQuestionSources): void {
  const { desk, events } = sources
  const open = new Map<string, Shown>()
  desk.lookElsewhere = async (correlationId) => open.get(correlationId)?.lastLook()
  desk.onChange(({ is, question }) => {
    const { correlationId, request } = question.envelope
    if (is === 'open') {
      if (question.unanswerable === undefined && isShared(request)) open.set(correlationId, new Shown(question, sources))
      return
    }
    const shown = open.get(correlationId)
    open.delete(correlationId)
    void shown?.end().catch((thrown: unknown) => events.suppressed(SOURCE, thrown))
  })
}

/** For a session that no person is at, and whose questions wait: they are answered in the store, or at the desk. */
export const waitsForOthers: Interactor = {
  takesMany: true,
  takesForms: true,
  async interact({ request }, signal) {
    if (isShared(request)) return new Promise((_resolve, reject) => { onAbort(signal, () => reject(signal.reason)) })
    const message = `A question of the kind ${request.kind} cannot wait for an answer from elsewhere, because it is not stored.`
    throw new BulkheadError('InteractionUnavailable', message)
  },
}

/** One question while it waits. */
class Shown {
  readonly #question: DeskQuestion
  readonly #sources: SharedQuestionSources
  readonly #key: string
  #step: Promise<unknown>
  /** 0 until it is in the store. */
  #round = 0
  #stopTimer: (() => void) | undefined
  #isOver = false
  #isTaken = false

  constructor(question: DeskQuestion, sources: SharedQuestionSources) {
    this.#question = question
    this.#sources = sources
    const { request, correlationId } = question.envelope
    this.#key = questionDigest(request, { correlationId })
    this.#step = this.#do(() => this.#write())
  }

  /** An answer that came first counts, also if the host has not seen it before the question ends. Never rejects. */
  async lastLook(): Promise<void> {
    const { clock, events } = this.#sources
    if (this.#round === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stopTimer = clock.after(LAST_LOOK_MS, resolve)
    const looking = this.#look().catch((thrown: unknown) => events.suppressed(SOURCE, thrown))
    await Promise.race([looking, promise]).finally(stopTimer)
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.#stopTimer?.()
    await this.#step
    if (this.#round === 0) return
    // An answer that the desk has not taken came second.
    await this.#change(({ answer, ...question }) => ({
      ...question, ...(answer && { answer: { ...answer, taken: answer.taken ?? this.#isTaken } }), endedAt: this.#sources.clock.now(),
    }))
  }

  async #write(): Promise<void> {
    const { store, seat, clock } = this.#sources
    let round = 0
    await store.update('question', this.#key, (value) => {
      const next = storedQuestion(this.#question.envelope, seat.id, readStored(value))
      round = next.round
      return asJson(next)
    })
    this.#round = round
    for (const record of await store.list('question')) if (isOld(record, clock.now())) await store.remove('question', record.key)
  }

  /** A store that was away gets the question when it is back. */
  async #do(step: () => Promise<void>): Promise<void> {
    const { clock, events } = this.#sources
    await step().catch((thrown: unknown) => events.suppressed(SOURCE, thrown))
    if (this.#isOver) return
    this.#stopTimer = clock.after(LOOK_MS, () => {
      this.#step = this.#do(() => this.#round === 0 ? this.#write() : this.#look())
    })
  }

  async #look(): Promise<void> {
    const { store, desk } = this.#sources
    const { answer, round } = readStored(await store.read('question', this.#key)) ?? {}
    if (answer === undefined || round !== this.#round || this.#isOver) return
    const { response, by } = answer
    try {
      // The desk closes the question in this call.
      this.#isTaken = true
      desk.answer(this.#question.envelope.correlationId, signed(response, by))
    } catch (thrown) {
      this.#isTaken = false
      if (!BulkheadError.is(thrown) || thrown.code === 'InteractionAlreadyAnswered') {
        return this.#change((question) => ({ ...question, answer: { ...answer, taken: false } }))
      }
      // It cannot be read, or its passkey does not count: the question waits on.
      const refused = thrown.message
      return this.#change(({ answer: _refused, ...question }) => ({ ...question, refused }))
    }
  }

  async #change(change: (question: StoredQuestion) => StoredQuestion): Promise<void> {
    await this.#sources.store.update('question', this.#key, (value) => {
      const stored = readStored(value)
      return stored && stored.round === this.#round ? asJson(change(stored)) : value
    })
  }
}

/** Who answered is what the other process knows, and no claim inside of the answer. */
function signed(response: Parameters<QuestionDesk['answer']>[1], by: string): typeof response {
  if (response.status !== 'accepted' || typeof response.value !== 'object' || response.value === null) return response
  if (Array.isArray(response.value) || !('decision' in response.value)) return response
  return { ...response, value: { ...response.value, by } }
}
