import type { JsonObject } from '@bulkhead/kit/json'
import { demandFor } from '../../passkeys/demand.ts'
import { text } from '../access/body.ts'
import { RequestFault } from '../fault.ts'
import type { OpenQuestion, QuestionSource } from '../inspected.ts'
import type { DecisionTaken, PasskeyDemand, WaitingView } from '../../protocol.ts'
import { readDecision, withPasskey, type ReadDecision } from './decision.ts'
import { digestOf, waitingItem } from './waiting-item.ts'

const MOST_ITEMS = 200

export interface InboxOptions {
  /** Why nothing is answered here. */
  readonly readOnly: string | undefined
  /** Who answers. */
  readonly by: string
  readonly now: () => number
}

/** Every question that waits, oldest first. */
export class Inbox {
  readonly #questions: QuestionSource
  readonly #options: InboxOptions
  /** "Not now", by id. */
  readonly #later = new Map<string, number>()
  /** Decisions that are being taken: the second waits for none. */
  readonly #taking = new Set<string>()

  constructor(questions: QuestionSource, options: InboxOptions) {
    this.#questions = questions
    this.#options = options
  }

  async view(): Promise<WaitingView> {
    const { readOnly, now } = this.#options
    const all = await this.#questions.list()
    const ids = new Set(all.map(({ id }) => id))
    for (const [id, until] of this.#later) if (until <= now() || !ids.has(id)) this.#later.delete(id)
    return {
      items: all.slice(0, MOST_ITEMS).map((one) => waitingItem(one, readOnly, this.#later.get(one.id))),
      more: Math.max(0, all.length - MOST_ITEMS),
    }
  }

  /** `origin`: of the page. Throws a RequestFault, or what the host throws. */
  async decide(id: string, body: JsonObject, origin: string): Promise<DecisionTaken> {
    const { by, now } = this.#options
    const { question, decision } = await this.#read(id, body)
    if (decision.is === 'later') {
      this.#later.set(id, now() + decision.minutes * 60_000)
      return { words: `Not now. It still waits, and comes back in ${decision.minutes} min.` }
    }
    if (question.unanswerable !== undefined) throw new RequestFault('NotSupported', question.unanswerable)
    if (this.#taking.has(id)) throw answered()
    this.#taking.add(id)
    try {
      return { words: await this.#questions.answer(question, withPasskey(decision.answer, body), by, origin) }
    } finally {
      this.#taking.delete(id)
    }
  }

  /** What the browser signs for a decision. Throws a RequestFault. */
  async passkey(id: string, body: JsonObject, origin: string): Promise<PasskeyDemand> {
    const { question, decision } = await this.#read(id, body)
    const value = decision.is === 'answer' && decision.answer.status === 'accepted' ? decision.answer.value : undefined
    const asked = value === undefined ? undefined : await this.#questions.passkey(question, value)
    if (asked === undefined) throw new RequestFault('NotSupported', 'This answer needs no passkey.')
    const demand = demandFor(asked, origin)
    if (typeof demand === 'string') throw new RequestFault('NotSupported', demand)
    return demand
  }

  async #read(
    id: string, body: JsonObject,
  ): Promise<{ readonly question: OpenQuestion; readonly decision: ReadDecision }> {
    const { readOnly, by, now } = this.#options
    if (readOnly !== undefined) throw new RequestFault('ReadOnly', readOnly)
    const question = await this.#find(id)
    if (text(body, 'digest') !== digestOf(question)) {
      throw new RequestFault('Changed', 'The question is not the one that was shown. Look at it again.')
    }
    return { question, decision: readDecision(body, question, by, now()) }
  }

  async #find(id: string): Promise<OpenQuestion> {
    const question = (await this.#questions.list()).find((one) => one.id === id)
    if (question) return question
    throw answered()
  }
}

const answered = (): RequestFault =>
  new RequestFault('AlreadyAnswered', 'The question does not wait any more: it was answered or withdrawn.')
