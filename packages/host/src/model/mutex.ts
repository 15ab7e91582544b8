import { untilAborted } from '@bulkhead/kit/deadlines'

/** Runs one task at a time, in the order of arrival. A task that is aborted while it waits never runs. */
export class Mutex {
  #last: Promise<void> = Promise.resolve()

  async run<Value>(signal: AbortSignal, task: () => Promise<Value>): Promise<Value> {
    const { promise: done, resolve: release } = Promise.withResolvers<void>()
    const turn = this.#last
    this.#last = turn.then(() => done)
    try {
      await untilAborted(turn, signal)
      return await untilAborted(task(), signal)
    } finally {
      release()
    }
  }
}
