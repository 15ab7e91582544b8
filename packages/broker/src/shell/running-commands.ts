import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'
import { FairQueue } from '@bulkhead/kit/fair-queue'
import type { JsonObject } from '@bulkhead/kit/json'
import type { OpenCall } from '../model/capability.ts'
import type { StartedCommand } from './starter.ts'

/** `timeoutMs`: what is left of the timeout of the command. */
type Start = (stop: AbortSignal, timeoutMs: number | undefined) => Promise<StartedCommand>

interface Timeout {
  readonly ms: number | undefined
  /** The result of a command that did not start in time. */
  readonly missed: JsonObject
}

const NO_TIMEOUT: Timeout = { ms: undefined, missed: {} }

/** A command that waits, is being looked up, runs, or is being ended. */
class Attempt {
  readonly call: OpenCall
  readonly stop = new AbortController()
  /** Resolves with whether it may start. */
  readonly turn = Promise.withResolvers<boolean>()
  isWaiting = false
  hasSlot = false
  over: Promise<unknown> = Promise.resolve()

  constructor(call: OpenCall) {
    this.call = call
  }
}

/**
 * The commands of a compartment. Limits how many run, lets the others wait, and ends each with its call. Sessions take
 * turns.
 */
export class RunningCommands {
  readonly #most: number
  readonly #waiting: FairQueue<string | undefined, Attempt>
  readonly #open = new Map<string, Set<Attempt>>()
  #taken = 0
  #closed = false

  constructor(most: number) {
    this.#most = most
    this.#waiting = new FairQueue(most * CALL_LIMITS.waitingPerSlot)
  }

  /**
   * Waits for a slot, then starts a command, and resolves with its result. Rejects with TooManyCalls if too many
   * commands of the session wait.
   */
  async run(call: OpenCall, start: Start, { ms, missed }: Timeout = NO_TIMEOUT): Promise<JsonObject> {
    const since = performance.now()
    const attempt = this.#enter(call)
    const { stop } = attempt
    const abort = (): void => this.#end(attempt, BulkheadError.from(call.signal.reason, 'ToolCancelled'))
    call.signal.addEventListener('abort', abort, { once: true })
    if (call.signal.aborted) abort()
    try {
      if (!attempt.hasSlot && !await this.#turnOf(attempt, ms)) return missed
      if (stop.signal.aborted) {
        this.#leave(attempt)
        throw stop.signal.reason
      }
      const left = ms === undefined ? undefined : Math.max(1, Math.ceil(ms - (performance.now() - since)))
      const starting = start(stop.signal, left).then((started) => {
        const end = (): void => started.end(BulkheadError.from(stop.signal.reason, 'ToolCancelled'))
        stop.signal.addEventListener('abort', end, { once: true })
        if (stop.signal.aborted) end()
        return started
      })
      // A cancelled command keeps its slot until its processes have ended.
      attempt.over = starting.then(({ gone }) => gone, () => undefined).finally(() => this.#leave(attempt))
      const { result } = await starting
      const settled = await result
      this.#giveSlotBack(attempt)
      return { ...settled } as unknown as JsonObject
    } finally {
      call.signal.removeEventListener('abort', abort)
    }
  }

  endCall(callId: string): void {
    for (const attempt of this.#open.get(callId) ?? []) this.#end(attempt, callOverError())
  }

  async close(): Promise<void> {
    this.#closed = true
    const open = [...this.#open.values()].flatMap((attempts) => [...attempts])
    for (const attempt of open) this.#end(attempt, closedError())
    await Promise.all(open.map(({ over }) => over))
  }

  /** Counted before anything is awaited. */
  #enter(call: OpenCall): Attempt {
    if (this.#closed) throw closedError()
    const attempt = new Attempt(call)
    if (this.#taken < this.#most) this.#begin(attempt)
    else if (this.#waiting.add(call.sessionId, attempt)) attempt.isWaiting = true
    else throw this.#tooMany()
    this.#open.getOrInsertComputed(call.callId, () => new Set()).add(attempt)
    return attempt
  }

  /** Whether it may start. */
  async #turnOf(attempt: Attempt, ms: number | undefined): Promise<boolean> {
    const timer = ms === undefined
      ? undefined : setTimeout(() => this.#stopWaiting(attempt)?.turn.resolve(false), ms)
    try {
      return await attempt.turn.promise
    } finally {
      clearTimeout(timer)
    }
  }

  #begin(attempt: Attempt): void {
    this.#taken++
    attempt.isWaiting = false
    attempt.hasSlot = true
    attempt.turn.resolve(true)
  }

  /** Idempotent. A command that waits never starts. */
  #end(attempt: Attempt, reason: BulkheadError): void {
    attempt.stop.abort(reason)
    this.#stopWaiting(attempt)?.turn.reject(reason)
  }

  /** Returns the attempt if it waited. */
  #stopWaiting(attempt: Attempt): Attempt | undefined {
    if (!attempt.isWaiting) return undefined
    attempt.isWaiting = false
    this.#waiting.remove(attempt.call.sessionId, attempt)
    this.#leave(attempt)
    return attempt
  }

  #leave(attempt: Attempt): void {
    this.#giveSlotBack(attempt)
    const { callId } = attempt.call
    const ofCall = this.#open.get(callId)
    if (ofCall?.delete(attempt) && ofCall.size === 0) this.#open.delete(callId)
  }

  /** Idempotent. */
  #giveSlotBack(attempt: Attempt): void {
    if (!attempt.hasSlot) return
    attempt.hasSlot = false
    this.#taken--
    const next = this.#waiting.next()
    if (next !== undefined) this.#begin(next)
  }

  #tooMany(): BulkheadError {
    return new BulkheadError(
      'TooManyCalls',
      `The extension runs ${this.#most} commands, and ${this.#most * CALL_LIMITS.waitingPerSlot} more of the session wait. `
        + 'Wait until some of them end, or raise concurrentCommands for this extension.',
      { data: { limit: 'concurrentCommands' } },
    )
  }
}

const callOverError = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The command was ended because its call has ended. Await it inside the call.')
const closedError = (): BulkheadError =>
  new BulkheadError('CompartmentKilled', 'The command was ended because its compartment is closed. Call again.')
