import type { EventBus } from './events.ts'

/** Writes that nobody waits for one by one. One that fails is reported. */
export class PendingWrites {
  readonly #open = new Set<Promise<void>>()
  readonly #source: string
  readonly #events: EventBus

  constructor(source: string, events: EventBus) {
    this.#source = source
    this.#events = events
  }

  /** Settles with the write; never rejects. */
  add(write: Promise<unknown>): Promise<void> {
    const done: Promise<void> = write.then(
      () => {},
      (thrown: unknown) => this.#events.suppressed(this.#source, thrown),
    ).finally(() => this.#open.delete(done))
    this.#open.add(done)
    return done
  }

  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open)
  }
}
