import type { InteractionRequest } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'

export interface AskedQuestion {
  readonly question: InteractionRequest
  /** Absent for what was declined, and for a password: those are never kept. */
  readonly answer?: Json
}

/**
 * What one attempt of a call has asked people. A call that goes on after a pause runs from its beginning, and is told what it
 * was told before, as long as it asks the same in the same order.
 */
export class QuestionLog {
  readonly #before: readonly AskedQuestion[]
  readonly #asked: AskedQuestion[] = []
  #sameCourse = true

  constructor(before: readonly AskedQuestion[]) {
    this.#before = before
  }

  get asked(): readonly AskedQuestion[] {
    return this.#asked
  }

  /** The answer from before, or undefined when it must be asked. */
  replay(question: InteractionRequest): Json | undefined {
    const earlier = this.#before[this.#asked.length]
    this.#sameCourse &&= earlier !== undefined && textOf(earlier.question) === textOf(question)
    if (!this.#sameCourse || earlier?.answer === undefined) return undefined
    this.#asked.push(earlier)
    return earlier.answer
  }

  note(question: InteractionRequest, answer: Json | undefined): void {
    this.#asked.push({ question, ...(answer === undefined || question.kind === 'Auth.Password' ? {} : { answer }) })
  }
}

const textOf = (question: InteractionRequest): string => canonicalJson(question as unknown as Json)
