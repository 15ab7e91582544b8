import type { WireError } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { KINDS, Message } from './protocol.ts'

/** What one side of a conversation hears: questions, or the answers to its own. */
export type ConversationReceiver = Answering | Asking
export interface Answering {
  asked(id: number, method: string, args: readonly Json[]): void
}
export interface Asking {
  answered(id: number, value: Json): void
  failed(id: number, error: WireError): void
}

/** One channel of a link. One side asks on it, the other answers. */
export class Conversation {
  readonly #kinds: (typeof KINDS)[keyof typeof KINDS]
  readonly #post: (message: Message) => void
  #receiver: Partial<Answering & Asking> = {}

  /** Contract: `post` throws for a message that cannot be sent, and then nothing of it is. */
  constructor(kinds: (typeof KINDS)[keyof typeof KINDS], post: (message: Message) => void) {
    this.#kinds = kinds
    this.#post = post
  }

  /** Called once at most. */
  listen(receiver: ConversationReceiver): void {
    this.#receiver = receiver
  }

  ask(id: number, method: string, args: readonly Json[]): void {
    this.#post([this.#kinds.request, id, method, args])
  }

  answer(id: number, value: Json): void {
    this.#post([this.#kinds.value, id, value])
  }

  fail(id: number, error: WireError): void {
    this.#post([this.#kinds.failure, id, error])
  }

  deliver([kind, id, third, args]: Message): void {
    const { value, failure } = this.#kinds
    if (kind === value) this.#receiver.answered?.(id, third as Json)
    else if (kind === failure) this.#receiver.failed?.(id, third as WireError)
    else this.#receiver.asked?.(id, third as string, args as readonly Json[])
  }
}
