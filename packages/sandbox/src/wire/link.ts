import { Buffer } from 'node:buffer'
import type { Channel } from '@bulkhead/contract'
import type { Endpoint, MessageListener } from './comlink.ts'
import type { Transport } from './transport.ts'

export type Envelope = readonly [channel: Channel, message: unknown]

/** One side's judgement of what crosses. */
export interface Inspector {
  /** The messages of one packet, in order. Contract: throws to refuse all of it, and with it the other side. */
  received(packet: unknown): readonly Envelope[]
  /** Told of every message that goes out, before it does. */
  sent(channel: Channel, message: unknown): void
}

export interface LinkOptions {
  readonly inspector: Inspector
  /** A message larger than this is not sent: who posts it is told, instead of the other side refusing the packet. */
  readonly maxMessageBytes: number
  /** Beyond this the other side is taken for one that does not read any more. */
  readonly maxQueuedBytes: number
  /** Called once: with the reason when this side gave up, without one when the other side is gone. */
  readonly closed: (reason?: unknown) => void
}

/** Packets are cut near this size, so that a big batch does not become a frame the other side refuses. */
const PACKET_CHARS = 256 * 1024
const MAX_BYTES_PER_CHAR = 3

/** Taken now: what runs later in this thread may have put something else in its place. */
const { parse, stringify } = JSON
const soon = queueMicrotask

/** Two Comlink endpoints over one transport. What is posted in one tick leaves in one packet. */
export class Link {
  readonly call: Endpoint
  readonly broker: Endpoint
  readonly #transport: Transport
  readonly #options: LinkOptions
  readonly #listeners: Readonly<Record<Channel, Set<MessageListener>>> = { call: new Set(), broker: new Set() }
  #texts: string[] = []
  #chars = 0
  #flushing = false
  #closed = false

  constructor(transport: Transport, options: LinkOptions) {
    this.#transport = transport
    this.#options = options
    this.call = this.#endpoint('call')
    this.broker = this.#endpoint('broker')
    transport.listen({
      packet: (packet) => this.#receive(packet),
      closed: (error) => this.#close(error),
    })
  }

  /** Idempotent. Nothing is delivered or sent any more; `closed` is not called for it. */
  close(): void {
    this.#closed = true
    this.#texts = []
    this.#transport.close()
  }

  #endpoint(channel: Channel): Endpoint {
    const listeners = this.#listeners[channel]
    return {
      postMessage: (message) => this.#post(channel, message),
      addEventListener: (_type, listener) => void listeners.add(listener),
      removeEventListener: (_type, listener) => void listeners.delete(listener),
    }
  }

  #post(channel: Channel, message: unknown): void {
    if (this.#closed) return
    const text = stringify([channel, message])
    const { maxMessageBytes } = this.#options
    if (text.length * MAX_BYTES_PER_CHAR > maxMessageBytes && Buffer.byteLength(text) > maxMessageBytes) {
      throw new RangeError(`The message is larger than ${maxMessageBytes} bytes.`)
    }
    this.#options.inspector.sent(channel, message)
    if (this.#chars + text.length > PACKET_CHARS) this.#flush()
    this.#texts.push(text)
    this.#chars += text.length
    if (this.#flushing) return
    this.#flushing = true
    soon(() => {
      this.#flushing = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#texts.length === 0 || this.#closed) return
    const packet = `[${this.#texts.join(',')}]`
    this.#texts = []
    this.#chars = 0
    this.#transport.send(packet)
    if (this.#transport.queuedBytes > this.#options.maxQueuedBytes) {
      this.#close(new Error(`The other side left ${this.#transport.queuedBytes} bytes unread.`))
    }
  }

  #receive(packet: unknown): void {
    if (this.#closed) return
    let envelopes: readonly Envelope[]
    try {
      envelopes = this.#options.inspector.received(packet)
    } catch (reason) {
      return this.#close(reason)
    }
    for (const [channel, data] of envelopes) {
      // What one message set off may have ended the conversation.
      if (this.#closed) return
      for (const listener of this.#listeners[channel]) listener({ data })
    }
  }

  #close(reason?: unknown): void {
    if (this.#closed) return
    this.close()
    this.#options.closed(reason)
  }
}

/** The compartment trusts its host: what comes is taken as it is. */
export const TRUSTING: Inspector = {
  received: (packet) => parse(packet as string) as Envelope[],
  sent: () => undefined,
}
