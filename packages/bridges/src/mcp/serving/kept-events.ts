import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { MCP_HTTP_LIMITS } from '@bulkhead/contract'
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'
import { HttpFault } from './http-exchange.ts'

export interface EventBounds {
  readonly events: number
  readonly bytes: number
}

const { eventsPerSession, eventBytesPerSession, eventsPerToken, eventBytesPerToken } = MCP_HTTP_LIMITS
const SESSION: EventBounds = { events: eventsPerSession, bytes: eventBytesPerSession }
const CLIENT: EventBounds = { events: eventsPerToken, bytes: eventBytesPerToken }

/** What the sessions of one client keep of their streams. The oldest events leave, whichever session they are of. */
export class ClientEvents {
  readonly #bounds: EventBounds
  readonly #sessions = new Set<SessionEvents>()

  constructor(bounds: EventBounds = CLIENT) {
    this.#bounds = bounds
  }

  get isEmpty(): boolean {
    return this.#sessions.size === 0
  }

  open(bounds?: EventBounds): SessionEvents {
    const session = new SessionEvents(() => this.#trim(), bounds)
    this.#sessions.add(session)
    return session
  }

  end(session: SessionEvents): void {
    this.#sessions.delete(session)
  }

  #trim(): void {
    const sessions = [...this.#sessions]
    while (isOver(this.#bounds, sum(sessions, 'count'), sum(sessions, 'bytes'))) {
      const [oldest] = sessions.toSorted((one, other) => one.oldest - other.oldest)
      oldest?.dropOldest()
    }
  }
}

const isOver = (bounds: EventBounds, count: number, bytes: number): boolean =>
  count > bounds.events || bytes > bounds.bytes
const sum = (sessions: readonly SessionEvents[], what: 'count' | 'bytes'): number =>
  sessions.reduce((total, session) => total + session[what], 0)

interface KeptEvent {
  readonly id: string
  readonly stream: string
  readonly order: number
  readonly text: string
}

/** Orders the events of all sessions. */
let orders = 0

/**
 * The events of the streams of one session. A client that lost a connection names the last event that it got, and gets
 * the later ones of the same stream. An id is of no use in another session.
 */
export class SessionEvents implements EventStore {
  readonly #bounds: EventBounds
  readonly #added: () => void
  readonly #secret: string = randomUUID()
  /** Oldest first. */
  readonly #kept: KeptEvent[] = []
  #bytes = 0
  /** The newest event of a stream that is no longer kept. */
  readonly #lost = new Map<string, number>()
  /** The newest of those whose stream is forgotten too. */
  #forgotten = 0
  #replaying: Promise<void> | undefined

  /** `added` is called after each event. */
  constructor(added: () => void, bounds: EventBounds = SESSION) {
    this.#added = added
    this.#bounds = bounds
  }

  get count(): number {
    return this.#kept.length
  }

  get bytes(): number {
    return this.#bytes
  }

  get oldest(): number {
    return this.#kept[0]?.order ?? Infinity
  }

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    await this.#replaying
    const order = ++orders
    const event: KeptEvent = { id: `${this.#secret}.${stream}.${order}`, stream, order, text: JSON.stringify(message) }
    this.#kept.push(event)
    this.#bytes += Buffer.byteLength(event.text)
    while (isOver(this.#bounds, this.count, this.#bytes)) this.dropOldest()
    this.#added()
    return event.id
  }

  /** Throws HttpFault if not all events after this one are known. */
  check(lastEventId: string): void {
    const { stream, order } = this.#read(lastEventId)
    if (order >= (this.#lost.get(stream) ?? this.#forgotten)) return
    throw new HttpFault(410, 'The events after this Last-Event-ID are no longer kept. Send the request again.')
  }

  async replayEventsAfter(
    lastEventId: string, { send }: { readonly send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const { stream, order } = this.#read(lastEventId)
    // An event that is added meanwhile is sent over the new connection, which the SDK knows after this turn.
    this.#replaying = setImmediate()
    for (const event of this.#kept.filter((one) => one.stream === stream && one.order > order)) {
      await send(event.id, JSON.parse(event.text) as JSONRPCMessage)
    }
    return stream
  }

  dropOldest(): void {
    const event = this.#kept.shift()
    if (!event) return
    this.#bytes -= Buffer.byteLength(event.text)
    this.#lost.delete(event.stream)
    this.#lost.set(event.stream, event.order)
    if (this.#lost.size <= this.#bounds.events) return
    const [stream, order] = this.#lost.entries().next().value!
    this.#lost.delete(stream)
    this.#forgotten = order
  }

  #read(lastEventId: string): Pick<KeptEvent, 'stream' | 'order'> {
    const [secret, stream = '', order] = lastEventId.split('.')
    if (secret === this.#secret && Number(order) > 0) return { stream, order: Number(order) }
    throw new HttpFault(400, 'The Last-Event-ID is not of this session.')
  }
}
