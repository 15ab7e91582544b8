import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { OpenCall } from '../model/capability.ts'

/** A command or pipe, from its start until no process of it is left. */
export interface StartedCommand {
  readonly result: Promise<object>
  readonly gone: Promise<void>
  end(reason: BulkheadError): void
}

/** A command that is being looked up, running, or being ended. */
interface Attempt {
  readonly callId: string
  readonly stop: AbortController
  /** Whether it counts against the limit: until it has a result. */
  busy: boolean
  over: Promise<unknown>
}

/** The commands of a compartment. Limits their number, and ends each with its call. */
export class RunningCommands {
  readonly #most: number
  readonly #open = new Set<Attempt>()
  #closed = false

  constructor(most: number) {
    this.#most = most
  }

  async run(call: OpenCall, start: (stop: AbortSignal) => Promise<StartedCommand>): Promise<Json> {
    const attempt = this.#admit(call.callId)
    const { stop } = attempt
    const abort = (): void => stop.abort(BulkheadError.from(call.signal.reason, 'ToolCancelled'))
    call.signal.addEventListener('abort', abort, { once: true })
    const starting = start(stop.signal).then((started) => {
      const end = (): void => started.end(BulkheadError.from(stop.signal.reason, 'ToolCancelled'))
      stop.signal.addEventListener('abort', end, { once: true })
      if (stop.signal.aborted) end()
      return started
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
      throw new BulkheadError('TooManyCalls', `The extension already runs ${this.#most} commands. Wait until one of them ends.`)
    }
    const attempt: Attempt = { callId, stop: new AbortController(), busy: true, over: Promise.resolve() }
    this.#open.add(attempt)
    return attempt
  }
}

const callOverError = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The command was ended because its call has ended. Await it inside the call.')
const closedError = (): BulkheadError =>
  new BulkheadError('CompartmentKilled', 'The command was ended because its compartment is closed. Call again.')
