import { BulkheadError, type Clock, type CompartmentSession } from '@bulkhead/contract'
import { Deadline } from '../../model/deadline.ts'

/**
 * One attempt at starting an extension. The sandbox has shorter deadlines of its own; this one applies when it
 * does not, so that calls that wait for a start are not kept for ever. It stands still while a person is asked.
 */
export class StartAttempt {
  readonly #deadline: Deadline
  readonly #late = Promise.withResolvers<never>()
  /** Set when its time is over. */
  over: BulkheadError | undefined
  /** Set once it is there. */
  compartment: CompartmentSession | undefined

  constructor(clock: Clock, ms: number, extension: string) {
    this.#deadline = new Deadline(clock, ms, () => {
      const message = `The extension "${extension}" was not ready within ${ms} ms. See what keeps this machine busy, or raise startMs and phaseMs.`
      this.over = new BulkheadError('CompartmentStartFailed', message, { data: { extension } })
      this.#late.reject(this.over)
    })
  }

  /** Settles as the work does, or at the deadline. A later result is ignored. */
  within<Value>(work: Promise<Value>): Promise<Value> {
    return Promise.race([work, this.#late.promise])
  }

  pause(): () => void {
    return this.#deadline.pause()
  }

  end(): void {
    this.#deadline.stop()
  }
}
