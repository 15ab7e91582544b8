import type { Socket } from 'node:net'
import { BulkheadError, type Power, type UseRules } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { untilAborted } from '@bulkhead/kit/deadlines'
import type { Agent, Dispatcher } from 'undici'
import type { OpenCall } from '../model/capability.ts'
import { requireUse } from '../model/ruled-use.ts'
import type { CallSecrets } from '../secrets/secrets.ts'
import type { Redaction } from '../secrets/redaction.ts'
import { checkedConnector, loopbackConnector, type Lookup } from './connect.ts'
import { ResponseBody, type DecoderMemory } from './response-body.ts'
import { authority, HostAllowList, hostname, checkUrl, type Target } from '../hosts/url-policy.ts'
import { readResponseHead, netError } from './response.ts'
import type { NetLimits } from './limits.ts'
import { contentOf, nextHop, SAFE, type OutgoingRequest, type Hop } from './request.ts'

/** What the calls of one compartment share. */
export interface NetContext {
  readonly limits: NetLimits
  readonly lookup: Lookup
  readonly ca: string | undefined
  /** The port of a server on the loopback interface that answers for every host. */
  readonly answeredBy?: number | undefined
  /** Takes a slot for a request. Throws ResourceBusy if none is free. Call the returned function to release it. */
  claim(): () => void
  readonly decoders: DecoderMemory
}

interface FinalResponse {
  readonly hop: Hop
  /** Removes secrets that any target of the redirects may have received. */
  readonly redaction: Redaction | undefined
  readonly response: Dispatcher.ResponseData
}

/**
 * All traffic of one call. Grant, connections and bodies begin and end together. Calls do not share connections,
 * because another call may belong to a tool with another grant.
 */
export class CallTraffic {
  readonly #context: NetContext
  readonly #scope: HostAllowList
  readonly #secrets: CallSecrets | undefined
  readonly #effects: OpenCall['effects']
  readonly #uses: UseRules | undefined
  #agent: Promise<Agent> | undefined
  readonly #sockets = new Set<Socket>()
  /** One per fetch, until its body is read. */
  readonly #stops = new Set<AbortController>()
  readonly #bodies = new Map<string, ResponseBody>()
  #bodyCount = 0
  #ended: { readonly reason: BulkheadError; readonly gone: Promise<void> } | undefined

  constructor(
    { net, ceilings = [] }: Pick<Power, 'net' | 'ceilings'>, context: NetContext,
    secrets: CallSecrets | undefined, { effects, uses }: Pick<OpenCall, 'effects' | 'uses'> = {},
  ) {
    this.#context = context
    this.#scope = new HostAllowList(net.hosts, ceilings.map((ceiling) => ceiling.net.hosts))
    this.#secrets = secrets
    this.#effects = effects
    this.#uses = uses
  }

  async fetch(url: string, request: OutgoingRequest): Promise<JsonObject> {
    this.#throwIfEnded()
    const { limits } = this.#context
    const target = checkUrl(url, this.#scope)
    if (this.#uses !== undefined) {
      await this.#requireHost(target)
      this.#throwIfEnded()
    }
    const release = this.#claim()
    const stop = new AbortController()
    this.#stops.add(stop)
    const released = (): void => {
      this.#stops.delete(stop)
      release()
    }
    const startTimer = (): NodeJS.Timeout => setTimeout(() => {
      const message = `The host ${target.host} did not answer within ${limits.headersMs} ms. Try again later.`
      stop.abort(new BulkheadError('ToolExecutionFailed', message))
    }, limits.headersMs)
    let late = startTimer()
    const visited: Target[] = []
    /** A rule may ask a person about the target of a redirect. */
    const requireNext = async (next: Target): Promise<void> => {
      if (this.#uses === undefined) return
      clearTimeout(late)
      await this.#requireHost(next)
      late = startTimer()
    }
    try {
      const answer = await this.#follow({ target, request }, visited, stop.signal, requireNext)
      // The call may have ended meanwhile, and nothing would release the slot later.
      stop.signal.throwIfAborted()
      return this.#handOver(answer, released)
    } catch (error) {
      // A response that arrived anyway must not stay half read.
      stop.abort()
      released()
      throw redactError(error, this.#secrets?.vault.redactionOf(visited))
    } finally {
      clearTimeout(late)
    }
  }

  /** The next chunk of a body in base64, or null at its end. */
  async read(bodyId: string): Promise<Json> {
    const piece = await this.#body(bodyId).read()
    if (piece !== null) this.#effects?.add('readBytes', piece.length)
    return piece?.toString('base64') ?? null
  }

  /** Discards the rest of a body. */
  drop(bodyId: string): null {
    this.#bodies.get(bodyId)?.drop(new BulkheadError('ToolCancelled', 'The tool discarded the body.'))
    return null
  }

  /** Idempotent. Stops sending and receiving at once. Resolves when every socket is closed. */
  end(reason: BulkheadError): Promise<void> {
    this.#ended ??= { reason, gone: this.#tearDown(reason) }
    return this.#ended.gone
  }

  async #tearDown(reason: BulkheadError): Promise<void> {
    for (const body of this.#bodies.values()) body.drop(reason)
    for (const stop of this.#stops) stop.abort(reason)
    const closed = [...this.#sockets].map((socket) => new Promise<void>((resolve) => {
      socket.once('close', () => resolve())
      socket.destroy()
    }))
    await Promise.allSettled([this.#agent?.then((agent) => agent.destroy(reason)), ...closed])
  }

  #claim(): () => void {
    const { limits, claim } = this.#context
    if (this.#stops.size >= limits.requestsPerCall) {
      const remedy = 'Read or discard the bodies of earlier ones.'
      throw new BulkheadError('ResourceBusy', `The call already has ${limits.requestsPerCall} requests open. ${remedy}`)
    }
    return claim()
  }

  /** Follows redirects. `visited` collects every target. */
  async #follow(
    first: Hop, visited: Target[], signal: AbortSignal, requireNext: (next: Target) => Promise<void>,
  ): Promise<FinalResponse> {
    const { redirects } = this.#context.limits
    let hop = first
    for (let followed = 0; ; followed++) {
      visited.push(hop.target)
      const response = await this.#send(hop, signal)
      // Two locations joined are not a valid URL, so the redirect fails.
      const location = [response.headers['location'] ?? []].flat().join(', ')
      const next = hop.request.follow ? nextHop(hop, response.statusCode, location, this.#scope) : undefined
      if (next === undefined) return { hop, response, redaction: this.#secrets?.vault.redactionOf(visited) }
      response.body.on('error', () => undefined).destroy()
      if (followed === redirects) {
        throw new BulkheadError(
          'ToolExecutionFailed',
          `The host ${first.target.host} redirects more than ${redirects} times.`,
        )
      }
      await requireNext(next.target)
      await this.#secrets?.requireOwnHosts(contentOf(next), next.target, visited)
      signal.throwIfAborted()
      hop = next
    }
  }

  #requireHost({ host, port }: Target): Promise<void> {
    // Patterns of rules without a port are about every port.
    return requireUse(this.#uses, 'net.fetch', authority(host, port), hostname(host))
  }

  /** Sends one request to one checked target. This is the only place where secrets leave the host. */
  async #send({ target, request }: Hop, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { url, host } = target
    const { method, body } = request
    const headers = this.#secrets?.inHeaders(request.headers, target) ?? request.headers
    const query = this.#secrets?.inQuery(url.search, target) ?? url.search
    const headerChars = headers.entries().reduce((sum, [name, value]) => sum + name.length + value.length, 0)
    this.#effects?.add('sentBytes', url.href.length + query.length - url.search.length + headerChars + (body?.length ?? 0))
    if (!SAFE.has(method)) await this.#effects?.begin(`${method} ${url.origin}${url.pathname}`)
    try {
      const agent = await (this.#agent ??= this.#openAgent())
      // undici reacts to an abort only once it has a connection.
      return await untilAborted(agent.request({
        origin: url.origin, path: url.pathname + query, method, headers: [...headers].flat(), body, signal,
        // Beyond this number connections are not reused: they would add up over many hosts.
        reset: this.#sockets.size >= this.#context.limits.requestsPerCall,
        onInfo: limitInterim(host, this.#context.limits.interimResponses),
      }), signal)
    } catch (error) {
      throw netError(error, host)
    }
  }

  /** Created with the first request: loading undici takes longer than most calls, and most calls do not use it. */
  async #openAgent(): Promise<Agent> {
    const { limits, lookup, ca, answeredBy } = this.#context
    const undici = await import('undici')
    return new undici.Agent({
      connect: answeredBy === undefined ? checkedConnector({
        scope: this.#scope, lookup, ca, timeoutMs: limits.connectMs, sockets: this.#sockets,
      }) : loopbackConnector(answeredBy, this.#sockets),
      // One per request: a request queued behind unread bodies would wait forever.
      connections: limits.requestsPerCall,
      allowH2: false,
      maxHeaderSize: limits.headerBytes,
      // CallTraffic has its own deadlines: undici restarts these with every interim response.
      headersTimeout: 0,
      bodyTimeout: 0,
      // The default comes from an environment variable.
      useMilo: false,
    })
  }

  #handOver(
    { hop: { target: { url, host }, request }, response, redaction }: FinalResponse, released: () => void,
  ): JsonObject {
    const { limits } = this.#context
    const { headers, decoder, hasBody } = readResponseHead(response, request.method, limits)
    const clean = (text: string): string => redaction?.text(text) ?? text
    const shown = Object.fromEntries([...headers].map(([name, value]) => [clean(name), clean(value)]))
    const head = { url: clean(url.href), status: response.statusCode, headers: shown }
    if (!hasBody) {
      response.body.on('error', () => undefined).resume()
      released()
      return { ...head, bodyId: null }
    }
    const bodyId = `${++this.#bodyCount}`
    this.#bodies.set(bodyId, new ResponseBody({
      host: clean(host), source: response.body, decoder, decoders: this.#context.decoders, limits, redaction,
      released: () => {
        this.#bodies.delete(bodyId)
        released()
      },
    }))
    return { ...head, bodyId }
  }

  #throwIfEnded(): void {
    if (this.#ended !== undefined) throw this.#ended.reason
  }

  #body(bodyId: string): ResponseBody {
    this.#throwIfEnded()
    const body = this.#bodies.get(bodyId)
    if (body !== undefined) return body
    throw new BulkheadError('InputInvalid', 'The body is not open: it was read to the end, failed, or was discarded.')
  }
}

/** An error may contain the target of a redirect, in which a host can echo a secret. */
function redactError(error: unknown, redaction: Redaction | undefined): unknown {
  if (!BulkheadError.is(error) || redaction === undefined) return error
  const clean = (value: Json): Json => (typeof value === 'string' ? redaction.text(value) : value)
  const data = Object.fromEntries(Object.entries(error.data ?? {}).map(([key, value]) => [key, clean(value)]))
  return new BulkheadError(error.code, redaction.text(error.message), { cause: error.cause, data })
}

/** Throwing inside the parser ends the request and its connection. */
function limitInterim(host: string, most: number): () => void {
  let count = 0
  return () => {
    if (++count <= most) return
    throw new BulkheadError('ToolExecutionFailed', `The host ${host} sent more than ${most} interim responses.`)
  }
}
