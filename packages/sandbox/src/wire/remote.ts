import type { Json } from '@bulkhead/kit/json'
import type { Conversation } from './conversation.ts'
import { Numbered } from './numbered.ts'
import { RemoteError } from './remote-error.ts'

/** Who asked, and is told once. Contract: neither method throws. */
export interface Question {
  answered(value: Json): void
  failed(error: unknown): void
}

/**
 * What the other side exposes, asked for by name. Comlink's own `wrap` is not used for it: it makes a text of four random
 * numbers for each call, which takes a third of a short one, leaves its callers waiting when the other side is gone, and says
 * goodbye to that side when a proxy is collected.
 */
export class Remote {
  readonly #conversation: Conversation
  readonly #open = new Numbered<Question>()
  #lastId = 0
  #ended: { readonly error: unknown } | undefined

  constructor(conversation: Conversation) {
    this.#conversation = conversation
    conversation.listen({
      answered: (id, value) => this.#open.take(id)?.answered(value),
      failed: (id, error) => this.#open.take(id)?.failed(new RemoteError(error)),
    })
  }

  ask(method: string, args: readonly unknown[], question: Question): void {
    if (this.#ended !== undefined) return question.failed(this.#ended.error)
    const id = ++this.#lastId
    this.#open.add(id, question)
    try {
      this.#conversation.ask(id, method, args as readonly Json[])
    } catch (error) {
      this.#open.take(id)?.failed(error)
    }
  }

  call(method: string, ...args: readonly unknown[]): Promise<Json> {
    return new Promise((answered, failed) => this.ask(method, args, { answered, failed }))
  }

  /** Idempotent. Everything that is open fails with this error, and everything that is asked later. */
  end(error: unknown): void {
    if (this.#ended !== undefined) return
    this.#ended = { error }
    for (const question of this.#open.takeAll()) question.failed(error)
  }
}
