import type { PlacedCall, PlacedEnd, PlacedListener } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Row } from '../connection/database.ts'
import { effectIn } from './effects.ts'
import { messageIn } from './outbox.ts'

/** What a placed call needs of the calls of its host. */
export interface PlacedCalls {
  send(id: string, epoch: number, number: number, message: Json): Promise<void>
  cancel(call: Placed): Promise<void>
  again(call: Placed, ticket: string, repeats: boolean): Promise<boolean>
  forget(call: Placed): Promise<void>
}

/** One call of this host that was placed, and what its listener knows of it. */
export class Placed implements PlacedCall {
  readonly id: string
  epoch = 1
  readonly #calls: PlacedCalls
  readonly #listener: PlacedListener
  #sent = 0
  /** The number of the last message that the listener has. */
  last = 0
  isTaken = false
  hasBegun = false
  #hasEnded = false

  constructor(id: string, listener: PlacedListener, calls: PlacedCalls) {
    this.id = id
    this.#listener = listener
    this.#calls = calls
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  send(message: Json): Promise<void> {
    return this.#calls.send(this.id, this.epoch, ++this.#sent, message)
  }

  cancel(): Promise<void> {
    return this.#calls.cancel(this)
  }

  again(ticket: string, { repeats = false }: { readonly repeats?: boolean } = {}): Promise<boolean> {
    return this.#calls.again(this, ticket, repeats)
  }

  forget(): Promise<void> {
    return this.#calls.forget(this)
  }

  /** The next epoch begins. */
  renew(): void {
    this.epoch++
    this.#sent = 0
    this.last = 0
    this.isTaken = false
    this.hasBegun = false
    this.#hasEnded = false
  }

  /** Everything but the end, in the order in which it happened. */
  hear(row: Row): void {
    if (typeof row['worker'] === 'string' && !this.isTaken) {
      this.isTaken = true
      this.#listener.onTaken(row['worker'])
    }
    if (typeof row['begun'] === 'string' && !this.hasBegun) {
      this.hasBegun = true
      this.#listener.onBegun(effectIn(row['begun']))
    }
    for (const [number, text] of (row['messages'] ?? []) as readonly (readonly [number, string])[]) {
      if (this.#hasEnded || number <= this.last) continue
      this.last = number
      const message = messageIn(text)
      if (message !== undefined) this.#listener.onMessage(message)
    }
  }

  end(end: PlacedEnd): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#listener.onEnd(end)
  }
}
