import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type {
  BegunEffect, LeasedCall, PlacedCall, PlacedEnd, PlacedListener, PlacedRequest, Placements, Store, WorkerInfo,
  WorkerSeat,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { PostgresProxy } from '../../../../scripts/postgres/proxy.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { addTenant, openPostgresStore } from '../../src/index.ts'
import { emptySchema, giveBack } from '../postgres-folder.ts'

export const LEASE_MS = 500

/** Hosts on one store. They close with the test. */
export class Fleet {
  readonly url: string
  readonly schema: string
  readonly #stores: Store[] = []
  readonly #proxies: PostgresProxy[] = []
  #hasTenants = false

  private constructor(url: string, schema: string) {
    this.url = url
    this.schema = schema
  }

  /** `isNew`: without tables of pg-boss. */
  static async open(isNew = false): Promise<Fleet> {
    const schema = isNew ? newSchema() : emptySchema()
    return new Fleet((await sharedPostgres()).url(schema), schema)
  }

  async host(leaseMs = LEASE_MS, url = this.url, patienceMs = 30_000): Promise<Placements> {
    const store = await openPostgresStore({ url }, { leaseMs, patienceMs })
    this.#stores.push(store)
    return store.placements!
  }

  async tenant(name: string): Promise<Placements> {
    this.#hasTenants = true
    const { role, password } = await addTenant(this.url, name, async () => undefined)
    return this.host(LEASE_MS, this.url.replace(/\/\/.*@/, `//${role}:${password}@`))
  }

  /** One whose connections the test holds back and cuts: it stands still as far as the server can tell. */
  async hostBehindProxy(
    leaseMs = LEASE_MS, patienceMs?: number,
  ): Promise<{ readonly host: Placements; readonly proxy: PostgresProxy }> {
    const { port } = await sharedPostgres()
    const proxy = await PostgresProxy.start(port)
    this.#proxies.push(proxy)
    return { proxy, host: await this.host(leaseMs, this.url.replace(`:${port}/`, `:${proxy.port}/`), patienceMs) }
  }

  /** Runs a statement as the owner of everything. */
  async query(text: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client(this.url.replace(/\?.*/, `?options=-c%20search_path%3D${this.schema}`))
    await client.connect()
    const { rows } = await client.query<Record<string, unknown>>(text)
    await client.end()
    return rows
  }

  /** How many rows each table has. */
  async rows(...tables: readonly string[]): Promise<readonly number[]> {
    const counts = tables.map((table) => `(SELECT count(*)::int FROM ${table})`)
    return Object.values((await this.query(`SELECT ARRAY[${counts.join()}] AS all`))[0]!)[0] as number[]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()))
    for (const proxy of this.#proxies) proxy.close()
    // What a connection held back may come later.
    if (this.#stores.length > 0 && this.#proxies.length === 0 && !this.#hasTenants) await giveBack(this.schema)
  }
}

export const workerInfo = (info: Partial<WorkerInfo> = {}): WorkerInfo => ({
  id: randomUUID(), labels: [], version: '1.0.0', machine: 'm', pid: process.pid, capacity: 4, workspaces: [], ...info,
})

export const request = (of: Partial<PlacedRequest> = {}): PlacedRequest => ({
  id: randomUUID(), demand: { labels: [], major: 1 }, sessionId: 's', callId: 'c', deadlineMs: 60_000,
  ticket: 'ticket 1', body: Buffer.from('body'), ...of,
})

export const effect = (what = 'writes a'): BegunEffect => ({ attempt: 1, at: 1, what })

/** What a caller hears of a call. */
export class Heard implements PlacedListener {
  readonly worker = Promise.withResolvers<string>()
  readonly begun: BegunEffect[] = []
  readonly messages: Json[] = []
  readonly ends: PlacedEnd[] = []
  #end = Promise.withResolvers<PlacedEnd>()

  onTaken = (worker: string): void => this.worker.resolve(worker)
  onMessage = (message: Json): void => void this.messages.push(message)
  onBegun = (one: BegunEffect): void => void this.begun.push(one)
  onEnd = (end: PlacedEnd): void => {
    this.ends.push(end)
    this.#end.resolve(end)
  }

  /** The end of this epoch. The next one begins. */
  async end(): Promise<PlacedEnd> {
    const end = await this.#end.promise
    this.#end = Promise.withResolvers()
    return end
  }
}

export interface Served {
  readonly seat: WorkerSeat
  /** The next call that it takes. */
  next(): Promise<LeasedCall>
  readonly calls: LeasedCall[]
}

/** A worker whose calls the test answers. */
export async function serve(placements: Placements, info: Partial<WorkerInfo> = {}): Promise<Served> {
  const calls: LeasedCall[] = []
  const waiting: ((call: LeasedCall) => void)[] = []
  const unseen: LeasedCall[] = []
  const seat = await placements.serve(workerInfo(info), (call) => {
    calls.push(call)
    const next = waiting.shift()
    if (next) next(call)
    else unseen.push(call)
  })
  return {
    seat, calls,
    next: () => {
      const call = unseen.shift()
      return call ? Promise.resolve(call) : new Promise((resolve) => { waiting.push(resolve) })
    },
  }
}

export async function place(
  placements: Placements, of: Partial<PlacedRequest> = {},
): Promise<{ readonly call: PlacedCall; readonly heard: Heard }> {
  const heard = new Heard()
  return { call: await placements.place(request(of), heard), heard }
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
