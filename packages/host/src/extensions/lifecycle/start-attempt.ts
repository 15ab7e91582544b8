import { BulkheadError, type Clock, type CompartmentSession } from '@bulkhead/contract'
import { Deadline } from '../../model/deadline.ts'
import type { Starter } from './extension-parts.ts'

/** One attempt to start an extension. All callers that need the extension share it. */
export class StartAttempt {
  readonly #late = Promise.withResolvers<never>()
  readonly #cancelled = Promise.withResolvers<void>()
  #deadline: Deadline | undefined
  #opening: AbortController | undefined
  /** Settles with the attempt. */
  result: Promise<CompartmentSession> | undefined
  /** Answers the questions of `init`: the first caller that can. */
  starter: Starter | undefined
  /** Set when its time is over. */
  over: BulkheadError | undefined
  /** Set when the compartment is open. */
  compartment: CompartmentSession | undefined
  /** Whether the compartment ended before it was active. */
  hasEnded = false

  /**
   * Its time begins. The sandbox has shorter deadlines of its own. This one makes sure that calls that wait for a start
   * never wait for ever. It is paused while a person is asked.
   */
  begin(clock: Clock, ms: number, extension: string): void {
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

  /** Also resolves when the attempt is cancelled. */
  async waitFor(predecessor: Promise<unknown>): Promise<void> {
    await Promise.race([predecessor, this.#cancelled.promise])
  }

  /** The compartment is being opened. Returns the signal that ends that. */
  opening(): AbortSignal {
    this.#opening = new AbortController()
    return this.#opening.signal
  }

  opened(compartment: CompartmentSession): void {
    this.#opening = undefined
    this.compartment = compartment
  }

  /** Ends a wait and an opening. A phase that has begun is not interrupted. */
  cancel(reason: BulkheadError): void {
    this.#cancelled.resolve()
    this.#opening?.abort(reason)
  }

  pause(): () => void {
    return this.#deadline!.pause()
  }

  end(): void {
    this.#deadline?.stop()
  }
}
