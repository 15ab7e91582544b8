import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { MCP_HTTP_LIMITS } from '@bulkhead/contract'
import type { McpServer } from '@modelcontextprotocol/server'
import { BoundedTransport } from './bounded-transport.ts'
import type { Era } from './client-request.ts'
import { HttpFault } from './http-exchange.ts'
import type { KnownClient } from './http-guard.ts'
import { ClientEvents } from './kept-events.ts'
import { faultResponse } from './plain-calls.ts'
import { MAX_OPEN, notifierOf, ServedClient, type ClientOptions } from './served-client.ts'
import type { ServedHost } from './served-session.ts'
import { listenFault } from './task-extension.ts'

type Sdk = typeof import('@modelcontextprotocol/server')

export interface HttpClientOptions extends ClientOptions {
  /**
   * Maximum number of sessions of one client; four times as many in all. In the older era a client can have several. If
   * all are in use, or have not made a call yet, a new one is refused. Default: 32.
   */
  readonly maxSessions?: number
  /** A client that sends nothing for so long, and waits for nothing, loses its session. Default: 30 minutes. */
  readonly idleMs?: number
}

/** How a client of one era gets its responses. */
interface Line {
  handle(request: Request, body: unknown): Promise<Response>
  close(): Promise<void>
}

/** One client over HTTP: a session of the older era, or all requests of a client in the newer era. */
class HttpClient {
  /** Of the client whose token opened it. */
  readonly key: string
  readonly #served: ServedClient
  readonly #line: Line
  readonly #ended: () => void
  readonly #maxOpen: number
  readonly #idleMs: number
  #open = 0
  #idle: NodeJS.Timeout | undefined
  #lastUsed = performance.now()
  #ending: Promise<void> | undefined

  /** `ended` is called when the client must not get further requests. */
  constructor(key: string, served: ServedClient, line: Line, options: HttpClientOptions, ended: () => void) {
    this.key = key
    this.#served = served
    this.#line = line
    this.#ended = ended
    this.#maxOpen = options.maxOpen ?? MAX_OPEN
    this.#idleMs = options.idleMs ?? IDLE_MS
  }

  /** Whether no request, stream or call is open, and no task of the newer era may still be asked for. */
  get isIdle(): boolean {
    return this.#open === 0 && this.#served.calls.size === 0 && !this.#served.hasTasks
  }

  /** Whether it may lose its session to another client. A client that has not called yet is about to. */
  get isReplaceable(): boolean {
    return this.isIdle && this.#served.calls.hasBegun
  }

  get lastUsed(): number {
    return this.#lastUsed
  }

  /** Serves a request and sends the response. A stream counts as open until it ends. */
  async exchange(request: Request, body: unknown, send: Send): Promise<void> {
    if (this.#ending) throw new HttpFault(404, NO_SESSION)
    if (this.#open >= this.#maxOpen) {
      throw new HttpFault(503, `${this.#maxOpen} requests are open. Wait until some have finished.`)
    }
    this.#open += 1
    clearTimeout(this.#idle)
    try {
      await send(await this.#line.handle(request, body))
    } finally {
      this.#open -= 1
      this.#lastUsed = performance.now()
      this.#endWhenIdle()
    }
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle)
    if (this.#open > 0 || this.#ending) return
    this.#idle = setTimeout(() => {
      if (this.isIdle) void this.end()
      else this.#endWhenIdle()
    }, this.#idleMs).unref()
  }

  /** Cancels its calls and sends their responses, then closes its streams. Never rejects. Idempotent. */
  end(): Promise<void> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle)
    this.#ended()
    await this.#served.end()
    // Lets the responses of the cancelled calls be written first.
    await setImmediate()
    await this.#line.close()
  }
}

/** Sends a response. Resolves when it has ended. */
type Send = (response: Response) => Promise<void>

const IDLE_MS = 30 * 60_000
/** How long a client waits before it connects again. */
const RETRY_MS = 1_000
/** Clients that may have all their sessions at the same time. */
const FULL_CLIENTS = 4
const NO_SESSION = 'There is no session with this id. Start a new one.'

/** All clients of one server. */
export class HttpClients {
  readonly #sdk: Sdk
  readonly #host: ServedHost
  readonly #options: HttpClientOptions
  /** Sessions of the older era, by id. */
  readonly #sessions = new Map<string, HttpClient>()
  /** Clients of the newer era, by key. */
  readonly #modern = new Map<string, Promise<HttpClient>>()
  /** All of both. */
  readonly #live = new Set<HttpClient>()
  /** Those that will be in it. */
  readonly #opening = new Set<Pick<HttpClient, 'key'>>()
  /** What streams of the older era have sent, by the key of the client. */
  readonly #events = new Map<string, ClientEvents>()
  #isOver = false

  constructor(sdk: Sdk, host: ServedHost, options: HttpClientOptions) {
    this.#sdk = sdk
    this.#host = host
    this.#options = options
  }

  /** `body` is undefined except for POST. Throws HttpFault for a request that belongs to no client. */
  async serve(request: Request, body: unknown, client: KnownClient, send: Send): Promise<void> {
    if (!await this.#sdk.isLegacyRequest(request, body)) {
      const modern = await this.#modernOf(client)
      return modern.exchange(request, body, send)
    }
    const id = request.headers.get('mcp-session-id')
    if (id === null) return this.#begin(request, body, client, send)
    const session = this.#sessions.get(id)
    if (session?.key !== client.key) throw new HttpFault(404, NO_SESSION)
    return session.exchange(request, body, send)
  }

  /** Ends the sessions of one client, or of all. Those that are being opened end too. */
  async end(key?: string): Promise<void> {
    this.#isOver ||= key === undefined
    const opening = [...this.#modern].filter(([one]) => key === undefined || one === key).map(([, client]) => client)
    await Promise.allSettled(opening)
    await Promise.all([...this.#live].filter((one) => key === undefined || one.key === key).map((one) => one.end()))
  }

  #modernOf(client: KnownClient): Promise<HttpClient> {
    const known = this.#modern.get(client.key)
    if (known) return known
    const opened = this.#open(client, 'modern', (served) => this.#openModern(client.key, served))
    this.#modern.set(client.key, opened)
    opened.catch(() => this.#modern.delete(client.key))
    return opened
  }

  /** Opens a session when there is room for it. */
  async #open<Opened>(
    client: KnownClient, era: Era, use: (served: ServedClient) => Opened | Promise<Opened>,
  ): Promise<Opened> {
    const leaving = this.#makeRoom(client.key)
    const opening = { key: client.key }
    this.#opening.add(opening)
    try {
      await leaving?.end()
      const served = await ServedClient.open(this.#host, this.#options, () => era, client)
      if (!this.#isOver && !client.revoked?.aborted) return await use(served)
      await served.end()
      throw new HttpFault(404, NO_SESSION)
    } finally {
      this.#opening.delete(opening)
    }
  }

  #openModern(key: string, served: ServedClient): HttpClient {
    const { maxOpen = MAX_OPEN, onFault } = this.#options
    const handler = this.#sdk.createMcpHandler(() => this.#withHeaders(served), {
      legacy: 'reject', maxSubscriptions: maxOpen, ...(onFault ? { onerror: onFault } : {}),
    })
    served.notify = handler.notify
    served.watchTools()
    const line: Line = {
      handle: async (request, parsedBody) => {
        const message = this.#sdk.isJSONRPCRequest(parsedBody) ? parsedBody : undefined
        const fault = message && listenFault(message)
        return fault
          ? Response.json(faultResponse(message.id, fault), { status: 400 })
          : handler.fetch(request, { parsedBody })
      },
      close: () => handler.close(),
    }
    const client = new HttpClient(key, served, line, this.#options, () => {
      this.#live.delete(client)
      this.#modern.delete(key)
    })
    this.#live.add(client)
    return client
  }

  /** The SDK compares headers with arguments (`x-mcp-header`) only for its own class, by the schema that it gives. */
  #withHeaders(served: ServedClient): McpServer {
    const toolInputSchemaJson = (tool: string) => served.inputSchema(tool)
    const server = served.server('modern')
    return Object.assign(new this.#sdk.McpServer(this.#options.info), { server, toolInputSchemaJson })
  }

  /** Only an `initialize` request starts a session. */
  async #begin(request: Request, body: unknown, known: KnownClient, send: Send): Promise<void> {
    if (request.method !== 'POST') throw new HttpFault(405, 'Send requests with POST.')
    if (!this.#sdk.isInitializeRequest(body)) {
      throw new HttpFault(400, 'The header Mcp-Session-Id is missing. Send "initialize" first.')
    }
    const { client, transport } = await this.#open(known, 'legacy', (served) => this.#openLegacy(known.key, served))
    await client.exchange(request, body, (response) => {
      if (transport.sessionId !== undefined) this.#sessions.set(transport.sessionId, client)
      return send(response)
    })
    if (transport.sessionId === undefined) await client.end()
  }

  async #openLegacy(key: string, served: ServedClient) {
    const { maxOpen = MAX_OPEN, onFault } = this.#options
    const { events, forget } = this.#eventsOf(key)
    const transport = new this.#sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: events, retryInterval: RETRY_MS,
    })
    const server = served.server('legacy')
    Object.assign(server, { onerror: onFault })
    served.notify = notifierOf(server, onFault)
    const line: Line = {
      async handle(request, parsedBody) {
        const last = request.method === 'GET' ? request.headers.get('last-event-id') : null
        if (last !== null) events.check(last)
        return transport.handleRequest(request, { parsedBody })
      },
      close: () => transport.close(),
    }
    const client = new HttpClient(key, served, line, this.#options, () => {
      this.#live.delete(client)
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
      forget()
    })
    this.#live.add(client)
    // A DELETE request closes the transport.
    await server.connect(new BoundedTransport(transport, { maxOpen, closed: () => void client.end() }))
    return { client, transport }
  }

  /** What a session keeps of its streams. */
  #eventsOf(key: string) {
    const client = this.#events.getOrInsertComputed(key, () => new ClientEvents())
    const events = client.open()
    const forget = (): void => {
      client.end(events)
      if (client.isEmpty) this.#events.delete(key)
    }
    return { events, forget }
  }

  /** The session that was idle for longest, if its place is needed: clients often leave without a word. */
  #makeRoom(key: string): HttpClient | undefined {
    const { maxSessions = MCP_HTTP_LIMITS.sessionsPerToken } = this.#options
    const all = [...this.#live, ...this.#opening]
    const isFull = all.filter((one) => one.key === key).length >= maxSessions
    if (!isFull && all.length < maxSessions * FULL_CLIENTS) return undefined
    const [oldest] = [...this.#live].filter((one) => one.isReplaceable && (!isFull || one.key === key))
      .toSorted((one, other) => one.lastUsed - other.lastUsed)
    if (!oldest) throw new HttpFault(503, `${maxSessions} sessions are in use. Wait until one has ended.`)
    return oldest
  }
}
