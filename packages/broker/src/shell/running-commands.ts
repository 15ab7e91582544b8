import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { OpenCall } from '../model/capability.ts'

/** Started, until nothing of it is left. */
export interface Begun {
  readonly result: Promise<object>
  readonly gone: Promise<void>
  end(reason: BulkheadError): void
}

/** A command on its way: being looked for, running, or being ended. */
interface Attempt {
  readonly callId: string
  readonly stop: AbortController
  /** Until its result is there, or nothing of it is left. */
  busy: boolean
  over: Promise<unknown>
}

/** The commands of a compartment: so many at once, each ended with its call, and all with the compartment. */
export class Attempts {
  readonly #most: number
  readonly #open = new Set<Attempt>()
  #closed = false

  constructor(most: number) {
    this.#most = most
  }

  async run(call: OpenCall, begin: (stop: AbortSignal) => Promise<Begun>): Promise<Json> {
    const attempt = this.#admit(call.callId)
    const { stop } = attempt
    const abort = (): void => stop.abort(BulkheadError.from(call.signal.reason, 'ToolCancelled'))
    call.signal.addEventListener('abort', abort, { once: true })
    const starting = begin(stop.signal).then((begun) => {
      const end = (): void => begun.end(BulkheadError.from(stop.signal.reason, 'ToolCancelled'))
      stop.signal.addEventListener('abort', end, { once: true })
      if (stop.signal.aborted) end()
      return begun
    })
    attempt.over = starting.then(({ gone }) => gone, () => undefined).finally(() => this.#open.delete(attempt))
    try {
      if (call.signal.aborted) abort()
      const { result } = await starting
      const settled = await result
      attempt.busy = false
      return { ...settled } as unknown as JsonObject
    } finally {
      call.signal.removeEventListener('abort', abort)
    }
  }

  endCall(callId: string): void {
    for (const attempt of this.#open) if (attempt.callId === callId) attempt.stop.abort(callOverError())
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const { stop } of this.#open) stop.abort(closedError())
    await Promise.all([...this.#open].map(({ over }) => over))
  }

  #admit(callId: string): Attempt {
    if (this.#closed) throw closedError()
    if ([...this.#open].filter(({ busy }) => busy).length >= this.#most) {
      throw new BulkheadError('TooManyCalls', `The extension runs ${this.#most} commands already. Wait for some of them.`)
    }
    const attempt: Attempt = { callId, stop: new AbortController(), busy: true, over: Promise.resolve() }
    this.#open.add(attempt)
    return attempt
  }
}

const callOverError = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The command was ended because its call is over. Wait for it in the call.')
const closedError = (): BulkheadError =>
  new BulkheadError('CompartmentKilled', 'The compartment is closed, and its commands with it. Call again.')
