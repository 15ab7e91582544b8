import type { OpenCalls } from './open-calls.ts'

/** Contract: must not throw. */
export interface Departing {
  depart(): void
}

/**
 * Calls on their way to their tools. None leaves before the journal has it: a call that ran is known to whoever comes after this
 * process. Those of one moment leave together, so that their notes are saved together.
 */
export class Departures {
  readonly #journal: OpenCalls
  #waiting: Departing[] = []

  constructor(journal: OpenCalls) {
    this.#journal = journal
  }

  add(one: Departing): void {
    if (!this.#journal.isAhead) return one.depart()
    if (this.#waiting.push(one) === 1) queueMicrotask(this.#leave)
  }

  readonly #leave = (): void => {
    const leaving = this.#waiting
    this.#waiting = []
    this.#journal.save()
    for (const one of leaving) one.depart()
  }
}
