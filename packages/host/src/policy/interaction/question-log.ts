import type { InteractionRequest } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'

export interface AskedQuestion {
  readonly question: InteractionRequest
  /** Absent if it was declined, and for a password: passwords are never stored. */
  readonly answer?: Json
}

/**
 * What one attempt of a call has asked people. A call that continues after a pause runs from its beginning, and gets
 * the answers from before as long as it asks the same questions in the same order.
 */
export class QuestionLog {
  readonly #before: readonly AskedQuestion[]
  readonly #asked: AskedQuestion[] = []
  #isReplay = true

  constructor(before: readonly AskedQuestion[]) {
    this.#before = before.filter(({ question }) => question.kind !== 'Approve')
  }

  get asked(): readonly AskedQuestion[] {
    return this.#asked
  }

  /** The answer from before, or undefined if it must be asked. */
  replay(question: InteractionRequest): Json | undefined {
    const earlier = this.#before[this.#asked.length]
    this.#isReplay &&= earlier !== undefined && textOf(earlier.question) === textOf(question)
    if (!this.#isReplay || earlier?.answer === undefined) return undefined
    this.#asked.push(earlier)
    return earlier.answer
  }

  note(question: InteractionRequest, answer: Json | undefined): void {
    this.#asked.push({ question, ...(answer === undefined || question.kind === 'Auth.Password' ? {} : { answer }) })
  }
}

const textOf = (question: InteractionRequest): string => canonicalJson(question as unknown as Json)

/** Those that asked for approval. The host asks them, before the tool runs. */
export const approvalsIn = (asked: readonly AskedQuestion[]): readonly AskedQuestion[] =>
  asked.filter(({ question }) => question.kind === 'Approve')
