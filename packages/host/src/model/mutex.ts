import { untilAborted } from '@bulkhead/kit/deadlines'

/** Lets one through at a time, strictly in the order of arrival. Who gives up while waiting leaves no gap. */
export class Turnstile {
  #last: Promise<void> = Promise.resolve()

  async pass<Value>(signal: AbortSignal, run: () => Promise<Value>): Promise<Value> {
    const { promise: left, resolve: leave } = Promise.withResolvers<void>()
    const turn = this.#last
    this.#last = turn.then(() => left)
    try {
      await untilAborted(turn, signal)
      return await untilAborted(run(), signal)
    } finally {
      leave()
    }
  }
}
