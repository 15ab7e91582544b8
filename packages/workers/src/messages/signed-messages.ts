import { setTimeout as pause } from 'node:timers/promises'
import { BulkheadError, WORKER_LIMITS } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonLimits } from '@bulkhead/kit/json'
import { isSignedBy, type MachineKey } from '../keys/machine-key.ts'
import { digestOf } from '../ticket/ticket.ts'

/** One side of a call on a worker. What it signs counts for one attempt of one call, in one direction. */
export interface Channel {
  readonly id: string
  readonly epoch: number
  /** The signed ticket. */
  readonly ticket: string
}

export type Direction = 'to caller' | 'to worker' | 'result'

export const purposeOf = ({ id, epoch, ticket }: Channel, direction: Direction): string =>
  `bulkhead call 1\0${direction}\0${id}\0${epoch}\0${digestOf(ticket)}`

const MESSAGE: JsonLimits = { maxDepth: 68, maxNodes: 250_000, maxChars: 1024 * 1024 }
/** Entries that wait are sent together, up to this length. A longer one is sent alone. */
const TOGETHER_CHARS = 128 * 1024
/** The store takes 1 MB. The rest is for the envelope and escapes. */
const MOST_BYTES = WORKER_LIMITS.messageBytes

/** A message that could not be sent is sent again after this time. */
const AGAIN_MS = 100

export interface OutboxSources {
  readonly channel: Channel
  readonly direction: Direction
  readonly key: MachineKey
  readonly send: (message: Json) => Promise<void>
  /** Aborted when the call is over: what waits is not sent any more. */
  readonly signal: AbortSignal
}

/**
 * Sends entries in order, several in one signed message while an earlier one is under way. A message that could not be
 * sent is sent again: the other side would wait for it. It may arrive twice, and counts once.
 */
export class Outbox {
  readonly #sources: OutboxSources
  #waiting: string[] = []
  #count = 0
  #sending: Promise<void> | undefined

  constructor(sources: OutboxSources) {
    this.#sources = sources
  }

  /** Throws MessageTooLarge. */
  add(entry: Json): void {
    const text = JSON.stringify(entry)
    const bytes = Buffer.byteLength(text)
    if (bytes > MOST_BYTES) {
      const message = `A message between a caller and a worker has ${bytes} bytes; ${MOST_BYTES} are allowed.`
      throw new BulkheadError('MessageTooLarge', message)
    }
    this.#waiting.push(text)
    this.#sending ??= this.#sendAll().finally(() => { this.#sending = undefined })
  }

  /** Resolves when everything so far is sent, or the call is over. Never rejects. */
  async sent(): Promise<void> {
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    // What is added in this tick goes together.
    await Promise.resolve()
    const { channel, direction, key, signal } = this.#sources
    while (this.#waiting.length > 0 && !signal.aborted) {
      let chars = 0
      const fitting = this.#waiting.findIndex((text, index) => (chars += text.length) > TOGETHER_CHARS && index > 0)
      const entries = this.#waiting.splice(0, fitting < 0 ? this.#waiting.length : fitting)
      const text = `[${++this.#count},${entries.join(',')}]`
      const signature = key.sign(purposeOf(channel, direction), Buffer.from(text)).toString('base64url')
      await this.#insist({ by: key.publicKey, signature, text })
    }
  }

  async #insist(message: Json): Promise<void> {
    const { send, signal } = this.#sources
    while (!signal.aborted) {
      try {
        return await send(message)
      } catch (thrown) {
        if (!BulkheadError.is(thrown) || thrown.code !== 'StoreUnavailable') return
        await pause(AGAIN_MS, undefined, { ref: false })
      }
    }
  }
}

/** Reads the messages of the other side. The first one that it cannot have sent ends the call. */
export class Inbox {
  readonly #channel: Channel
  readonly #direction: Direction
  readonly #isTrusted: (key: string) => boolean
  #count = 0
  /** The key of the first message. Others must have the same. */
  #by: string | undefined

  constructor(channel: Channel, direction: Direction, isTrusted: (key: string) => boolean) {
    this.#channel = channel
    this.#direction = direction
    this.#isTrusted = isTrusted
  }

  /** Throws BoundaryViolation. */
  read(message: Json): readonly Json[] {
    const { by, signature, text } = isJsonObject(message) ? message : {}
    if (typeof by !== 'string' || typeof signature !== 'string' || typeof text !== 'string') {
      throw violation('sent a message that is not understood')
    }
    this.requireTrust(by)
    const bytes = Buffer.from(text)
    if (!isSignedBy(by, purposeOf(this.#channel, this.#direction), bytes, Buffer.from(signature, 'base64url'))) {
      throw violation('sent a message with a wrong signature')
    }
    const parsed = parseJson(text, MESSAGE)
    if (!parsed.ok || !Array.isArray(parsed.value)) throw violation('sent a message that is not a list')
    const [count, ...entries] = parsed.value as readonly Json[]
    if (!Number.isSafeInteger(count) || count as number > this.#count + 1) throw violation('sent messages out of order')
    // It was sent again, because its sender did not know that it had arrived.
    if (count as number <= this.#count) return []
    this.#count++
    return entries
  }

  /** Throws BoundaryViolation if the key is not trusted, or is another one than before. */
  requireTrust(key: string): void {
    if (!this.#isTrusted(key)) throw distrusted(key)
    this.#by ??= key
    if (this.#by !== key) throw violation('signs with two keys')
  }
}

const distrusted = (key: string): BulkheadError => new BulkheadError('BoundaryViolation',
  'The call was ended: the other side signs with a key that this machine does not trust. If it is a worker of yours, run: '
    + `bulkhead worker trust worker NAME ${key}`)

export const violation = (what: string): BulkheadError =>
  new BulkheadError('BoundaryViolation', `The other side of a call on a worker ${what}. The call was ended.`)
