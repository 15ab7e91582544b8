import type { CallBroker } from '../extension/capabilities.ts'
import { RemoteError } from '../wire/errors.ts'
import type { Channel } from '../wire/link.ts'
import type { CompartmentTerms } from '../wire/protocol.ts'
import { Remote } from '../wire/rpc.ts'

/** Captured before extension code runs, which could replace them. */
const { now } = Date
const later = setTimeout
const { captureStackTrace } = Error

const SECOND_MS = 1_000
/**
 * Shares of the host's limit per second: the steady rate, and the burst. Together they stay below the limit, even when
 * the host reads at once what was sent over a longer time.
 */
const STEADY = 0.8
const BURST = 0.05
const WAIT_MS = 2
/** Longer strings are sent a few at a time: until the host has them, this thread holds each of them once more. */
const LONG_CHARS = 64 * 1024
const LONG_AT_ONCE = 4

/**
 * Calls the broker, in order. The host kills a compartment that has too many requests open, or sends too many in a
 * second, so requests beyond these limits wait here.
 */
export function brokerClient(
  channel: Channel,
  { outstandingRequests, messagesPerSecond }: Pick<CompartmentTerms, 'outstandingRequests' | 'messagesPerSecond'>,
): CallBroker {
  const remote = new Remote(channel)
  const burst = Math.max(1, Math.floor(messagesPerSecond * BURST))
  const rate = new RateLimit(messagesPerSecond * STEADY, burst)
  const waiting: (() => void)[] = []
  let free = Math.min(outstandingRequests, burst)
  let isPaused = false

  const sendNext = (): void => {
    while (waiting.length > 0 && free > 0 && !isPaused) {
      if (rate.take()) {
        free--
        waiting.shift()!()
      } else {
        isPaused = true
        later(resume, WAIT_MS)
      }
    }
  }
  const resume = (): void => {
    isPaused = false
    sendNext()
  }
  const call: CallBroker = async (method, ...args) => {
    if (waiting.length === 0 && free > 0 && rate.take()) free--
    else await new Promise<void>((start) => {
      waiting.push(start)
      sendNext()
    })
    try {
      return await remote.call(method, ...args)
    } catch (error) {
      // The host sends no stack. Here V8 knows the code of the extension that waits.
      if (error instanceof RemoteError) captureStackTrace(error)
      throw error
    } finally {
      free++
      sendNext()
    }
  }
  const limitLong = concurrency(LONG_AT_ONCE)
  return (method, ...args) =>
    method.startsWith('fs.') && args.some(isLong) ? limitLong(() => call(method, ...args)) : call(method, ...args)
}

const isLong = (arg: unknown): boolean => typeof arg === 'string' && arg.length > LONG_CHARS

/** Runs so many at once, the others in order. */
function concurrency(free: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free--
    else await new Promise<void>((start) => void waiting.push(start))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

/** A token bucket. */
class RateLimit {
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #at = now()

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
  }

  /** Takes a token if there is one. */
  take(): boolean {
    const at = now()
    // A clock that was set back adds nothing.
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, at - this.#at) * this.#perSecond / SECOND_MS)
    this.#at = at
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }
}
