import { randomUUID } from 'node:crypto'
import { MCP_HTTP_LIMITS } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { McpServer } from '@modelcontextprotocol/server'
import { BoundedTransport } from './bounded-transport.ts'
import type { Era } from './client-request.ts'
import { HttpClient, NO_SESSION, type HttpClientOptions, type Line, type Send } from './http-client.ts'
import { HttpFault } from './http-exchange.ts'
import type { KnownClient } from './http-guard.ts'
import { ClientEvents } from './kept-events.ts'
import { faultResponse } from './plain-calls.ts'
import { Replicas, type OwnRecord } from './replicas.ts'
import { MAX_OPEN, notifierOf, ServedClient } from './served-client.ts'
import type { ServedHost } from './served-session.ts'
import { listenFault } from './task-extension.ts'

type Sdk = typeof import('@modelcontextprotocol/server')

/** How long a client waits before it connects again. */
const RETRY_MS = 1_000
/** Clients that may have all their sessions at the same time. */
const FULL_CLIENTS = 4

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
  /** Set if the store of the host is shared with other servers. */
  readonly replicas: Replicas | undefined
  /** Sessions of the older era that are being continued here, by id. */
  readonly #restored = new Map<string, Promise<HttpClient | undefined>>()
  #isOver = false

  constructor(sdk: Sdk, host: ServedHost, options: HttpClientOptions) {
    this.#sdk = sdk
    this.#host = host
    this.#options = options
    this.replicas = host.replicas && new Replicas(host.replicas)
  }

  /** `body` is undefined except for POST. Throws HttpFault for a request that belongs to no client. */
  async serve(request: Request, body: unknown, client: KnownClient, send: Send): Promise<void> {
    if (!await this.#sdk.isLegacyRequest(request, body)) {
      const own = this.#modern.get(client.key) ?? (this.replicas ? undefined : this.#modernOf(client))
      if (own) return (await own).exchange(request, body, send)
      return this.replicas!.serve({ request, body, client, send }, {
        name: modernName(client), opens: true, open: (record) => this.#modernOf(client, record),
      })
    }
    const id = request.headers.get('mcp-session-id')
    if (id === null) return this.#begin(request, body, client, send)
    const session = this.#sessions.get(id)
    if (session ? session.key !== client.key : !this.replicas) throw new HttpFault(404, NO_SESSION)
    if (session) return session.exchange(request, body, send)
    return this.replicas!.serve({ request, body, client, send }, {
      name: legacyName(id), opens: false, open: (record) => this.#restore(id, client, record),
    })
  }

  /** Ends the sessions of one client, or of all. Those that are being opened end too. */
  async end(key?: string): Promise<void> {
    this.#isOver ||= key === undefined
    const opening = [...this.#modern].filter(([one]) => key === undefined || one === key).map(([, client]) => client)
    await Promise.allSettled(opening)
    const ending = [...this.#live].filter((one) => key === undefined || one.key === key)
    await Promise.all(ending.map((one) => one.end(key === undefined)))
  }

  #modernOf(client: KnownClient, record: OwnRecord = {}): Promise<HttpClient> {
    const known = this.#modern.get(client.key)
    if (known) return known
    const opened = this.#open(client, 'modern', async (served) => {
      await this.replicas?.enter(modernName(client), client, { session: served.sessionId })
      return this.#openModern(client, served)
    }, record.session)
    this.#modern.set(client.key, opened)
    opened.catch(() => this.#modern.delete(client.key))
    return opened
  }

  /** Opens a session when there is room for it. */
  async #open<Opened>(
    client: KnownClient, era: Era, use: (served: ServedClient) => Opened | Promise<Opened>, resumed?: string,
  ): Promise<Opened> {
    const leaving = this.#makeRoom(client.key)
    const opening = { key: client.key }
    this.#opening.add(opening)
    try {
      await leaving?.end()
      const served = await ServedClient.open(
        this.#host, this.#options, () => era, client, resumed,
        era === 'modern' ? this.replicas?.questions(modernName(client)) : undefined,
      )
      if (!this.#isOver && !client.revoked?.aborted) return await use(served)
      await served.end()
      throw new HttpFault(404, NO_SESSION)
    } finally {
      this.#opening.delete(opening)
    }
  }

  #openModern(known: KnownClient, served: ServedClient): HttpClient {
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
      left: this.#leaving(modernName(known)),
    }
    const { key } = known
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
    const id = randomUUID()
    const { client, sessionId } = await this.#open(known, 'legacy', async (served) =>
      ({ client: await this.#openLegacy(known.key, id, served), sessionId: served.sessionId }))
    await client.exchange(request, body, async (response) => {
      if (response.ok) {
        // Before the response: the next request may reach another replica.
        await this.replicas?.enter(legacyName(id), known, { session: sessionId, opening: openingOf(body) })
        this.#sessions.set(id, client)
      }
      return send(response)
    })
    if (!this.#sessions.has(id)) await client.end()
  }

  /** Continues a session of a replica that has ended. undefined: it has ended here, or cannot be continued. */
  #restore(id: string, known: KnownClient, record: OwnRecord): Promise<HttpClient | undefined> {
    const { session, opening } = record
    // Another request has continued it while this one read the store.
    const own = this.#sessions.get(id)
    if (own) return Promise.resolve(own)
    if (session === undefined || opening === undefined || !this.#options.resumeSession) return Promise.resolve(undefined)
    return this.#restored.getOrInsertComputed(id, () => this.#open(known, 'legacy', async (served) => {
      const client = await this.#openLegacy(known.key, id, served)
      await this.replicas?.enter(legacyName(id), known, { session: served.sessionId, opening })
      // The client has initialized before.
      await client.repeat({ jsonrpc: '2.0', id: 'restored', method: 'initialize', params: opening })
      await client.repeat({ jsonrpc: '2.0', method: 'notifications/initialized' }, id)
      this.#sessions.set(id, client)
      return client
    }, session).finally(() => this.#restored.delete(id)))
  }

  #leaving(name: string): Line['left'] {
    const { replicas } = this
    return replicas && ((stays) =>
      replicas.leave(name, stays).catch((error: Error) => this.#options.onFault?.(error)))
  }

  async #openLegacy(key: string, id: string, served: ServedClient): Promise<HttpClient> {
    const { maxOpen = MAX_OPEN, onFault } = this.#options
    const { events, forget } = this.#eventsOf(key)
    const transport = new this.#sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id, eventStore: events, retryInterval: RETRY_MS,
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
      left: this.#leaving(legacyName(id)),
    }
    const client = new HttpClient(key, served, line, this.#options, () => {
      this.#live.delete(client)
      this.#sessions.delete(id)
      forget()
    })
    this.#live.add(client)
    // A DELETE request closes the transport.
    await server.connect(new BoundedTransport(transport, { maxOpen, closed: () => void client.end() }))
    return client
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

/** Names of clients in the store. A session id is as secret as a token, so its digest is stored. */
const legacyName = (id: string): string => `legacy ${id}`
const modernName = ({ key }: KnownClient): string => `modern ${key}`

const openingOf = (body: unknown): JsonObject =>
  structuredClone(((body as { readonly params?: JsonObject }).params ?? {}))
