import type { OpenCalls } from './open-calls.ts'

/** A call that may run. */
interface Departing {
  /** Contract: must not throw. */
  begin(): void
}

/**
 * Calls on their way to tools that run in this very thread. None leaves before the journal has it: what it does is known to whoever comes
 * after this process. Those of one moment leave together, so that their notes are saved together.
 */
export class Departures {
  readonly #journal: OpenCalls
  #waiting: Departing[] = []

  constructor(journal: OpenCalls) {
    this.#journal = journal
  }

  leave(call: Departing): void {
    if (!this.#journal.isAhead) call.begin()
    else if (this.#waiting.push(call) === 1) queueMicrotask(this.#go)
  }

  readonly #go = (): void => {
    const leaving = this.#waiting
    this.#waiting = []
    this.#journal.save()
    for (const call of leaving) call.begin()
  }
}
