import type { ClearedCall, ExecutedCall } from '../call.ts'
import type { OpenCalls } from './open-calls.ts'

/** A call that may run, and whoever waits for what becomes of it. */
interface Departing {
  readonly call: ClearedCall
  readonly resolve: (executed: Promise<ExecutedCall>) => void
}

/**
 * Calls on their way to their tools. None leaves, and nobody hears that it has begun, before the journal has it: a call that ran
 * is known to whoever comes after this process. Those of one moment leave together, so that their notes are saved together.
 */
export class Departures {
  readonly #journal: OpenCalls
  readonly #execute: (call: ClearedCall) => Promise<ExecutedCall>
  #waiting: Departing[] = []

  constructor(journal: OpenCalls, execute: (call: ClearedCall) => Promise<ExecutedCall>) {
    this.#journal = journal
    this.#execute = execute
  }

  leave(call: ClearedCall): Promise<ExecutedCall> {
    if (!this.#journal.isAhead) return this.#execute(call)
    return new Promise((resolve) => {
      if (this.#waiting.push({ call, resolve }) === 1) queueMicrotask(this.#go)
    })
  }

  readonly #go = (): void => {
    const leaving = this.#waiting
    this.#waiting = []
    this.#journal.save()
    for (const { call, resolve } of leaving) resolve(this.#execute(call))
  }
}
