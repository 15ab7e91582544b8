import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'
import { onAbort } from '@bulkhead/kit/deadlines'
import { LinkedList } from '../model/linked-list.ts'
import type { Arrangement } from '../model/settings.ts'

/** The calls of one session that an extension has admitted. */
export class AdmittedCalls {
  #count = 0
  readonly #waiting = new LinkedList<() => void>()

  get count(): number {
    return this.#count
  }

  /** Contract: `leave` follows, once. */
  enter(): this {
    this.#count++
    return this
  }

  /** The first that waits enters in its place. */
  leave(): void {
    const enter = this.#waiting.first
    if (enter) enter()
    else this.#count--
  }

  /** Enters when another call leaves. Resolves with undefined if the signal is aborted before. */
  next(signal: AbortSignal): Promise<this | undefined> {
    if (signal.aborted) return Promise.resolve(undefined)
    const { promise, resolve } = Promise.withResolvers<this | undefined>()
    const settle = (entered: this | undefined) => {
      this.#waiting.remove(place)
      forget()
      resolve(entered)
    }
    const place = this.#waiting.add(() => settle(this))
    const forget = onAbort(signal, () => settle(undefined))
    return promise
  }
}

/**
 * How many calls of each session an extension takes on: those that may run, and those that may wait for them. They are
 * counted before anything else is done for a call, so a call that will be refused costs little.
 */
export class Admission {
  readonly #extension: string
  readonly #slots: number
  readonly #sessions = new WeakMap<object, AdmittedCalls>()

  constructor(extension: string, { limits: { concurrentCalls }, compartments }: Arrangement) {
    this.#extension = extension
    this.#slots = concurrentCalls * compartments
  }

  /** Throws TooManyCalls. */
  admit(session: object): AdmittedCalls {
    const calls = this.#callsOf(session)
    if (calls.count < this.#slots * (1 + CALL_LIMITS.waitingPerSlot)) return calls.enter()
    throw new BulkheadError(
      'TooManyCalls',
      `The session has ${calls.count} calls of ${this.#extension} under way, of which ${this.#slots} run at once. `
        + 'Wait for some of them, or use callAll, which waits.',
      { data: { limit: 'concurrentCalls' } },
    )
  }

  /** Waits until the session has no more calls than run at once. The result is no promise if it can enter at once. */
  pace(session: object, signal: AbortSignal): AdmittedCalls | Promise<AdmittedCalls | undefined> {
    const calls = this.#callsOf(session)
    return calls.count < this.#slots ? calls.enter() : calls.next(signal)
  }

  #callsOf(session: object): AdmittedCalls {
    return this.#sessions.getOrInsertComputed(session, () => new AdmittedCalls())
  }
}
