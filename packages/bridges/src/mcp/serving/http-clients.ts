import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { MCP_HTTP_LIMITS } from '@bulkhead/contract'
import type { McpServer } from '@modelcontextprotocol/server'
import { BoundedTransport } from './bounded-transport.ts'
import { HttpFault } from './http-exchange.ts'
import { MAX_OPEN, notifierOf, ServedClient, type ClientOptions } from './served-client.ts'
import type { ServedHost } from './served-session.ts'

type Sdk = typeof import('@modelcontextprotocol/server')

export interface HttpClientOptions extends ClientOptions {
  /**
   * Maximum number of sessions of the older era with one token. If all are in use, or have not made a call yet, a new
   * one is refused. Default: 32.
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

/** One client over HTTP: a session of the older era, or all requests with one token in the newer era. */
class HttpClient {
  readonly token: number
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
  constructor(token: number, served: ServedClient, line: Line, options: HttpClientOptions, ended: () => void) {
    this.token = token
    this.#served = served
    this.#line = line
    this.#ended = ended
    this.#maxOpen = options.maxOpen ?? MAX_OPEN
    this.#idleMs = options.idleMs ?? IDLE_MS
  }

  /** Whether no request, stream or call is open. */
  get isIdle(): boolean {
    return this.#open === 0 && this.#served.calls.size === 0
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

/** All clients of one server. */
export class HttpClients {
  readonly #sdk: Sdk
  readonly #host: ServedHost
  readonly #options: HttpClientOptions
  /** Sessions of the older era, by id. */
  readonly #sessions = new Map<string, HttpClient>()
  /** The same clients, and those that have no id yet. */
  readonly #live = new Set<HttpClient>()
  /** Clients of the newer era, by token. */
  readonly #byToken = new Map<number, Promise<HttpClient>>()
  /** The tokens of sessions that are being opened. */
  readonly #opening = new Set<{ readonly token: number }>()

  constructor(sdk: Sdk, host: ServedHost, options: HttpClientOptions) {
    this.#sdk = sdk
    this.#host = host
    this.#options = options
  }

  /** `body` is undefined except for POST. Throws HttpFault for a request that belongs to no client. */
  async serve(request: Request, body: unknown, token: number, send: Send): Promise<void> {
    if (!await this.#sdk.isLegacyRequest(request, body)) {
      const client = await this.#clientOf(token)
      return client.exchange(request, body, send)
    }
    const id = request.headers.get('mcp-session-id')
    if (id === null) return this.#begin(request, body, token, send)
    const session = this.#sessions.get(id)
    if (session?.token !== token) throw new HttpFault(404, 'There is no session with this id. Start a new one.')
    return session.exchange(request, body, send)
  }

  async end(): Promise<void> {
    const byToken = await Promise.all([...this.#byToken.values()].map((client) => client.catch(() => undefined)))
    await Promise.all([...this.#live, ...byToken].map((client) => client?.end()))
  }

  #clientOf(token: number): Promise<HttpClient> {
    const known = this.#byToken.get(token)
    if (known) return known
    const client = this.#openForToken(token)
    this.#byToken.set(token, client)
    client.catch(() => this.#byToken.delete(token))
    return client
  }

  async #openForToken(token: number): Promise<HttpClient> {
    const { maxOpen = MAX_OPEN, onFault } = this.#options
    const served = await ServedClient.open(this.#host, this.#options, () => 'modern')
    const handler = this.#sdk.createMcpHandler(() => this.#withHeaders(served), {
      legacy: 'reject', maxSubscriptions: maxOpen, ...(onFault ? { onerror: onFault } : {}),
    })
    served.notify = handler.notify
    served.watchTools()
    const line: Line = {
      handle: (request, parsedBody) => handler.fetch(request, { parsedBody }), close: () => handler.close(),
    }
    return new HttpClient(token, served, line, this.#options, () => this.#byToken.delete(token))
  }

  /** The SDK compares headers with arguments (`x-mcp-header`) only for its own class, by the schema that it gives. */
  #withHeaders(served: ServedClient): McpServer {
    const toolInputSchemaJson = (tool: string) => served.inputSchema(tool)
    const server = served.server('modern')
    return Object.assign(new this.#sdk.McpServer(this.#options.info), { server, toolInputSchemaJson })
  }

  /** Only an `initialize` request starts a session. */
  async #begin(request: Request, body: unknown, token: number, send: Send): Promise<void> {
    if (request.method !== 'POST') throw new HttpFault(405, 'Send requests with POST.')
    if (!this.#sdk.isInitializeRequest(body)) {
      throw new HttpFault(400, 'The header Mcp-Session-Id is missing. Send "initialize" first.')
    }
    const leaving = this.#makeRoom(token)
    const opening = { token }
    this.#opening.add(opening)
    const { client, transport } = await this.#openSession(token, leaving).finally(() => this.#opening.delete(opening))
    await client.exchange(request, body, (response) => {
      if (transport.sessionId !== undefined) this.#sessions.set(transport.sessionId, client)
      return send(response)
    })
    if (transport.sessionId === undefined) await client.end()
  }

  async #openSession(token: number, leaving: HttpClient | undefined) {
    const { maxOpen = MAX_OPEN, onFault } = this.#options
    await leaving?.end()
    const served = await ServedClient.open(this.#host, this.#options, () => 'legacy')
    const transport = new this.#sdk.WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID })
    const server = served.server('legacy')
    Object.assign(server, { onerror: onFault })
    served.notify = notifierOf(server, onFault)
    const line: Line = {
      handle: (request, parsedBody) => transport.handleRequest(request, { parsedBody }), close: () => transport.close(),
    }
    const client = new HttpClient(token, served, line, this.#options, () => {
      this.#live.delete(client)
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
    })
    this.#live.add(client)
    // A DELETE request closes the transport.
    await server.connect(new BoundedTransport(transport, { maxOpen, closed: () => void client.end() }))
    return { client, transport }
  }

  /** The session that was idle for longest, if its place is needed: clients often leave without a word. */
  #makeRoom(token: number): HttpClient | undefined {
    const { maxSessions = MCP_HTTP_LIMITS.sessionsPerToken } = this.#options
    const isOwn = (one: { readonly token: number }): boolean => one.token === token
    const own = [...this.#live].filter(isOwn)
    if (own.length + [...this.#opening].filter(isOwn).length < maxSessions) return undefined
    const [oldest] = own.filter(({ isReplaceable }) => isReplaceable)
      .toSorted((one, other) => one.lastUsed - other.lastUsed)
    if (!oldest) throw new HttpFault(503, `${maxSessions} sessions are in use. Wait until one has ended.`)
    return oldest
  }
}
