import type { OpenCalls } from './call-journal.ts'

/** A call that may run. */
export interface Departing {
  /** Whether it acts in this very thread, and at once. */
  readonly isInline: boolean
  /** Contract: must not throw. */
  begin(): void
}

/**
 * Calls on their way to their tools: whatever one does is known to whoever comes after this process. Those of one moment leave
 * together, and are written together before. A single one into a compartment is sent first, and written while it is on its way:
 * whatever code there wants done, it asks this thread for, which hears nothing until it has written.
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
    if (leaving.length > 1 || leaving[0]!.isInline) this.#journal.save()
    for (const call of leaving) call.begin()
    // What they have to say leaves in the microtasks before that.
    this.#journal.saveSoon()
  }
}
