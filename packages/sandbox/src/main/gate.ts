import type { Channel, CompartmentLimits, JsonLimits, WireError } from '@bulkhead/contract'
import { BROKER_METHODS, BulkheadError, JSON_LIMITS, WIRE_LIMITS } from '@bulkhead/contract'
import type { Envelope, Inspector } from '../wire/link.ts'
import { parsePacket } from './packet.ts'

const MAX_ARGUMENTS = 8
const WINDOW_MS = 1_000
const methods: ReadonlySet<string> = new Set(Object.keys(BROKER_METHODS))

/**
 * Everything a compartment sends passes here before Comlink sees it, because Comlink walks any path it is given. Two
 * kinds of message exist: a request of one known method with plain arguments, and one answer to each question that is
 * still open. The first thing of any other form is the last the compartment does.
 */
export class Gate implements Inspector {
  readonly #limits: CompartmentLimits
  readonly #json: JsonLimits
  /** Calls of ours the compartment has not answered yet. */
  readonly #questions = new Set<string>()
  /** Requests of the compartment we have not answered yet. */
  readonly #requests = new Set<string>()
  #windowStart = 0
  #windowCount = 0

  constructor(limits: CompartmentLimits) {
    this.#limits = limits
    this.#json = { maxDepth: WIRE_LIMITS.jsonDepth, maxNodes: JSON_LIMITS.maxNodes, maxChars: limits.messageBytes }
  }

  sent(channel: Channel, message: unknown): void {
    const { id } = message as { readonly id: string }
    if (channel === 'call') this.#questions.add(id)
    else this.#requests.delete(id)
  }

  /** Contract: throws BoundaryViolation, and nothing else, for a packet that may not be delivered. */
  received(packet: unknown): readonly Envelope[] {
    if (typeof packet !== 'string') throw violation('posted something that is not a text')
    const parsed = parsePacket(packet, this.#json)
    if (!parsed.ok) throw violation(`sent a packet that ${parsed.why}`)
    if (!Array.isArray(parsed.value)) throw violation('sent a packet that is not a list of messages')
    for (const envelope of parsed.value as unknown[]) this.#admit(envelope)
    return parsed.value as unknown as readonly Envelope[]
  }

  #admit(envelope: unknown): void {
    if (!Array.isArray(envelope) || envelope.length !== 2) throw violation('sent something that is not a message on a channel')
    const [channel, message] = envelope as [unknown, unknown]
    if (!isRecord(message)) throw violation('sent a message that is not an object')
    if (channel === 'call') this.#reply(message)
    else if (channel === 'broker') this.#request(message)
    else throw violation('sent a message on a channel that does not exist')
  }

  #reply(message: Record<string, unknown>): void {
    const id = idOf(message)
    if (!this.#questions.delete(id)) throw violation('answered a question that is not open')
    if (message['type'] === 'RAW') return exactKeys(message, ['id', 'type', 'value'])
    if (message['type'] !== 'HANDLER' || message['name'] !== 'throw') {
      throw violation('sent an answer that is neither a value nor an error')
    }
    exactKeys(message, ['id', 'type', 'name', 'value'])
    const thrown = message['value']
    if (!isRecord(thrown) || thrown['isError'] !== true) throw violation('sent an error that is not of its form')
    exactKeys(thrown, ['isError', 'value'])
    checkError(thrown['value'], 1)
  }

  #request(message: Record<string, unknown>): void {
    this.#countRequest()
    const id = idOf(message)
    if (message['type'] !== 'APPLY') throw violation('sent a request that is not a call of a method')
    exactKeys(message, ['id', 'type', 'path', 'argumentList'])
    const { path, argumentList } = message
    if (!Array.isArray(path) || path.length !== 1 || typeof path[0] !== 'string' || !methods.has(path[0])) {
      throw violation('called something that is not a method of the broker')
    }
    if (!Array.isArray(argumentList) || argumentList.length > MAX_ARGUMENTS) {
      throw violation('sent arguments that are not a short list')
    }
    for (const argument of argumentList as unknown[]) {
      if (!isRecord(argument) || argument['type'] !== 'RAW') throw violation('sent an argument that is not a plain value')
      exactKeys(argument, ['type', 'value'])
    }
    if (this.#requests.has(id)) throw violation('sent two requests of one id')
    this.#requests.add(id)
    if (this.#requests.size > this.#limits.outstandingRequests) {
      throw violation(`has more than ${this.#limits.outstandingRequests} requests open`)
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
      throw violation(`sent more than ${this.#limits.messagesPerSecond} requests in a second`)
    }
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

function idOf(message: Record<string, unknown>): string {
  const id = Object.hasOwn(message, 'id') ? message['id'] : undefined
  if (typeof id !== 'string' || id === '' || id.length > WIRE_LIMITS.idChars) {
    throw violation('sent a message without a proper id')
  }
  return id
}

function exactKeys(value: object, keys: readonly string[]): void {
  const own = Object.keys(value)
  if (own.length !== keys.length || !keys.every((key) => Object.hasOwn(value, key))) {
    throw violation('sent a message with missing or unknown fields')
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const violation = (what: string): BulkheadError =>
  new BulkheadError('BoundaryViolation', `The compartment ${what}. It was killed; do not use this version of the extension.`)
