import type { CompartmentLimits, WireError } from '@bulkhead/contract'
import type { JsonLimits } from '@bulkhead/kit/json'
import { BROKER_METHODS, BulkheadError, COMPARTMENT_LIMITS, WIRE_LIMITS } from '@bulkhead/contract'
import { JSON_LIMITS } from '@bulkhead/kit/json'
import type { Inspector } from '../wire/link.ts'
import { MAX_TEXTS } from '../wire/long-text.ts'
import type { Message } from '../wire/protocol.ts'
import { KINDS, lengthOf, messagesOf, whole } from '../wire/protocol.ts'
import { Numbered } from '../wire/numbered.ts'
import { tooLarge } from './message-size.ts'
import { parsePacket } from './packet.ts'

const MAX_ARGUMENTS = 8
const WINDOW_MS = 1_000
const methods: ReadonlySet<unknown> = new Set(Object.keys(BROKER_METHODS))

/** All that a compartment can say. */
const ADMITTED: ReadonlySet<unknown> = new Set([KINDS.call.value, KINDS.call.failure, KINDS.broker.request])

/**
 * Everything a compartment sends passes here before anyone acts on it. Two kinds of message exist: a request of one known
 * method with plain arguments, and one answer to each question that is still open. The first thing of any other form is the
 * last the compartment does.
 */
export class Gate implements Inspector {
  readonly #limits: CompartmentLimits
  readonly #json: JsonLimits
  /** Calls of ours the compartment has not answered yet. */
  readonly #questions = new Numbered<true>()
  /** Requests of the compartment we have not answered yet. */
  readonly #requests = new Numbered<true>()
  #windowStart = 0
  #windowCount = 0

  constructor(limits: CompartmentLimits) {
    this.#limits = limits
    this.#json = { maxDepth: WIRE_LIMITS.jsonDepth, maxNodes: JSON_LIMITS.maxNodes, maxChars: limits.messageBytes }
  }

  sent(kind: number, id: number): void {
    if (kind === KINDS.call.request) this.#questions.add(id, true)
    else this.#requests.take(id)
  }

  /** Contract: throws for a packet that may not be delivered, BoundaryViolation or the error of the limit it broke. */
  received(packet: unknown): readonly Message[] {
    if (typeof packet === 'string') return this.#judged(this.#parsed(packet))
    const texts = textsOf(packet, this.#limits).values()
    return this.#judged(filled(this.#parsed(texts.next().value!), texts))
  }

  /** Messages of their form. */
  #parsed(json: string): readonly Message[] {
    if (json.length > this.#limits.messageBytes) throw tooLarge(this.#limits)
    const parsed = parsePacket(json, this.#json)
    if (!parsed.ok) throw violation(`sent a packet that ${parsed.why}`)
    if (!Array.isArray(parsed.value) || parsed.value.length === 0) throw violation('sent a packet that is not a list of messages')
    const messages = messagesOf(parsed.value)
    for (const message of messages) checkForm(message)
    return messages as readonly Message[]
  }

  #judged(messages: readonly Message[]): readonly Message[] {
    for (const message of messages) {
      const [kind, id, third, args] = message
      // Only a packet of several texts can fill holes.
      if (message.length !== lengthOf(kind)) throw violation('sent a message of which a text is missing')
      if (kind === KINDS.broker.request) this.#request(id, third, args)
      else if (!isId(id) || !this.#questions.take(id)) throw violation('answered a question that is not open')
      if (kind === KINDS.call.failure) checkError(third, 1)
    }
    return messages
  }

  #request(id: unknown, method: unknown, args: unknown): void {
    this.#countRequest()
    if (!isId(id)) throw violation('sent a request without a proper id')
    if (!methods.has(method)) throw violation('called something that is not a method of the broker')
    if (!Array.isArray(args) || args.length > MAX_ARGUMENTS) throw violation('sent arguments that are not a short list')
    if (this.#requests.has(id)) throw violation('sent two requests of one id')
    this.#requests.add(id, true)
    if (this.#requests.size > this.#limits.outstandingRequests) {
      throw beyond('outstandingRequests', this.#limits, 'requests open')
    }
  }

  /** Answers are not counted: each is paid for by a question of ours. */
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

/** The texts of a packet of several. A port may have brought anything; holes of a sparse list are not texts either. */
function textsOf(packet: unknown, limits: CompartmentLimits): readonly string[] {
  if (!Array.isArray(packet) || packet.length === 0 || packet.length > 1 + MAX_TEXTS) {
    throw violation('sent something that is not a packet')
  }
  let chars = 0
  const texts: string[] = []
  for (let index = 0; index < packet.length; index++) {
    const text: unknown = packet[index]
    if (typeof text !== 'string' || !text.isWellFormed()) throw violation('sent something that is not a text')
    chars += text.length
    if (chars > limits.messageBytes) throw tooLarge(limits)
    texts.push(text)
  }
  return texts
}

function filled(messages: readonly Message[], texts: Iterator<string>): readonly Message[] {
  try {
    for (const message of messages) whole(message, texts)
  } catch (error) {
    throw violation(`sent a message of which ${(error as RangeError).message}`)
  }
  if (texts.next().done !== true) throw violation('sent a text that belongs nowhere')
  return messages
}

function checkForm(message: unknown): void {
  if (!Array.isArray(message) || !ADMITTED.has(message[0])) {
    throw violation('sent something that is neither a request nor an answer')
  }
  const length = lengthOf(message[0] as number)
  if (message.length === length) return
  const holes: unknown = message[length]
  if (message.length !== length + 1 || !Array.isArray(holes) || holes.length === 0 || !holes.every(Array.isArray)) {
    throw violation('sent a message with missing or unknown fields')
  }
}

const ERROR_FIELDS: Readonly<Record<keyof WireError, 'text' | 'any' | 'error'>> = {
  name: 'text', message: 'text', code: 'text', stack: 'text', data: 'any', cause: 'error',
}
const errorFields: ReadonlyMap<string, 'text' | 'any' | 'error'> = new Map(Object.entries(ERROR_FIELDS))

function checkError(error: unknown, depth: number): void {
  if (!isRecord(error) || depth > WIRE_LIMITS.errorDepth) throw violation('sent an error that is not of its form')
  if (!Object.hasOwn(error, 'name') || !Object.hasOwn(error, 'message')) throw violation('sent an error without name or message')
  for (const [key, value] of Object.entries(error)) {
    const kind = errorFields.get(key)
    if (kind === undefined) throw violation('sent an error with a field that errors do not have')
    if (kind === 'text' && (typeof value !== 'string' || value.length > WIRE_LIMITS.errorTextChars)) {
      throw violation('sent an error whose texts are not short texts')
    }
    if (kind === 'error') checkError(value, depth + 1)
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Who sends in the way of the protocol, but too much of it. */
function beyond(limit: 'messagesPerSecond' | 'outstandingRequests', limits: CompartmentLimits, of: string): BulkheadError {
  const { error } = COMPARTMENT_LIMITS[limit]
  const why = `The compartment had more than ${limits[limit]} ${of}, and was killed. Raise its ${limit} if it needs as many.`
  return new BulkheadError(error, why, { data: { limit } })
}

const violation = (what: string): BulkheadError =>
  new BulkheadError('BoundaryViolation', `The compartment ${what}. It was killed; do not use this version of the extension.`)
