import type { Ask } from '../extension/ask.ts'
import type { Conversation } from '../wire/conversation.ts'
import { Remote } from '../wire/remote.ts'
import type { CompartmentTerms } from '../wire/worker-start.ts'
import { Pace } from './rate-limit.ts'

/**
 * Of what the host allows in a second: the steady part, and what may be under way or leave at once. Together they are less
 * than all of it, also when the host reads in one moment what has been on its way for long.
 */
const STEADY = 0.8
const AT_ONCE = 0.05
const WAIT_MS = 2
const later = setTimeout
/** Texts of this length are handed over a few at a time: until the host has them, this thread holds each once more. */
const LONG_CHARS = 64 * 1024
const LONG_AT_ONCE = 4

/**
 * Capability calls to the host, in the order they are made. The host takes a compartment that asks for more at once, or more
 * in a second, for one that floods it: what is too much waits here.
 */
export function brokerClient(
  conversation: Conversation,
  { outstandingRequests, messagesPerSecond }: Pick<CompartmentTerms, 'outstandingRequests' | 'messagesPerSecond'>,
): Ask {
  const remote = new Remote(conversation)
  const atOnce = Math.max(1, Math.floor(messagesPerSecond * AT_ONCE))
  const pace = new Pace(messagesPerSecond * STEADY, atOnce)
  const waiting: (() => void)[] = []
  let free = Math.min(outstandingRequests, atOnce)
  let resting = false

  const goOn = (): void => {
    while (waiting.length > 0 && free > 0 && !resting) {
      if (pace.take()) {
        free--
        waiting.shift()!()
      } else {
        resting = true
        later(rested, WAIT_MS)
      }
    }
  }
  const rested = (): void => {
    resting = false
    goOn()
  }
  const longTurn = turns(LONG_AT_ONCE)
  const ask: Ask = async (method, ...args) => {
    if (waiting.length === 0 && free > 0 && pace.take()) free--
    else await new Promise<void>((takePlace) => {
      waiting.push(takePlace)
      goOn()
    })
    try {
      return await remote.call(method, ...args)
    } finally {
      free++
      goOn()
    }
  }
  return (method, ...args) => method.startsWith('fs.') && args.some(isLong) ? longTurn(() => ask(method, ...args)) : ask(method, ...args)
}

const isLong = (arg: unknown): boolean => typeof arg === 'string' && arg.length > LONG_CHARS

/** So many at once, the others in the order they came. */
function turns(free: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free--
    else await new Promise<void>((takeTurn) => void waiting.push(takeTurn))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}
