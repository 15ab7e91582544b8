import type { BrokerMethod } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BROKER_METHODS, BulkheadError } from '@bulkhead/contract'
import { publicError, type BrokerMethods } from '@bulkhead/broker'

/** Held for a compartment at once, in characters. One that waits for some of its answers never comes near. */
const MOST_CHARS = 128 * 1024 * 1024
/** Of those that are shorter there cannot be enough at once to matter. */
const SHORT_CHARS = 4_096

type Answer = (callId: unknown, ...args: readonly Json[]) => Promise<Json>

/**
 * The methods of a broker, with a bound on what the host holds of a compartment until it is answered: what is being written, or
 * waits for its turn, or for a person. Those without a power answer at once.
 */
export function boundedRequests(methods: BrokerMethods): BrokerMethods {
  let held = 0
  const bounded = (answer: Answer): Answer => (callId, ...args) => {
    const chars = charsIn(args)
    if (chars <= SHORT_CHARS) return answer(callId, ...args)
    if (held > 0 && held + chars > MOST_CHARS) return Promise.reject(busy())
    held += chars
    return answer(callId, ...args).finally(() => void (held -= chars))
  }
  const names = (Object.keys(methods) as BrokerMethod[]).filter((name) => BROKER_METHODS[name] !== null)
  return Object.assign(Object.create(null) as object, methods,
    Object.fromEntries(names.map((name) => [name, bounded(methods[name])]))) as BrokerMethods
}

/** Contract: of what was parsed under limits, so it is neither deep nor endless. */
function charsIn(value: Json): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  let chars = 1
  for (const member of Array.isArray(value) ? value : Object.values(value)) chars += charsIn(member)
  return chars
}

const busy = (): Error =>
  publicError(new BulkheadError('ResourceBusy', `The compartment waits for answers to requests of ${MOST_CHARS} characters. Wait for some of them.`))
