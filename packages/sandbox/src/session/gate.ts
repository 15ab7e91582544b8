import type { CompartmentLimits } from '@bulkhead/contract'
import type { JsonLimits } from '@bulkhead/kit/json'
import { BROKER_METHODS, BulkheadError, COMPARTMENT_LIMITS } from '@bulkhead/contract'
import { JSON_LIMITS } from '@bulkhead/kit/json'
import type { Inspector } from '../wire/link.ts'
import { KINDS, lengthOf, MAX_LONG_STRINGS, messagesOf, restore, WIRE_LIMITS } from '../wire/message.ts'
import type { Message, WireError } from '../wire/protocol.ts'
import { packetTooLarge } from './errors.ts'
import { parsePacket } from './packet.ts'

const MAX_ARGUMENTS = 8
const WINDOW_MS = 1_000
const methods: ReadonlySet<unknown> = new Set(Object.keys(BROKER_METHODS))

/** The kinds of message that a compartment may send. */
const ADMITTED: ReadonlySet<unknown> = new Set([KINDS.call.value, KINDS.call.failure, KINDS.broker.request])

/**
 * Checks everything a compartment sends before any other code sees it. A compartment may send requests of known methods
 * with plain arguments, and one reply to each open request. The first message of any other form ends it.
 */
export class Gate implements Inspector {
  readonly #limits: CompartmentLimits
  readonly #json: JsonLimits
  /** Ids of the host's requests without a reply. */
  readonly #calls = new Set<number>()
  /** Ids of the compartment's requests without a reply. */
  readonly #requests = new Set<number>()
  #windowStart = 0
  #windowCount = 0

  constructor(limits: CompartmentLimits) {
    this.#limits = limits
    this.#json = { maxDepth: WIRE_LIMITS.jsonDepth, maxNodes: JSON_LIMITS.maxNodes, maxChars: limits.messageBytes }
  }

  sent(kind: number, id: number): void {
    if (kind === KINDS.call.request) this.#calls.add(id)
    else this.#requests.delete(id)
  }

  /** Contract: throws BoundaryViolation, or the error of the limit it broke, for a packet that may not be delivered. */
  received(packet: unknown): readonly Message[] {
    if (typeof packet === 'string') return this.#checked(this.#parsed(packet))
    const strings = stringsOf(packet, this.#limits).values()
    return this.#checked(restored(this.#parsed(strings.next().value!), strings))
  }

  #parsed(json: string): readonly Message[] {
    if (json.length > this.#limits.messageBytes) throw packetTooLarge(this.#limits)
    const parsed = parsePacket(json, this.#json)
    if (!parsed.ok) throw violation(`sent a packet that ${parsed.why}`)
    if (!Array.isArray(parsed.value) || parsed.value.length === 0) {
      throw violation('sent a packet that is not a list of messages')
    }
    const messages = messagesOf(parsed.value)
    for (const message of messages) checkForm(message)
    return messages as readonly Message[]
  }

  #checked(messages: readonly Message[]): readonly Message[] {
    for (const message of messages) {
      const [kind, id, third, args] = message
      // Only a packet of several strings can fill holes.
      if (message.length !== lengthOf(kind)) throw violation('sent a message without its long strings')
      if (kind === KINDS.broker.request) this.#request(id, third, args)
      else if (!isId(id) || !this.#calls.delete(id)) throw violation('replied to a request that is not open')
      if (kind === KINDS.call.failure) checkError(third, 1)
    }
    return messages
  }

  #request(id: unknown, method: unknown, args: unknown): void {
    this.#countRequest()
    if (!isId(id)) throw violation('sent a request without a valid id')
    if (!methods.has(method)) throw violation('called an unknown method of the broker')
    if (!Array.isArray(args) || args.length > MAX_ARGUMENTS) throw violation('sent arguments that are not a short list')
    if (this.#requests.has(id)) throw violation('sent two requests with one id')
    this.#requests.add(id)
    if (this.#requests.size > this.#limits.outstandingRequests) {
      throw beyond('outstandingRequests', this.#limits, 'requests open')
    }
  }

  /** Replies are not counted: the host's requests bound them. */
  #countRequest(): void {
    const now = performance.now()
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now
      this.#windowCount = 0
    }
    if (++this.#windowCount > this.#limits.messagesPerSecond) {
      throw beyond('messagesPerSecond', this.#limits, 'requests in a second')
    }
  }
}

const isId = (id: unknown): id is number => Number.isSafeInteger(id) && (id as number) >= 0

/** A port can deliver any value; holes of a sparse array are not strings either. */
function stringsOf(packet: unknown, limits: CompartmentLimits): readonly string[] {
  if (!Array.isArray(packet) || packet.length === 0 || packet.length > 1 + MAX_LONG_STRINGS) {
    throw violation('sent a value that is not a packet')
  }
  let chars = 0
  const strings: string[] = []
  for (let index = 0; index < packet.length; index++) {
    const string: unknown = packet[index]
    if (typeof string !== 'string' || !string.isWellFormed()) {
      throw violation('sent a value that is not a well-formed string')
    }
    chars += string.length
    if (chars > limits.messageBytes) throw packetTooLarge(limits)
    strings.push(string)
  }
  return strings
}

function restored(messages: readonly Message[], strings: Iterator<string>): readonly Message[] {
  try {
    for (const message of messages) restore(message, strings)
  } catch (error) {
    throw violation(`sent a message in which ${(error as RangeError).message}`)
  }
  if (strings.next().done !== true) throw violation('sent a long string that belongs to no message')
  return messages
}

function checkForm(message: unknown): void {
  if (!Array.isArray(message) || !ADMITTED.has(message[0])) {
    throw violation('sent a message that is neither a request nor a reply')
  }
  const length = lengthOf(message[0] as number)
  if (message.length === length) return
  const holes: unknown = message[length]
  if (message.length !== length + 1 || !Array.isArray(holes) || holes.length === 0 || !holes.every(Array.isArray)) {
    throw violation('sent a message with missing or unknown fields')
  }
}

const ERROR_FIELDS: Readonly<Record<keyof WireError, 'string' | 'any' | 'error'>> = {
  name: 'string', message: 'string', code: 'string', stack: 'string', data: 'any', cause: 'error',
}
const errorFields: ReadonlyMap<string, 'string' | 'any' | 'error'> = new Map(Object.entries(ERROR_FIELDS))

function checkError(error: unknown, depth: number): void {
  if (!isRecord(error) || depth > WIRE_LIMITS.errorDepth) throw violation('sent a malformed error')
  if (!Object.hasOwn(error, 'name') || !Object.hasOwn(error, 'message')) {
    throw violation('sent an error without name or message')
  }
  for (const [key, value] of Object.entries(error)) {
    const kind = errorFields.get(key)
    if (kind === undefined) throw violation('sent an error with an unknown field')
    if (kind === 'string' && (typeof value !== 'string' || value.length > WIRE_LIMITS.errorChars)) {
      throw violation('sent an error with a field that is not a short string')
    }
    if (kind === 'error') checkError(value, depth + 1)
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** For valid messages, but too many of them. */
function beyond(
  limit: 'messagesPerSecond' | 'outstandingRequests', limits: CompartmentLimits, of: string,
): BulkheadError {
  const { error } = COMPARTMENT_LIMITS[limit]
  const why = `The compartment had more than ${limits[limit]} ${of}, and was killed. `
    + `Raise its ${limit} if it needs as many.`
  return new BulkheadError(error, why, { data: { limit } })
}

const violation = (what: string): BulkheadError => new BulkheadError(
  'BoundaryViolation', `The compartment ${what}. It was killed; do not use this version of the extension.`,
)
