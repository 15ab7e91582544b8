import { Buffer } from 'node:buffer'
import { Conversation } from './conversation.ts'
import type { Path } from './long-text.ts'
import { holdsLongText, takeOut } from './long-text.ts'
import type { Message } from './protocol.ts'
import { KINDS, messagesOf, whole } from './protocol.ts'
import { CodedError } from './remote-error.ts'
import type { Packet, Transport } from './transport.ts'
import { Vigil } from './busy-poll.ts'

/** One side's judgement of what crosses. */
export interface Inspector {
  /** The messages of one packet, in order and without holes. Contract: throws to refuse all of it, and with it the other side. */
  received(packet: unknown): readonly Message[]
  /** Told of every message that goes out, before it does. */
  sent(kind: number, id: number): void
}

export interface LinkOptions {
  readonly inspector: Inspector
  /** A message larger than this is not sent: who posts it is told, instead of the other side refusing the packet. */
  readonly maxMessageBytes: number
  /** Beyond this the other side is taken for one that does not read any more. */
  readonly maxQueuedBytes: number
  /** Whether it may stay awake for the next word of a conversation in full swing; unless it is false. */
  readonly staysAwake?: boolean
  /** Called when the other side has read what it had left. */
  readonly drained?: () => void
  /** Called once: with the reason when this side gave up, without one when the other side is gone. */
  readonly closed: (reason?: unknown) => void
}

/** Packets are cut near this size: what comes in one packet is worked on only when all of it is there. */
const PACKET_CHARS = 2_000_000
const MAX_BYTES_PER_CHAR = 3
/** More do not wait for each other: the other side begins with these while this one goes on with the next. */
const MOST_AT_ONCE = 32
/** What a text costs in a packet beside itself, at most: a length of its own, or a comma. */
const BESIDE_BYTES = 4
const NO_TEXTS: readonly string[] = []

/** Taken now: what runs later in this thread may have put something else in its place. */
const { parse, stringify } = JSON
const { then } = Promise.prototype
const now = Promise.resolve()

/** Two conversations over one transport. What is posted in one tick leaves in one packet. */
export class Link {
  readonly call: Conversation
  readonly broker: Conversation
  readonly #transport: Transport
  readonly #options: LinkOptions
  readonly #vigil: Vigil | undefined
  #messages: string[] = []
  #texts: string[] = []
  #chars = 0
  readonly #packetChars: number
  #flushing = false
  #closed = false

  constructor(transport: Transport, options: LinkOptions) {
    this.#transport = transport
    this.#options = options
    if (options.staysAwake !== false) this.#vigil = new Vigil()
    // Several messages, each of which may be sent, must not become a packet that the other side refuses.
    this.#packetChars = Math.min(PACKET_CHARS, Math.floor(options.maxMessageBytes / MAX_BYTES_PER_CHAR))
    const post = (message: Message): void => this.#post(message)
    this.call = new Conversation(KINDS.call, post)
    this.broker = new Conversation(KINDS.broker, post)
    transport.listen({
      packet: (packet) => this.#receive(packet),
      drained: () => options.drained?.(),
      closed: (error) => this.#close(error),
    })
  }

  /** Idempotent. Nothing is delivered or sent any more; `closed` is not called for it. */
  close(): void {
    this.#closed = true
    this.#messages = []
    this.#texts = []
    this.#transport.close()
  }

  #post(message: Message): void {
    if (this.#closed) return
    if (!holdsLongText(message.at(-1))) return this.#add(message, stringify(message), NO_TEXTS)
    const texts: string[] = []
    const holes: Path[] = []
    const rest = takeOut(message.at(-1), texts, holes)
    if (texts.length === 0) return this.#add(message, stringify(message), NO_TEXTS)
    const [kind, id, method] = message
    this.#add(message, stringify(message.length === 3 ? [kind, id, rest, holes] : [kind, id, method, rest, holes]), texts)
  }

  #add([kind, id]: Message, json: string, texts: readonly string[]): void {
    let chars = json.length + BESIDE_BYTES
    for (const text of texts) chars += text.length + BESIDE_BYTES
    const { maxMessageBytes, inspector } = this.#options
    if (chars * MAX_BYTES_PER_CHAR > maxMessageBytes && bytesOf([json, ...texts]) > maxMessageBytes) {
      const why = `The message is larger than ${maxMessageBytes} bytes. Send less at once.`
      throw new CodedError('MessageTooLarge', why, { data: { limit: 'messageBytes' } })
    }
    inspector.sent(kind, id)
    if (this.#chars + chars > this.#packetChars) this.#flush()
    this.#messages.push(json)
    for (const text of texts) this.#texts.push(text)
    this.#chars += chars
    if (this.#messages.length >= MOST_AT_ONCE) return this.#flush()
    if (this.#flushing) return
    this.#flushing = true
    // As queueMicrotask does, without a resource made for each.
    void then.call(now, this.#flushSoon)
  }

  readonly #flushSoon = (): void => {
    this.#flushing = false
    this.#flush()
  }

  #flush(): void {
    if (this.#messages.length === 0 || this.#closed) return
    const isSingle = this.#messages.length === 1
    const json = isSingle ? this.#messages[0]! : `[${this.#messages.join(',')}]`
    const packet: Packet = this.#texts.length === 0 ? json : [json, ...this.#texts]
    this.#messages = []
    this.#texts = []
    this.#chars = 0
    this.#transport.send(packet)
    if (isSingle) this.#vigil?.said()
    if (this.#transport.queuedBytes > this.#options.maxQueuedBytes) {
      this.#close(new Error(`The other side left ${this.#transport.queuedBytes} bytes unread.`))
    }
  }

  #receive(packet: unknown): void {
    if (this.#closed) return
    this.#vigil?.heard()
    let messages: readonly Message[]
    try {
      messages = this.#options.inspector.received(packet)
    } catch (reason) {
      return this.#close(reason)
    }
    for (const message of messages) {
      // What one message set off may have ended the conversation.
      if (this.#closed) return
      const conversation = message[0] < KINDS.broker.request ? this.call : this.broker
      conversation.deliver(message)
    }
  }

  #close(reason?: unknown): void {
    if (this.#closed) return
    this.close()
    this.#options.closed(reason)
  }
}

const bytesOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text) + BESIDE_BYTES, 0)

/** The compartment trusts its host: what comes is taken as it is. */
export const TRUSTING: Inspector = {
  received(packet) {
    if (typeof packet === 'string') return messagesOf(parse(packet) as unknown[]) as readonly Message[]
    const following = (packet as readonly string[]).values()
    const messages = messagesOf(parse(following.next().value!) as unknown[]) as readonly Message[]
    for (const message of messages) whole(message, following)
    return messages
  },
  sent: () => undefined,
}
