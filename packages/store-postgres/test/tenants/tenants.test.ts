import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { addTenant, listTenants, openPostgresStore, removeTenant } from '../../src/index.ts'
import { hostInfo, LISTENER, TenantWorld } from './world.ts'

const TERMS = { sessionId: 's', tool: 't', effects: 'once', origin: null as never } as const
const keep = async (): Promise<void> => undefined

let world: TenantWorld
describe('tenants of one store', needs('PostgreSQL'), () => {
  beforeAll(async () => { 
    world = await TenantWorld.make('alice', 'bob')
    await world.serve()
  })
  afterAll(() => world?.close())

  it('have keys, contents, hosts and an audit each for itself, also beside a main host as superuser', async () => {
    const names = ['', 'alice', 'bob']
    const filled = await Promise.all(names.map((name) => world.fill(name)))
    for (const { store, secret } of filled) {
      expect(await store.list('state')).toEqual([{ key: 'key', value: secret }])
      expect(await store.records()).toMatchObject([{ position: 1, record: { secret } }])
      expect((await store.chains!()).length).toBe(1)
      expect(await store.changes!.list({})).toMatchObject([{ path: secret }])
      expect(Buffer.from((await store.changes!.content('same'))!).toString()).toBe(secret)
      expect(await store.work!.hosts()).toMatchObject([{
        id: 'same', calls: [{ sessionId: secret, begun: [{ what: secret }] }], sessions: [{ row: { secret } }],
      }])
      expect(await store.work!.isGone('same')).toBe(false)
    }
    const before = await filled[1]!.store.work!.revision()
    await filled[0]!.store.write('approval', 'other', 1)
    await filled[2]!.store.remove('approval', 'key')
    expect(await filled[1]!.store.work!.revision()).toBe(before)
  })

  it('start nothing while the operator has frozen all, and cannot thaw that', async () => {
    const [main, alice, bob] = await Promise.all(['', 'alice', 'bob'].map((name) => world.store(name)))
    const seat = await alice!.work!.join(hostInfo('frozen'), LISTENER)
    const start = (callId: string) =>
      seat.open({ terms: TERMS, callId }).start({ at: 1, revision: undefined, isInline: false })
    await bob!.work!.freeze({ by: 'Bob' })
    expect(await start('one')).toEqual({ is: 'started' })
    await main!.work!.freeze({ by: 'operator' })
    expect(await start('two')).toMatchObject({ is: 'frozen', freeze: { by: 'operator' } })
    await expect(alice!.work!.thaw()).rejects.toMatchObject({ message: expect.stringMatching(/operator/) as unknown })
    expect(await start('three')).toMatchObject({ is: 'frozen' })
    await main!.work!.thaw()
    expect(await start('four')).toEqual({ is: 'started' })
    expect(await bob!.work!.frozen()).toMatchObject({ by: 'Bob' })
  })

  it('are listed, and removed with every record', async () => {
    const url = (await sharedPostgres()).url(world.schema)
    expect(await listTenants(url)).toMatchObject([
      { name: 'alice', role: `${world.schema}_tenant_alice`, frozen: false }, { name: 'bob' },
    ])
    await removeTenant(url, 'bob')
    expect((await listTenants(url)).map(({ name }) => name)).toEqual(['alice'])
    await addTenant(url, 'bob', keep)
    const admin = await world.connect('')
    for (const table of (await world.tables()).filter((name) => !/^(?:store_version|worker)$/.test(name))) {
      const { rows } = await admin.query(`SELECT tenant FROM ${world.schema}.${table} WHERE tenant = 'bob'`)
      expect([table, rows.length]).toEqual([table, table === 'gate' ? 1 : 0])
    }
    await removeTenant(url, 'bob')
  })

  it('are refused with what is wrong, and nothing is made if their password cannot be kept', async () => {
    const { port, url } = await sharedPostgres()
    const schema = newSchema()
    const at = url(schema)
    const said = (use: Promise<unknown>) => use.then(() => 'done', (error: Error) => error.message)
    await addTenant(at, 'alice', keep)
    expect(await said(addTenant(at, 'alice', keep))).toMatch(/role test_\d+_tenant_alice exists already/)
    for (const name of ['', 'A', "x'; DROP", 'a b', '../a', 'x'.repeat(64)]) {
      expect(await said(addTenant(at, name, keep))).toMatch(/cannot be the name of a tenant. Use up to \d+ lower-case/)
    }
    expect(await said(addTenant(at, 'bob', async () => { throw new Error('no room') }))).toMatch(/no room/)
    expect((await listTenants(at)).map(({ name }) => name)).toEqual(['alice'])
    expect(await said(removeTenant(at, 'bob'))).toMatch(/There is no tenant bob/)
    const admin = await world.connect('')
    await admin.query(`CREATE ROLE limited_${schema} LOGIN PASSWORD 'x';
      GRANT USAGE ON SCHEMA ${schema} TO limited_${schema};
      GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO limited_${schema}`)
    const limited = `postgres://limited_${schema}:x@127.0.0.1:${port}/postgres?schema=${schema}`
    expect(await said(addTenant(limited, 'bob', keep))).toMatch(/limited_test_\d+ may not create roles/)
    await admin.query(`ALTER ROLE limited_${schema} CREATEROLE`)
    expect(await said(addTenant(limited, 'bob', keep))).toMatch(/does not own the tables .* GRANT "postgres" TO/)
    const { role, password } = await addTenant(at, 'carol', keep)
    const carol = `postgres://${role}:${password}@127.0.0.1:${port}/postgres?schema=${schema}`
    expect(await said(addTenant(carol, 'bob', keep))).toMatch(/URL names the tenant carol/)
    expect(await said(openPostgresStore({ url: carol.replace('carol', "x'") })))
      .toMatch(/cannot be the name of a tenant/)
  })
})
