import { Buffer } from 'node:buffer'
import type { Json } from '@bulkhead/kit/json'
import { BusyPoll } from './busy-poll.ts'
import { CodedError } from './errors.ts'
import { hasLongString, KINDS, messagesOf, restore, takeOut, type ChannelKinds } from './message.ts'
import type { Message, Packet, Path, Transport, WireError } from './protocol.ts'

/** Checks what crosses, on one side. */
export interface Inspector {
  /**
   * The messages of one packet, in order, with their long strings. Contract: throws to refuse the packet and end the
   * link.
   */
  received(packet: unknown): readonly Message[]
  /** Called for every message before it is sent. */
  sent(kind: number, id: number): void
}

export interface LinkOptions {
  readonly inspector: Inspector
  /** Posting a larger message throws, so the other side never has to refuse the packet. */
  readonly maxMessageBytes: number
  /** With more queued, the other side counts as one that stopped reading, and the link closes. */
  readonly maxQueuedBytes: number
  /** Whether this side may busy-poll for the next message. Default: true. */
  readonly busyPoll?: boolean
  /** Called when everything queued has left. */
  readonly drained?: () => void
  /** Called once: with the reason when this side gave up, without one when the other side is gone. */
  readonly closed: (reason?: unknown) => void
}

/** What one side of a channel receives: requests, or the replies to its own. */
export type ChannelReceiver = RequestReceiver | ReplyReceiver
interface RequestReceiver {
  request(id: number, method: string, args: readonly Json[]): void
}
interface ReplyReceiver {
  value(id: number, value: Json): void
  error(id: number, error: WireError): void
}

/** Packets are cut near this size: a packet is handled only when all of it has arrived. */
const PACKET_CHARS = 2_000_000
const MAX_BYTES_PER_CHAR = 3
/** With more in one tick, a packet leaves at once: the other side starts on it while this one goes on. */
const MESSAGES_PER_PACKET = 32
/** Overhead of a string in a packet, at most: its length field, or a comma. */
const STRING_OVERHEAD_BYTES = 4
const NO_STRINGS: readonly string[] = []

/** Captured before extension code runs, which could replace them. */
const { parse, stringify } = JSON
const { queueMicrotask } = globalThis

/** One direction of requests, and their replies. */
export class Channel {
  readonly #kinds: ChannelKinds
  readonly #post: (message: Message) => void
  #receiver: Partial<RequestReceiver & ReplyReceiver> = {}

  /** Contract: `post` throws for a message that cannot be sent, and then sends nothing of it. */
  constructor(kinds: ChannelKinds, post: (message: Message) => void) {
    this.#kinds = kinds
    this.#post = post
  }

  /** Called once at most. */
  listen(receiver: ChannelReceiver): void {
    this.#receiver = receiver
  }

  sendRequest(id: number, method: string, args: readonly Json[]): void {
    this.#post([this.#kinds.request, id, method, args])
  }

  sendValue(id: number, value: Json): void {
    this.#post([this.#kinds.value, id, value])
  }

  sendError(id: number, error: WireError): void {
    this.#post([this.#kinds.failure, id, error])
  }

  deliver([kind, id, third, args]: Message): void {
    const { value, failure } = this.#kinds
    if (kind === value) this.#receiver.value?.(id, third as Json)
    else if (kind === failure) this.#receiver.error?.(id, third as WireError)
    else this.#receiver.request?.(id, third as string, args as readonly Json[])
  }
}

/** Two channels over one transport. Messages of one tick leave in one packet. */
export class Link {
  readonly call: Channel
  readonly broker: Channel
  readonly #transport: Transport
  readonly #options: LinkOptions
  readonly #busyPoll: BusyPoll | undefined
  #messages: string[] = []
  #strings: string[] = []
  #chars = 0
  readonly #packetChars: number
  #flushing = false
  #closed = false

  constructor(transport: Transport, options: LinkOptions) {
    this.#transport = transport
    this.#options = options
    if (options.busyPoll !== false) this.#busyPoll = new BusyPoll()
    // Several messages that may each be sent must not add up to a packet that the other side refuses.
    this.#packetChars = Math.min(PACKET_CHARS, Math.floor(options.maxMessageBytes / MAX_BYTES_PER_CHAR))
    const post = (message: Message): void => this.#post(message)
    this.call = new Channel(KINDS.call, post)
    this.broker = new Channel(KINDS.broker, post)
    transport.listen({
      packet: (packet) => this.#receive(packet),
      drained: () => options.drained?.(),
      closed: (error) => this.#close(error),
    })
  }

  /** Idempotent. Nothing is delivered or sent afterwards, and `closed` is not called. */
  close(): void {
    this.#closed = true
    this.#messages = []
    this.#strings = []
    this.#transport.close()
  }

  #post(message: Message): void {
    if (this.#closed) return
    if (!hasLongString(message.at(-1))) return this.#add(message, stringify(message), NO_STRINGS)
    const strings: string[] = []
    const holes: Path[] = []
    const rest = takeOut(message.at(-1), strings, holes)
    if (strings.length === 0) return this.#add(message, stringify(message), NO_STRINGS)
    this.#add(message, stringify([...message.slice(0, -1), rest, holes]), strings)
  }

  #add([kind, id]: Message, json: string, strings: readonly string[]): void {
    let chars = json.length + STRING_OVERHEAD_BYTES
    for (const string of strings) chars += string.length + STRING_OVERHEAD_BYTES
    const { maxMessageBytes, inspector } = this.#options
    if (chars * MAX_BYTES_PER_CHAR > maxMessageBytes && bytesOf([json, ...strings]) > maxMessageBytes) {
      const why = `The message is larger than ${maxMessageBytes} bytes. Send less at once.`
      throw new CodedError('MessageTooLarge', why, { data: { limit: 'messageBytes' } })
    }
    inspector.sent(kind, id)
    if (this.#chars + chars > this.#packetChars) this.#flush()
    this.#messages.push(json)
    for (const string of strings) this.#strings.push(string)
    this.#chars += chars
    if (this.#messages.length >= MESSAGES_PER_PACKET) return this.#flush()
    if (this.#flushing) return
    this.#flushing = true
    queueMicrotask(this.#flushSoon)
  }

  readonly #flushSoon = (): void => {
    this.#flushing = false
    this.#flush()
  }

  #flush(): void {
    if (this.#messages.length === 0 || this.#closed) return
    const isSingle = this.#messages.length === 1
    const json = isSingle ? this.#messages[0]! : `[${this.#messages.join(',')}]`
    const packet: Packet = this.#strings.length === 0 ? json : [json, ...this.#strings]
    this.#messages = []
    this.#strings = []
    this.#chars = 0
    this.#transport.send(packet)
    if (isSingle) this.#busyPoll?.sent()
    if (this.#transport.queuedBytes > this.#options.maxQueuedBytes) {
      this.#close(new Error(`The other side left ${this.#transport.queuedBytes} bytes unread.`))
    }
  }

  #receive(packet: unknown): void {
    if (this.#closed) return
    this.#busyPoll?.received()
    let messages: readonly Message[]
    try {
      messages = this.#options.inspector.received(packet)
    } catch (reason) {
      return this.#close(reason)
    }
    for (const message of messages) {
      // Handling a message can close the link.
      if (this.#closed) return
      const channel = message[0] < KINDS.broker.request ? this.call : this.broker
      channel.deliver(message)
    }
  }

  #close(reason?: unknown): void {
    if (this.#closed) return
    this.close()
    this.#options.closed(reason)
  }
}

const bytesOf = (strings: readonly string[]): number =>
  strings.reduce((sum, string) => sum + Buffer.byteLength(string) + STRING_OVERHEAD_BYTES, 0)

/** The compartment's inspector: it trusts its host. */
export const TRUSTING: Inspector = {
  received(packet) {
    if (typeof packet === 'string') return messagesOf(parse(packet) as unknown[]) as readonly Message[]
    const strings = (packet as readonly string[]).values()
    const messages = messagesOf(parse(strings.next().value!) as unknown[]) as readonly Message[]
    for (const message of messages) restore(message, strings)
    return messages
  },
  sent: () => undefined,
}
