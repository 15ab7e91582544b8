import type { Socket } from 'node:net'
import type { Power } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import type { Agent, Dispatcher } from 'undici'
import type { OpenCall } from '../model/capability.ts'
import type { CallSecrets } from '../secrets/handles.ts'
import type { Redaction } from '../secrets/redaction.ts'
import type { Lookup } from './connect.ts'
import { judgedConnector } from './connect.ts'
import type { DecoderMemory } from './decoder-memory.ts'
import { HostScope } from '../hosts/host-allow-list.ts'
import { readIncoming } from './response-head.ts'
import type { NetLimits } from './limits.ts'
import { netFault } from './net-errors.ts'
import type { Outgoing } from './request.ts'
import type { Hop } from './redirect.ts'
import { nextHop } from './redirect.ts'
import { ResponseBody } from './response-body.ts'
import type { Target } from '../hosts/url-policy.ts'
import { judgeUrl } from '../hosts/url-policy.ts'

/** What the calls of one compartment have in common. */
export interface Compartment {
  readonly limits: NetLimits
  readonly lookup: Lookup
  readonly ca: string | undefined
  /** Takes one of the places for requests. Throws ResourceBusy when there is none; what it returns gives it back, once. */
  claim(): () => void
  readonly decoders: DecoderMemory
}

interface Answer {
  readonly hop: Hop
  /** Takes out what any of the places on the way may have been sent. */
  readonly redaction: Redaction | undefined
  readonly response: Dispatcher.ResponseData
}

/**
 * All traffic of one call: its grant, its connections and its bodies begin and end together. The connections are not
 * shared with other calls, because those may be of a tool with another grant, and what a call opened dies with it.
 */
export class CallTraffic {
  readonly #compartment: Compartment
  readonly #scope: HostScope
  readonly #secrets: CallSecrets | undefined
  readonly #effects: OpenCall['effects']
  #agent: Promise<Agent> | undefined
  readonly #sockets = new Set<Socket>()
  /** One per fetch, until the last byte of its body. */
  readonly #stops = new Set<AbortController>()
  readonly #bodies = new Map<string, ResponseBody>()
  #bodyCount = 0
  #ended: { readonly reason: BulkheadError; readonly gone: Promise<void> } | undefined

  constructor({ net, ceilings = [] }: Pick<Power, 'net' | 'ceilings'>, compartment: Compartment, secrets: CallSecrets | undefined, effects?: OpenCall['effects']) {
    this.#compartment = compartment
    this.#scope = new HostScope(net.hosts, ceilings.map((ceiling) => ceiling.net.hosts))
    this.#secrets = secrets
    this.#effects = effects
  }

  async fetch(url: string, request: Outgoing): Promise<JsonObject> {
    if (this.#ended !== undefined) throw this.#ended.reason
    const { limits } = this.#compartment
    const target = judgeUrl(url, this.#scope)
    const giveBack = this.#claim()
    const stop = new AbortController()
    this.#stops.add(stop)
    const released = (): void => {
      this.#stops.delete(stop)
      giveBack()
    }
    const late = setTimeout(() => {
      const message = `The host ${target.host} did not answer within ${limits.headersMs} ms. Try again later.`
      stop.abort(new BulkheadError('ToolExecutionFailed', message))
    }, limits.headersMs)
    const way: Target[] = []
    try {
      const answer = await this.#follow({ target, request }, way, stop.signal)
      // The call may have ended between the response and here, and with it what would give the place back.
      stop.signal.throwIfAborted()
      return this.#handOver(answer, released)
    } catch (error) {
      // A response that came all the same is not left half read.
      stop.abort()
      released()
      throw withoutSecrets(error, this.#secrets?.vault.redactionOf(way))
    } finally {
      clearTimeout(late)
    }
  }

  /** The next piece of a body in base64, or null at its end. */
  async read(bodyId: string): Promise<Json> {
    const piece = await this.#body(bodyId).read()
    if (piece !== null) this.#effects?.add('readBytes', piece.length)
    return piece?.toString('base64') ?? null
  }

  /** Ends a body before its end. */
  drop(bodyId: string): null {
    this.#bodies.get(bodyId)?.drop(new BulkheadError('ToolCancelled', 'The body was dropped by the tool.'))
    return null
  }

  /** Idempotent. At once nothing more is sent or received; what is returned resolves when every socket is closed. */
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
    const { limits, claim } = this.#compartment
    if (this.#stops.size >= limits.requestsPerCall) {
      const cure = 'Read their bodies to the end, or leave them in the middle.'
      throw new BulkheadError('ResourceBusy', `The call has ${limits.requestsPerCall} requests open already. ${cure}`)
    }
    return claim()
  }

  /** `way`: every place that was asked. */
  async #follow(first: Hop, way: Target[], signal: AbortSignal): Promise<Answer> {
    const { redirects } = this.#compartment.limits
    let hop = first
    for (let followed = 0; ; followed++) {
      way.push(hop.target)
      const response = await this.#send(hop, signal)
      // Given twice, it is no URL any more.
      const location = [response.headers['location'] ?? []].flat().join(', ')
      const next = hop.request.follow ? nextHop(hop, response.statusCode, location, this.#scope) : undefined
      if (next === undefined) return { hop, response, redaction: this.#secrets?.vault.redactionOf(way) }
      response.body.on('error', () => undefined).destroy()
      if (followed === redirects) {
        throw new BulkheadError('ToolExecutionFailed', `The host ${first.target.host} redirects more than ${redirects} times.`)
      }
      hop = next
    }
  }

  /** One request to one judged place. Headers leave here and nowhere else, once per hop and with its host at hand. */
  async #send({ target, request }: Hop, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { url, host } = target
    const { method, body } = request
    const headers = this.#secrets?.inHeaders(request.headers, target) ?? request.headers
    this.#effects?.add('sentBytes', url.href.length + headers.entries().reduce((sum, [name, value]) => sum + name.length + value.length, 0) + (body?.length ?? 0))
    try {
      const agent = await (this.#agent ??= this.#openAgent())
      // undici notices an abort only once it has a connection.
      return await untilAborted(agent.request({
        origin: url.origin, path: url.pathname + url.search, method, headers: [...headers].flat(), body, signal,
        // Past this number connections are not kept for later: they would add up over many hosts.
        reset: this.#sockets.size >= this.#compartment.limits.requestsPerCall,
        onInfo: fewInterim(host, this.#compartment.limits.interimResponses),
      }), signal)
    } catch (error) {
      throw netFault(error, host)
    }
  }

  /** With the first request: undici takes longer to load than most calls take, and most calls reach nobody. */
  async #openAgent(): Promise<Agent> {
    const { limits, lookup, ca } = this.#compartment
    const undici = await import('undici')
    return new undici.Agent({
      connect: judgedConnector({ scope: this.#scope, lookup, ca, timeoutMs: limits.connectMs, sockets: this.#sockets }),
      // As many as there may be requests: one that waits for a place behind bodies the tool has yet to read waits for ever.
      connections: limits.requestsPerCall,
      allowH2: false,
      maxHeaderSize: limits.headerBytes,
      // Deadlines are kept here: undici starts its own again with every interim response.
      headersTimeout: 0,
      bodyTimeout: 0,
      // The default is what an environment variable says.
      useMilo: false,
    })
  }

  #handOver({ hop: { target: { url, host }, request }, response, redaction }: Answer, released: () => void): JsonObject {
    const { limits } = this.#compartment
    const { headers, decoder, hasBody } = readIncoming(response, request.method, limits)
    const clean = (text: string): string => redaction?.text(text) ?? text
    const told = Object.fromEntries([...headers].map(([name, value]) => [clean(name), clean(value)]))
    const head = { url: clean(url.href), status: response.statusCode, headers: told }
    if (!hasBody) {
      response.body.on('error', () => undefined).resume()
      released()
      return { ...head, bodyId: null }
    }
    const bodyId = `${++this.#bodyCount}`
    this.#bodies.set(bodyId, new ResponseBody({
      host: clean(host), source: response.body, decoder, decoders: this.#compartment.decoders, limits, redaction,
      released: () => {
        this.#bodies.delete(bodyId)
        released()
      },
    }))
    return { ...head, bodyId }
  }

  #body(bodyId: string): ResponseBody {
    if (this.#ended !== undefined) throw this.#ended.reason
    const body = this.#bodies.get(bodyId)
    if (body !== undefined) return body
    throw new BulkheadError('InputInvalid', 'The body is not open: it was read to its end, failed, or was dropped.')
  }
}

/** An error names the place that a redirect led to, and a host may have put there what it was sent. */
function withoutSecrets(error: unknown, redaction: Redaction | undefined): unknown {
  if (!BulkheadError.is(error) || redaction === undefined) return error
  const clean = (value: Json): Json => (typeof value === 'string' ? redaction.text(value) : value)
  const data = Object.fromEntries(Object.entries(error.data ?? {}).map(([key, value]) => [key, clean(value)]))
  return new BulkheadError(error.code, redaction.text(error.message), { cause: error.cause, data })
}

/** Thrown in the middle of reading, it ends the request and its connection. */
function fewInterim(host: string, most: number): () => void {
  let count = 0
  return () => {
    if (++count <= most) return
    throw new BulkheadError('ToolExecutionFailed', `The host ${host} sent more than ${most} responses before its answer.`)
  }
}
