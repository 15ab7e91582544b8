import { randomBytes } from 'node:crypto'
import type { SeatListener, Store } from '@bulkhead/contract'
import pg from 'pg'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { addTenant, openPostgresStore } from '../../src/index.ts'
import { request, workerInfo } from '../placements/fleet.ts'

export const LISTENER: SeatListener = { onGate() {}, onRevision() {}, onLost() {}, onGone() {}, onFault() {} }
export const hostInfo = (id: string) => ({ id, pid: 1, machine: 'm', version: '1', workspace: '/a', rules: '' })
const ORIGIN = { layer: 'global', extension: 'e', version: '1', digest: '' } as const

/** A store with tenants on the server of this process, each with something in every table. */
export class TenantWorld {
  readonly schema: string
  readonly tenants: ReadonlyMap<string, string>
  readonly #clients: pg.Client[] = []
  readonly #stores: Store[] = []

  /** Serves the calls of all, and ends none. */
  async serve(): Promise<void> {
    const main = await this.store('')
    await main.placements!.serve(workerInfo({ capacity: 100 }), () => undefined)
  }

  private constructor(schema: string, tenants: ReadonlyMap<string, string>) {
    this.schema = schema
    this.tenants = tenants
  }

  static async make(...names: readonly string[]): Promise<TenantWorld> {
    const { port, url } = await sharedPostgres()
    const schema = newSchema()
    const tenants = new Map<string, string>()
    for (const name of names) {
      const { role, password } = await addTenant(url(schema), name, async () => undefined)
      tenants.set(name, `postgres://${role}:${password}@127.0.0.1:${port}/postgres?schema=${schema}`)
    }
    return new TenantWorld(schema, tenants)
  }

  /** Empty: the main one, as a superuser. */
  async urlOf(name: string): Promise<string> {
    return name === '' ? (await sharedPostgres()).url(this.schema) : this.tenants.get(name)!
  }

  async store(name: string): Promise<Store> {
    const store = await openPostgresStore({ url: await this.urlOf(name) })
    this.#stores.push(store)
    return store
  }

  /** Something in each table, with a text that only this tenant has. */
  async fill(name: string): Promise<{ readonly store: Store; readonly secret: string }> {
    const store = await this.store(name)
    const secret = `secret-of-${name || 'main'}-${randomBytes(4).toString('hex')}`
    await store.write('state', 'key', secret)
    await store.write('approval', 'key', secret)
    await store.append({ secret })
    const change = { callId: 'c', tool: 't', sessionId: 's', workspace: '/a', kind: 'file', path: secret,
      before: { kind: 'file', digest: 'same', mode: 0o600 }, after: 'x' }
    await store.changes!.add(change as never, Buffer.from(secret))
    const seat = await store.work!.join(hostInfo('same'), LISTENER)
    seat.show('session', 's', { since: 1, secret })
    const call = seat.open({ terms: { sessionId: secret, tool: 't', origin: ORIGIN, effects: 'once' }, callId: 'c' })
    await call.start({ at: 1, revision: undefined, isInline: false, begins: { attempt: 1, at: 1, what: secret } })
    await seat.settled()
    const { placements } = store
    await placements!.writePackage('same', Buffer.from(secret))
    const listener = { onTaken() {}, onMessage() {}, onBegun() {}, onEnd() {} }
    const { id } = await placements!.place(
      request({ callId: secret, ticket: secret, body: Buffer.from(secret) }), listener)
    // What a worker and its caller have said, which goes soon.
    const admin = await this.connect('')
    await admin.query(`INSERT INTO ${this.schema}.placed_message (tenant, placed, epoch, to_worker, number, message)
      VALUES ($1, $2, 0, true, 1, $3)`, [name, id, secret])
    await admin.query(`INSERT INTO ${this.schema}.placed_chunk (tenant, placed, epoch, number, bytes)
      VALUES ($1, $2, 0, 1, $3)`, [name, id, Buffer.from(secret)])
    return { store, secret }
  }

  async connect(name: string): Promise<pg.Client> {
    const client = new pg.Client((await this.urlOf(name)).replace(/\?.*/, ''))
    client.on('error', () => undefined)
    await client.connect()
    this.#clients.push(client)
    return client
  }

  /** Tables of ours, by the catalogue, so that a new one is found. */
  async tables(): Promise<readonly string[]> {
    const admin = await this.connect('')
    const { rows } = await admin.query<{ relname: string }>(`SELECT relname FROM pg_class
      WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p', 'v', 'm') ORDER BY 1`, [this.schema])
    return rows.map(({ relname }) => relname)
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end().catch(() => undefined)))
    await Promise.all(this.#stores.map((store) => store.close()))
  }
}
