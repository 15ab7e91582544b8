import type { BrokerMethod } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BROKER_METHODS, BulkheadError } from '@bulkhead/contract'
import { publicError, type BrokerMethods } from '@bulkhead/broker'

/**
 * Characters of open requests that the host holds for one compartment. Code that awaits its replies stays far below.
 */
const MAX_HELD_CHARS = 128 * 1024 * 1024
/** Shorter requests are not counted: there cannot be enough of them at once. */
const SHORT_CHARS = 4_096

/**
 * Methods with long replies, or that wait for a disk whose threads serve all compartments. Each lane has its own queue,
 * so that searches do not hold up reads, nor reads writes.
 */
const LANES: readonly (readonly BrokerMethod[])[] = [
  ['fs.read', 'fs.list', 'fs.stat', 'state.read', 'session.read'],
  ['fs.glob', 'fs.find', 'fs.search'],
  ['fs.write', 'fs.edit', 'fs.apply', 'fs.remove', 'fs.undo'],
]
const RUNNING_PER_LANE = 8
/** What a compartment may leave unread before further replies wait. */
const UNREAD_BYTES = 8 * 1024 * 1024

type Method = (callId: unknown, ...args: readonly Json[]) => Promise<Json>

export interface LimitedRequests {
  readonly methods: BrokerMethods
  /** Called when the compartment has read what it had left. */
  resume(): void
}

/**
 * Bounds what one compartment makes the host hold and do at once. It may send a thousand requests for eight megabytes
 * each: a few of each lane run, the others wait, and the broker checks them when they start.
 */
export function limitRequests(methods: BrokerMethods, queuedBytes: () => number): LimitedRequests {
  const isRead = (): boolean => queuedBytes() <= UNREAD_BYTES
  const lanes = LANES.map((names) => ({ names, lane: new Lane(isRead) }))
  const laneOf = new Map(lanes.flatMap(({ names, lane }) => names.map((name) => [name, lane] as const)))
  const hold = holding()
  const limited = (Object.keys(methods) as BrokerMethod[]).map((name) => {
    const lane = laneOf.get(name)
    const method = lane === undefined ? methods[name] : lane.queued(methods[name])
    // Methods without a runtime part reply at once.
    return [name, BROKER_METHODS[name] === null ? method : hold(method)] as const
  })
  return {
    methods: Object.assign(Object.create(null) as object, Object.fromEntries(limited)) as BrokerMethods,
    resume: () => {
      for (const { lane } of lanes) lane.resume()
    },
  }
}

/** Refuses requests beyond the characters that may be held. Waiting requests count as well. */
function holding(): (method: Method) => Method {
  let held = 0
  return (method) => (callId, ...args) => {
    const chars = charsIn(args)
    if (chars <= SHORT_CHARS) return method(callId, ...args)
    if (held > 0 && held + chars > MAX_HELD_CHARS) return Promise.reject(busy())
    held += chars
    return method(callId, ...args).finally(() => void (held -= chars))
  }
}

/** Contract: the value was parsed under limits, so it is neither deep nor endless. */
function charsIn(value: Json): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  let chars = 1
  for (const member of Array.isArray(value) ? value : Object.values(value)) chars += charsIn(member)
  return chars
}

const busy = (): Error => publicError(new BulkheadError(
  'ResourceBusy', `The compartment has open requests of ${MAX_HELD_CHARS} characters. Wait for some of them.`,
))

class Lane {
  readonly #isRead: () => boolean
  readonly #waiting: (() => void)[] = []
  #free = RUNNING_PER_LANE

  constructor(isRead: () => boolean) {
    this.#isRead = isRead
  }

  resume(): void {
    while (this.#waiting.length > 0 && this.#isOpen) this.#waiting.shift()!()
  }

  queued(method: Method): Method {
    return (callId, ...args) => {
      if (this.#waiting.length === 0 && this.#isOpen) return this.#run(method, callId, args)
      return new Promise((resolve) => this.#waiting.push(() => resolve(this.#run(method, callId, args))))
    }
  }

  get #isOpen(): boolean {
    return this.#free > 0 && this.#isRead()
  }

  #run(method: Method, callId: unknown, args: readonly Json[]): Promise<Json> {
    this.#free--
    const reply = method(callId, ...args)
    reply.then(this.#replied, this.#replied)
    return reply
  }

  /** In a later turn, when the reply was written and counts as unread. */
  readonly #replied = (): void => void setImmediate(this.#release)

  readonly #release = (): void => {
    this.#free++
    this.resume()
  }
}
