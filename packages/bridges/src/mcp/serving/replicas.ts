import { hash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { NO_SESSION, type HttpClient, type Send } from './http-client.ts'
import { HttpFault } from './http-exchange.ts'
import type { KnownClient } from './http-guard.ts'
import type { ReplicaRecords } from './served-session.ts'
import { forward, isForwarded, LostReplica, MISDIRECTED, type Peer } from './forward.ts'

/** A client in the store. */
interface ClientRecord extends Partial<Peer> {
  /** The process that has it. Absent: none. */
  readonly owner?: string
  /** Digest of the identity of the client. */
  readonly client: string
  /** The session of the host. */
  readonly session?: string
  /** The parameters of `initialize`. */
  readonly opening?: JsonObject
  readonly at: number
}

/** A client that this replica has, or is to continue. */
export type OwnRecord = Pick<ClientRecord, 'session' | 'opening'>

/** A request, and whose it is. */
export interface ReplicaRequest {
  readonly request: Request
  readonly body: unknown
  readonly client: KnownClient
  readonly send: Send
}

interface Route {
  /** The same in every replica. No part of it is stored in clear. */
  readonly name: string
  /** Whether the request may open it. */
  readonly opens: boolean
  /** Opens or continues it here. undefined: it has ended here. */
  readonly open: (record: OwnRecord) => Promise<HttpClient | undefined>
}

const RETRY_MS = 100
/** How often a replica that cannot be reached, and has not ended, is tried. */
const RETRIES = 50

/**
 * Sends each request to the replica that has its client, so that none needs to reach a certain one. When that replica
 * has ended, the client continues here.
 */
export class Replicas {
  /** Where others reach this replica. Set when it listens. */
  self: Peer | undefined
  readonly #records: ReplicaRecords

  constructor(records: ReplicaRecords) {
    this.#records = records
  }

  async serve({ request, body, client, send }: ReplicaRequest, { name, opens, open }: Route): Promise<void> {
    for (let attempt = 0; attempt < RETRIES; attempt++) {
      const record = await this.#claim(name, client, opens)
      if (record === undefined) throw new HttpFault(404, NO_SESSION)
      if (record.owner === this.#records.owner.id) {
        const own = await open(record)
        if (own === undefined) throw new HttpFault(404, NO_SESSION)
        return own.exchange(request, body, send)
      }
      // It was sent by a replica that knew no better. It asks again.
      if (isForwarded(request)) throw new HttpFault(MISDIRECTED, 'This replica does not have the session.')
      const response = await this.#forward(record, request, body)
      if (response) return send(response)
      await setTimeout(RETRY_MS, undefined, { signal: request.signal })
    }
    throw new HttpFault(503, 'The replica that has the session cannot be reached. Try again later.')
  }

  /** Stores what another replica needs to continue a client. */
  async enter(name: string, client: KnownClient, { session, opening }: OwnRecord): Promise<void> {
    const { owner } = this.#records
    const record = {
      ...this.self, owner: owner.id, client: bindingOf(client), at: Date.now(),
      ...(session !== undefined && { session }), ...(opening && { opening }),
    }
    await this.#records.update(keyOf(name), () => record as unknown as JsonObject)
  }

  /** A client has ended here. `stays`: another replica may continue it. */
  async leave(name: string, stays: boolean): Promise<void> {
    const { owner } = this.#records
    await this.#records.update(keyOf(name), (stored) => {
      const record = readRecord(stored)
      if (record?.owner !== owner.id) return stored
      const { owner: _owner, url: _url, cert: _cert, ...free } = record
      return stays ? free as unknown as JsonObject : undefined
    })
  }

  /** undefined: there is none, it belongs to another client. Of several replicas, one gets a client that none has. */
  async #claim(name: string, client: KnownClient, opens: boolean): Promise<ClientRecord | undefined> {
    const { owner } = this.#records
    const isFree = (record: ClientRecord | undefined) =>
      record === undefined ? opens : record.owner === undefined || owner.isGone(record.owner)
    const known = readRecord(await this.#records.read(keyOf(name)))
    if (known !== undefined && known.client !== bindingOf(client)) return undefined
    if (!isFree(known)) return known
    return readRecord(await this.#records.update(keyOf(name), (stored) => {
      const record = readRecord(stored)
      if (!isFree(record)) return stored
      const { session, opening } = record ?? {}
      return {
        ...this.self, owner: owner.id, client: bindingOf(client), at: Date.now(),
        ...(session !== undefined && { session }), ...(opening && { opening }),
      } as unknown as JsonObject
    }))
  }

  /** undefined: it was not handled, so it can be sent again. */
  async #forward({ url, cert, owner }: ClientRecord, request: Request, body: unknown): Promise<Response | undefined> {
    if (url === undefined || owner === undefined) return undefined
    try {
      const isGone = () => this.#records.owner.isGone(owner)
      const response = await forward({ url, ...(cert !== undefined && { cert }) }, request, body, isGone)
      if (response.status !== MISDIRECTED) return response
      await response.body?.cancel()
      return undefined
    } catch (thrown) {
      if (!(thrown instanceof LostReplica)) throw thrown
      if (!thrown.wasSent || isRepeatable(body)) return undefined
      return interrupted(body)
    }
  }
}

/** Requests that change nothing outside of the session. */
const REPEATABLE = /^(?:ping|logging\/setLevel|completion\/complete|(?:tools|prompts|resources(?:\/templates)?|tasks)\/list|prompts\/get|resources\/(?:read|subscribe|unsubscribe)|tasks\/(?:get|result)|server\/discover|notifications\/.*)$/

const isRepeatable = (body: unknown): boolean =>
  body === undefined || (isJsonObject(body) && typeof body['method'] === 'string' && REPEATABLE.test(body['method']))

/** A call is not made again: it may have had its effect. */
function interrupted(body: unknown): Response {
  const id = isJsonObject(body) ? body['id'] ?? null : null
  const message = 'The replica that ran the call has ended. Whether the call had an effect is in the audit, as '
    + 'CallInterrupted (it began nothing) or OutcomeUnknown. The session continues.'
  return Response.json({ jsonrpc: '2.0', id, error: { code: -32_603, message } })
}

const keyOf = (name: string): string => hash('sha256', name)
const bindingOf = ({ key }: KnownClient): string => hash('sha256', key)

/** undefined for one of an unknown form. */
function readRecord(value: Json | undefined): ClientRecord | undefined {
  return isJsonObject(value) && typeof value['client'] === 'string' ? value as unknown as ClientRecord : undefined
}
