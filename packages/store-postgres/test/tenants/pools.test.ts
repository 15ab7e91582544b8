import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { addPool, addTenant, listPools, maintainPostgres, openPostgresStore, removePool } from '../../src/index.ts'
import type { PostgresPool } from '../../src/index.ts'
import { effect, Fleet, place, request, serve, textOf } from '../placements/fleet.ts'

const DENIED = { code: '42501' }
const OTHER = 'secret-of-the-other-pool'

let fleet: Fleet
const clients: pg.Client[] = []

async function login(name: string, pool: PostgresPool): Promise<string> {
  const { role, password } = await addPool(fleet.url, name, pool, async () => undefined)
  return fleet.url.replace(/\/\/.*@/, `//${role}:${password}@`)
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url.replace(/\?.*/, `?options=-c%20search_path%3D${fleet.schema}`))
  client.on('error', () => undefined)
  await client.connect()
  clients.push(client)
  return client
}

const codeOf = (work: Promise<unknown>) => work.then(() => 'done', (error: { code: string }) => error.code)

let gpu: string
let cpu: string
describe('workers with the login of a pool', needs('PostgreSQL'), () => {
  beforeAll(async () => {
    fleet = await Fleet.open()
    gpu = await login('gpu', { labels: ['gpu', 'region=eu'], workspaces: ['shop'] })
    cpu = await login('cpu', { labels: ['cpu'], workspaces: [] })
  })
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()))
    await fleet?.[Symbol.asyncDispose]()
  })

  it('serve calls of every tenant, to their end, and read the packages that these need', async () => {
    const worker = await fleet.host(500, gpu)
    const served = await serve(worker, { labels: ['gpu'], workspaces: ['shop'] })
    for (const caller of [await fleet.host(), await fleet.tenant('alice')]) {
      await caller.writePackage('p', Buffer.from(caller.tenant))
      const demand = { labels: ['gpu'], workspace: 'shop', major: 1 }
      const { call, heard } = await place(caller, { demand, callId: randomUUID() })
      const leased = await served.next()
      expect([leased.id, leased.tenant]).toEqual([call.id, caller.tenant])
      expect(textOf((await worker.readPackage('p', call.id))!)).toBe(caller.tenant)
      await leased.begin(effect())
      await leased.send({ said: 1 })
      await leased.settle(Buffer.alloc(2 * 1024 ** 2, 1))
      expect(await heard.end()).toMatchObject({ is: 'settled' })
      expect(heard.messages).toEqual([{ said: 1 }])
      await call.forget()
    }
    await expect.poll(() => fleet.query(`SELECT state::text FROM ${fleet.schema}_jobs.job`))
      .toEqual([{ state: 'completed' }, { state: 'completed' }])
    await served.seat.close()
  })

  it('give a tenant with one call its turn soon, however many another one has placed', async () => {
    const served = await serve(await fleet.host(500, gpu), { id: 'fair', labels: ['gpu'], capacity: 1 })
    const [flood, few] = [await fleet.tenant('flood'), await fleet.tenant('few')]
    const demand = { labels: ['gpu'], major: 1 }
    const placed = [(await place(flood, { demand })).call]
    let running = await served.next()
    const many = await Promise.all(Array.from({ length: 49 }, () => place(flood, { demand })))
    placed.push(...many.map(({ call }) => call))
    placed.push((await place(few, { demand })).call)
    // A worker learns of other tenants with a heartbeat.
    const beat = () => fleet.query("SELECT lease_until FROM worker WHERE id = 'fair'")
    const before = await beat()
    await expect.poll(beat).not.toEqual(before)
    const order: string[] = []
    while (order.length < 3) {
      await running.settle(Buffer.from(''))
      running = await served.next()
      order.push(running.tenant)
    }
    expect(order).toContain('few')
    await Promise.all(placed.map((call) => call.forget()))
    await served.seat.close()
  })

  it('see and change nothing of the calls of another pool', async () => {
    const caller = await fleet.tenant('bob')
    await serve(await fleet.host(500, cpu), { id: 'of-cpu', labels: ['cpu'] })
    await caller.writePackage(OTHER, Buffer.from(OTHER))
    const demand = { labels: ['cpu'], major: 1 }
    const { heard } = await place(caller, { demand, sessionId: OTHER, ticket: OTHER, body: Buffer.from(OTHER) })
    expect(await heard.worker.promise).toBe('of-cpu')
    const { schema } = fleet
    const rows = async () => JSON.stringify(await Promise.all(
      ['placed', 'placed_message', 'placed_chunk', 'package', 'package_chunk', `${schema}_jobs.job`]
        .map((table) => fleet.query(`SELECT * FROM ${table} ORDER BY 1`))))
    const before = await rows()
    const mallory = await connect(gpu)
    const tables = (await fleet.query(`SELECT oid::regclass::text AS name FROM pg_class WHERE relkind IN ('r', 'p', 'v')
      AND relnamespace IN ('${schema}'::regnamespace, '${schema}_jobs'::regnamespace)`)).map(({ name }) => String(name))
    for (const table of tables) {
      const read = await mallory.query(`SELECT * FROM ${table}`)
        .then(({ rows: found }) => found, (error: { code: string }) => error.code)
      // Queues have a digest of what their calls demand, and how many there are.
      if (/queue$|\.version$|store_version$/.test(table)) continue
      expect(read, table).toEqual(typeof read === 'string' ? DENIED.code : [])
      await mallory.query(`DELETE FROM ${table}`).catch(() => undefined)
      await mallory.query(`TRUNCATE ${table}`).catch(() => undefined)
      for (const column of ['ended', 'worker', 'tenant', 'labels', 'lease_until', 'state', 'data', 'used', 'bytes']) {
        await mallory.query(`UPDATE ${table} SET ${column} = NULL`).catch(() => undefined)
      }
    }
    expect(await rows()).toBe(before)
    expect(await fleet.query("SELECT id FROM worker WHERE role LIKE '%cpu'")).toEqual([{ id: 'of-cpu' }])
    expect(tables.length).toBeGreaterThan(20)
  })

  it('cannot join as a worker of another pool, nor with labels or workspaces that are not theirs', async () => {
    const worker = await fleet.host(500, gpu)
    const { seat } = await serve(await fleet.host(), { id: 'of-main', labels: ['gpu'] })
    for (const info of [
      { labels: ['cpu'] }, { labels: ['gpu'], workspaces: ['bank'] }, { id: 'of-cpu' },
      { id: 'of-main', labels: ['gpu'] },
    ]) await expect(serve(worker, info), JSON.stringify(info)).rejects.toMatchObject({ data: DENIED })
    await seat.close()
    const mallory = await connect(gpu)
    for (const attempt of [
      'INSERT INTO placed SELECT * FROM placed', 'DELETE FROM placed',
      "UPDATE placed SET labels = '{}'", "UPDATE placed SET ticket = ''", 'SELECT * FROM entry',
      'SELECT * FROM gate', 'SELECT write_job()', 'UPDATE store_version SET version = 1',
      `SELECT ${fleet.schema}_jobs.create_queue('x', '{}')`,
      `INSERT INTO ${fleet.schema}_jobs.job (name, data) VALUES ('x', '{}')`,
    ]) expect([attempt, await codeOf(mallory.query(attempt))]).toEqual([attempt, DENIED.code])
    await expect(addTenant(gpu, 'x', async () => undefined)).rejects.toThrow(/names the role of workers/)
  })

  it('leave maintenance to a login that sees no call, or to the main role', async () => {
    const url = await login('cleaner', 'maintenance')
    const caller = await fleet.host()
    const seat = await serve(await fleet.host(500, gpu), { labels: ['gpu'] })
    await caller.place(request({ id: 'old', callId: 'old', demand: { labels: ['gpu'], major: 1 } }),
      { onTaken() {}, onMessage() {}, onBegun() {}, onEnd() {} })
    await (await seat.next()).settle(Buffer.from(''))
    await seat.seat.close()
    await fleet.query("UPDATE placed SET deadline = now() - interval '2 days', ended = 'lost', worker = NULL")
    await fleet.query(`UPDATE ${fleet.schema}_jobs.job SET state = 'active', started_on = now() - interval '2 days'`)
    await maintainPostgres(url)
    expect(await fleet.rows('placed')).toEqual([0])
    expect(await fleet.query(`SELECT DISTINCT state::text FROM ${fleet.schema}_jobs.job`))
      .toEqual([{ state: 'completed' }])
    const cleaner = await connect(url)
    for (const attempt of ['SELECT ticket FROM placed', 'SELECT body FROM placed', 'SELECT result FROM placed',
      'SELECT * FROM package_chunk', 'SELECT * FROM entry', 'UPDATE placed SET ended = NULL', 'DELETE FROM entry']) {
      expect([attempt, await codeOf(cleaner.query(attempt))]).toEqual([attempt, DENIED.code])
    }
    await maintainPostgres(fleet.url)
  })

  it('are listed and removed', async () => {
    expect(await listPools(fleet.url)).toMatchObject([
      { name: 'cleaner', pool: 'maintenance' }, { name: 'cpu', pool: { labels: ['cpu'] } },
      { name: 'gpu', role: `${fleet.schema}_pool_gpu`, pool: { labels: ['gpu', 'region=eu'], workspaces: ['shop'] } },
    ])
    const add = (name: string, label: string) =>
      addPool(fleet.url, name, { labels: [label], workspaces: [] }, async () => undefined)
    await expect(add('gpu', 'gpu')).rejects.toThrow(/exists already/)
    await expect(add('x', "a'}' OR true")).rejects.toThrow(/neither a label/)
    for (const name of ['cleaner', 'cpu', 'gpu']) await removePool(fleet.url, name)
    expect(await listPools(fleet.url)).toEqual([])
    await expect(removePool(fleet.url, 'gpu')).rejects.toThrow(/no pool gpu/)
    await expect(openPostgresStore({ url: gpu })).rejects.toMatchObject({ data: { reason: 'denied' } })
    await add('gpu', 'gpu')
    await removePool(fleet.url, 'gpu')
  })
})
