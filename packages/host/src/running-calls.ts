import type { RunningCall } from './running-call.ts'

/** The calls one extension is busy with, by the id its compartment knows them under. */
export class RunningCalls {
  readonly #calls = new Map<string, RunningCall>()
  #idle: PromiseWithResolvers<void> | undefined
  #repeats = 0

  /**
   * Returns the id to run under: the model's own where it is free. Two sessions may use one id at once, and a second
   * attempt must not be taken for the first that has not ended yet.
   */
  enter(running: RunningCall, attempt: number): string {
    let id = attempt === 1 ? running.call.id : this.#anotherId(running)
    while (this.#calls.has(id)) id = this.#anotherId(running)
    this.#calls.set(id, running)
    return id
  }

  leave(id: string): void {
    this.#calls.delete(id)
    if (this.#calls.size > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }

  get(id: string): RunningCall | undefined {
    return this.#calls.get(id)
  }

  /** The one that has run for the longest: a compartment that woke for it may ask its person. */
  any(): RunningCall | undefined {
    return this.#calls.values().next().value
  }

  get size(): number {
    return this.#calls.size
  }

  /** Resolves when nothing runs, at once if nothing does. */
  whenIdle(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers<void>()
    return this.#idle.promise
  }

  /** Never longer than an id may be. */
  #anotherId({ call }: RunningCall): string {
    return `${call.id.slice(0, 100)}#${++this.#repeats}`
  }
}
