import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openPostgresStore } from '@bulkhead/store-postgres'
import pg from 'pg'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { TenantHosts } from '../../src/facade/tenant-hosts.ts'
import { createHost, type CreateHostOptions, type Host, openSqliteStore } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { inside } from '../command-inside.ts'

let folder: string
let url: string
const hosts: Host[] = []

const home = () => join(folder, 'home/.bulkhead')
const config = { approvals: { project: true }, audit: { enabled: true } } as const

async function open(options: Partial<CreateHostOptions> = {}): Promise<Host> {
  const host = await createHost({
    workspace: join(folder, 'work'), home: home(), cache: CACHE, store: url, env: { SECRET: 'operator' }, config,
    ...options,
  })
  hosts.push(host)
  return host
}

const said = (work: Promise<unknown>) =>
  work.then(() => 'done', (error: Error & { code?: string }) => [error.code, error.message])
const refused = (code: string, message: RegExp) => [code, expect.stringMatching(message)]

/** Writes a file with an approval for the project by one principal. Resolves with whether a person was asked. */
async function write(host: Host, content: string): Promise<boolean> {
  let isAsked = false
  const session = await host.openSession({
    principal: { id: 'ada' },
    approver: { approve: async () => { isAsked = true; return { decision: 'project', by: 'Ada' } } },
  })
  expect(await session.call({ id: content, name: 'write', arguments: { path: 'a.txt', content } }))
    .toMatchObject({ type: 'output' })
  await session.close()
  return isAsked
}

/** The connections of each role. */
async function connections(): Promise<Readonly<Record<string, number>>> {
  const client = new pg.Client((await sharedPostgres()).url().replace(/\?.*/, ''))
  await client.connect()
  const { rows } = await client.query<{ usename: string; n: number }>(
    "SELECT usename, count(*)::int AS n FROM pg_stat_activity WHERE usename LIKE '%_tenant_%' GROUP BY 1")
  await client.end()
  return Object.fromEntries(rows.map(({ usename, n }) => [usename.replace(/^.*_tenant_/, ''), n]))
}

describe('hosts of tenants', needs('PostgreSQL'), () => {
  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-tenants-')))
    for (const path of [home(), join(folder, 'work')]) mkdirSync(path, { recursive: true })
    url = (await sharedPostgres()).url(newSchema())
    for (const name of ['acme', 'globex']) {
      const added = await inside(['store', 'tenant', 'add', name, '--home', home()], folder, { BULKHEAD_STORE: url })
      expect([added.code, added.stderr]).toEqual([0, expect.stringContaining(`host.forTenant('${name}')`)])
    }
  })
  afterEach(async () => { await Promise.all(hosts.splice(0).map((host) => host.close())) })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('have approvals, audits, files and secrets each for itself, also for the same principal', async () => {
    const main = await open()
    const [acme, globex] = await Promise.all([main.forTenant('acme'), main.forTenant('globex')])
    expect(await main.forTenant('acme')).toBe(acme)
    expect([await write(acme, 'acme'), await write(acme, 'again'), await write(globex, 'globex')])
      .toEqual([true, false, true])
    expect(readFileSync(join(folder, 'work/acme/a.txt'), 'utf8')).toBe('again')
    expect(readFileSync(join(folder, 'work/globex/a.txt'), 'utf8')).toBe('globex')
    for (const [host, seen] of [[acme, 1], [globex, 1], [main, 0]] as const) {
      expect((await host.approvals.list({ workspace: undefined } as never)).length).toBe(seen)
    }
    expect((await main.hosts()).length).toBe(1)
    expect((await acme.hosts()).length).toBe(1)
    await Promise.all([acme.flush(), globex.flush()])
    const store = await openPostgresStore({ url, tenant: { name: 'acme', folder: join(home(), 'tenants') } })
    const audit = JSON.stringify(await store.records())
    expect(audit).toContain('"again"')
    expect(audit).not.toContain('globex')
    await store.close()
    await main.close()
    expect(await connections()).toEqual({})
    expect(await said(acme.openSession())).toEqual(refused('HostClosed', /closed/))
  })

  it('get no secret of the main host, and their own', async () => {
    const passing = { ...config, commands: { env: { pass: ['SECRET'] } } }
    const main = await open({ config: passing, env: { SECRET: 'operator', PATH: process.env['PATH'], LANG: 'C' } })
    const opened: Host[] = []
    const [acme, globex] = await Promise.all([
      main.forTenant('acme', { onOpen: (host) => void opened.push(host) }),
      main.forTenant('globex', { env: { SECRET: 'of globex', PATH: process.env['PATH'] } }),
    ])
    expect(opened).toEqual([acme])
    for (const [host, secret] of [[main, 'operator'], [acme, ''], [globex, 'of globex']] as const) {
      const session = await host.openSession({ mode: 'yolo' })
      const outcome = await session.call({ id: 'env', name: 'bash', arguments: { command: 'echo "[$SECRET] $LANG"' } })
      expect(JSON.stringify(outcome)).toContain(`[${secret}]`)
    }
    await main.close()
  })

  it('close when they had no session for a while, and the next one opens another', async () => {
    const closed: string[] = []
    const made: unknown[] = []
    const given = { workspace: join(folder, 'work'), store: url, home: home(), trust: 'trusted' } as const
    const tenants = new TenantHosts(given, async (options, onClose) => {
      made.push([options.tenant, options.trust])
      const host = await createHost({ ...options, cache: CACHE })
      const close = () => {
        closed.push(options.tenant)
        onClose()
        return host.close()
      }
      return { ...host, close }
      // To open a session takes its time on a busy machine.
    }, 3_000)
    const first = await tenants.host('acme')
    const session = await first.openSession()
    await tenants.host('globex')
    await expect.poll(() => closed).toEqual(['globex'])
    expect(await tenants.host('acme')).toBe(first)
    expect(await connections()).toEqual({ acme: expect.any(Number) as unknown })
    await session.close()
    await expect.poll(() => closed).toEqual(['globex', 'acme'])
    await expect.poll(connections).toEqual({})
    expect(await tenants.host('acme')).not.toBe(first)
    await tenants.close()
    expect(closed).toEqual(['globex', 'acme', 'acme'])
    expect(made).toEqual(['acme', 'globex', 'acme'].map((tenant) => [tenant, 'declined']))
    expect(await said(tenants.host('acme'))).toEqual(refused('HostClosed', /closed/))
  })

  it('are opened by createHost, too, and refused with what is wrong', async () => {
    const acme = await open({ tenant: 'acme', workspace: join(folder, 'work/acme') })
    expect(await write(acme, 'once more')).toBe(false)
    expect(await said(acme.forTenant('globex'))).toEqual(refused('ConfigInvalid', /host of the tenant acme/))
    const main = await open()
    expect(await said(main.forTenant('../x'))).toEqual(refused('ConfigInvalid', /cannot be the name of a tenant/))
    expect(existsSync(join(folder, 'x'))).toBe(false)
    expect(await said(main.forTenant('unknown'))).toEqual(refused('StoreUnavailable', /passwordfile/))
    expect(await said(main.forTenant('acme', { store: 'x' } as never))).toEqual(refused('ConfigInvalid', /store/))
    const file = await openSqliteStore({ file: join(folder, 'one.db') })
    const one = await open({ store: file })
    const oneTenant = refused('ConfigInvalid', /only PostgreSQL has tenants/)
    expect(await said(one.forTenant('acme'))).toEqual(oneTenant)
    expect(await said(open({ store: file, tenant: 'acme' }))).toEqual(oneTenant)
    const memory = { workspace: folder, home: home(), cache: CACHE, env: {} }
    expect(await said(createHost({ ...memory, tenant: 'acme' }))).toEqual(oneTenant)
  })

  it('have budgets each for itself, counted once over the hosts of a tenant', async () => {
    const limited = { ...config, budget: { calls: 10 } }
    const [here, there] = await Promise.all([open({ config: limited }), open({ config: limited })])
    /** How many of eight calls of one principal ran in each of these hosts. */
    const spend = async (...of: readonly Host[]) => Promise.all(of.map(async (host, index) => {
      const session = await host.openSession({ mode: 'yolo', principal: { id: 'ada' } })
      const calls = Array.from({ length: 8 }, (_, number) =>
        session.call({ id: `${index}-${number}`, name: 'list', arguments: { path: '.' } }))
      return { session, outcomes: await Promise.all(calls) }
    }))
    const codes = (spent: Awaited<ReturnType<typeof spend>>) => spent.flatMap(({ outcomes }) => outcomes)
      .map((outcome) => outcome.type === 'error' ? outcome.error.code : 'ran').toSorted()
    const [acme, again] = await Promise.all([here.forTenant('acme'), there.forTenant('acme')])
    expect(again).not.toBe(acme)
    const spent = await Promise.all([
      spend(acme, again), here.forTenant('globex').then((globex) => spend(globex)), spend(here),
    ])
    const [ofAcme, ofGlobex, ofMain] = spent.map(codes)
    expect(ofAcme).toEqual([...Array<string>(6).fill('BudgetExhausted'), ...Array<string>(10).fill('ran')])
    expect([ofGlobex, ofMain]).toEqual(Array(2).fill(Array(8).fill('ran')))
    // What is left of one budget, while that of the other is used up.
    const rest = await spend(await there.forTenant('globex'))
    expect(codes(rest)).toEqual([...Array<string>(6).fill('BudgetExhausted'), ...Array<string>(2).fill('ran')])
    await Promise.all([...spent, rest].flat().map(({ session }) => session.close()))
    // Tenants need not have the same one.
    await acme.close()
    const less = await here.forTenant('acme', { config: { ...config, budget: { calls: 3 } } })
    const last = await spend(less)
    expect(codes(last).filter((code) => code === 'ran')).toHaveLength(3)
    await last[0]!.session.close()
  })

  it('have no connection without a session, and hear with the next one what happened meanwhile', async () => {
    const idleMs = 300
    const openAcme = async () => {
      const tenant = { name: 'acme', folder: join(home(), 'tenants') }
      const store = await openPostgresStore({ url, tenant }, { idleMs })
      return { store, host: await open({ store, workspace: join(folder, 'work/acme') }) }
    }
    mkdirSync(join(folder, 'work/acme'), { recursive: true })
    const [main, one, two] = [await open(), await openAcme(), await openAcme()]
    const three = await open({ tenant: 'acme', workspace: join(folder, 'work/acme') })
    await write(three, 'first')
    const left = await three.openSession({ principal: { id: 'ada' } })
    await left.call({ id: 'read', name: 'read', arguments: { path: 'a.txt' } })
    await three.close()
    const kept = await one.host.openSession({ principal: { id: 'ada' } })
    const listed = async () => (await one.host.hosts()).map(({ sessions }) => sessions.length)
    await expect.poll(listed).toEqual([1])
    await (await two.host.openSession({ principal: { id: 'ada' } })).close()
    expect(await listed()).toHaveLength(2)
    // A session that is open keeps its host listed, and its connections.
    await expect.poll(listed).toEqual([1])
    await kept.close()
    await expect.poll(connections).toEqual({})
    expect(await one.host.hosts()).toEqual([])

    await main.freeze({ by: 'operator' })
    const session = await one.host.resumeSession(left.id, { principal: { id: 'ada' } })
    // Its claim counts before its first call.
    expect(await said(two.host.resumeSession(left.id, { principal: { id: 'ada' } })))
      .toEqual(refused('SessionActiveElsewhere', /open in another host/))
    const call = { name: 'write', arguments: { path: 'a.txt', content: 'b' } }
    expect(await session.call({ ...call, id: 'frozen' })).toMatchObject({ error: { code: 'HostFrozen' } })
    const shown = async () => (await two.host.hosts()).flatMap(({ sessions }) => sessions)
    await expect.poll(shown).toHaveLength(1)
    await session.close()
    await expect.poll(connections).toEqual({})

    await main.thaw()
    expect(await write(one.host, 'approved')).toBe(false)
    await expect.poll(connections).toEqual({})
    for (const { id } of await two.host.approvals.list()) await two.host.approvals.revoke(id, 'Ada')
    expect(await write(one.host, 'revoked')).toBe(true)
    await Promise.all([one, two].map(async ({ store, host }) => { await host.close(); await store.close() }))
  })
})
