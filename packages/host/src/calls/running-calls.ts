import type { RunningCall } from './running-call.ts'

/** The calls one extension is busy with, by the id its compartment knows them under, from the one that has run for the longest. */
export class RunningCalls {
  /** A short list: to find each by a text in a Map would cost every call more than to look through it. */
  readonly #calls: RunningCall[] = []
  #idle: PromiseWithResolvers<void> | undefined
  #repeats = 0

  /**
   * Returns the id to run under: the model's own where it is free. Two sessions may use one id at once, and a second
   * attempt must not be taken for the first that has not ended yet.
   */
  enter(running: RunningCall, { id: wanted, attempt }: { readonly id: string; readonly attempt: number }): string {
    let id = attempt === 1 ? wanted : this.#anotherId(wanted)
    while (this.get(id)) id = this.#anotherId(wanted)
    this.#calls.push(running)
    return id
  }

  /** Idempotent. */
  leave(running: RunningCall): void {
    const place = this.#calls.indexOf(running)
    if (place < 0) return
    this.#calls.splice(place, 1)
    if (this.#calls.length > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }

  get(id: string): RunningCall | undefined {
    for (const call of this.#calls) if (call.callId === id) return call
    return undefined
  }

  /** The one that has run for the longest: a compartment that woke for it may ask its person. */
  any(): RunningCall | undefined {
    return this.#calls[0]
  }

  get size(): number {
    return this.#calls.length
  }

  /** Resolves when nothing runs, at once if nothing does. */
  whenIdle(): Promise<void> {
    if (this.#calls.length === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers<void>()
    return this.#idle.promise
  }

  /** Never longer than an id may be. */
  #anotherId(wanted: string): string {
    return `${wanted.slice(0, 100)}#${++this.#repeats}`
  }
}
