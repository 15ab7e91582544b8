import pg from 'pg'
import { expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { Database } from '../../src/connection/database.ts'
import { readStoreUrl } from '../../src/connection/store-url.ts'
import { addTenant, migratePostgres, openPostgresStore } from '../../src/index.ts'
import { HOSTS } from '../../src/migrations/hosts.ts'
import { migrate, SCHEMA_VERSION } from '../../src/schema.ts'
import { hostInfo, LISTENER } from './world.ts'

/** What a host of the version before sends, as it sent it. */
const OLD = {
  join: 'INSERT INTO @.seat (id, info) VALUES ($1, $2)',
  beating: 'INSERT INTO @.heartbeat (seat) VALUES ($1)',
  write: `INSERT INTO @.entry (collection, id, key, value, revision)
    VALUES ('state', sha256($1::text::bytea), $1, $2, 1)
    ON CONFLICT (collection, id) DO UPDATE SET value = excluded.value, revision = excluded.revision`,
  start: `WITH state AS MATERIALIZED (SELECT revision, epoch, frozen FROM @.gate FOR SHARE),
    started AS (
      INSERT INTO @.open_call (seat, number, call, begun) SELECT $1, 1, '{}', '[]' FROM state WHERE state.frozen IS NULL
      ON CONFLICT (seat, number) DO UPDATE SET call = excluded.call, begun = excluded.begun RETURNING number
    ) SELECT state.frozen, ARRAY(SELECT number::text FROM started) AS started FROM state`,
  show: `INSERT INTO @.shown (seat, kind, id, value) VALUES ($1, 'session', 's', '{}')
    ON CONFLICT (seat, kind, id) DO UPDATE SET value = excluded.value`,
  content: `INSERT INTO @.content (digest, size, used, at, bytes) VALUES ($1, 1, 1, 1, '')
    ON CONFLICT (digest) DO UPDATE SET used = 2`,
  chain: 'INSERT INTO @.audit_chain (name) VALUES ($1) ON CONFLICT DO NOTHING',
  freeze: `WITH done AS (UPDATE @.gate SET frozen = $1, number = number + 1 RETURNING number)
    SELECT number, pg_notify('x', 'gate') FROM done`,
  thaw: 'UPDATE @.gate SET frozen = NULL, number = number + 1 WHERE frozen IS NOT NULL',
} as const

it('hosts of the version before go on beside new ones, and tenants wait for them', needs('PostgreSQL'), async () => {
  const schema = newSchema()
  const url = (await sharedPostgres()).url(schema)
  const first = new Database(readStoreUrl(url))
  expect(await migrate(first, [HOSTS])).toEqual([0, 1])
  await first.close()
  const client = new pg.Client(url)
  await client.connect()
  const old = async (what: keyof typeof OLD, ...values: string[]) =>
    (await client.query(OLD[what].replaceAll('@.', `${schema}.`), values)).rows as object[]
  await old('join', 'old', '{}')
  await old('beating', 'old')
  await old('write', 'key', '"old"')

  const store = await openPostgresStore({ url })
  expect(await migratePostgres(url)).toEqual({ from: SCHEMA_VERSION - 2, to: SCHEMA_VERSION - 2 })
  await expect(addTenant(url, 'alice', async () => undefined)).rejects.toMatchObject({
    code: 'StoreUnavailable',
    message: expect.stringMatching(/hosts of an older version, and some of these still run/) as unknown,
  })
  expect(await store.read('state', 'key')).toBe('old')
  const seat = await store.work!.join(hostInfo('new'), LISTENER)
  for (const round of ['1', '2']) {
    await old('write', 'key', `"${round}"`)
    expect(await store.read('state', 'key')).toBe(round)
    await store.write('state', 'key', 'new')
    expect(await old('start', 'old')).toEqual([{ frozen: null, started: ['1'] }])
    for (const [what, value] of [['show', 'old'], ['content', 'd'], ['chain', 'old']] as const) await old(what, value)
  }
  await old('freeze', '{"by":"old"}')
  const call = seat.open({ terms: { sessionId: 's', tool: 't', effects: 'once', origin: null as never }, callId: 'c' })
  expect(await call.start({ at: 1, revision: undefined, isInline: false })).toMatchObject({ is: 'frozen' })
  await old('thaw')
  expect((await store.work!.hosts()).map(({ id }) => id)).toEqual(['old', 'new'])
  // A new key that both kinds of keys contain, from many hosts at once.
  const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgresStore({ url })))
  for (let n = 0; n < 50; n++) await Promise.all(stores.map((one) => one.write('state', `new-${n}`, n)))
  await Promise.all(stores.map((one) => one.close()))

  await client.query(`ANALYZE ${schema}.entry`)
  const samples = async () => (await client.query(`SELECT attname FROM pg_stats WHERE schemaname = '${schema}'`)).rows
    .map(({ attname }) => attname as string)
  expect(await samples()).toContain('value')
  await client.query(`UPDATE ${schema}.heartbeat SET at = at - interval '1 hour' WHERE seat = 'old'`)
  await addTenant(url, 'alice', async () => undefined)
  expect(await migratePostgres(url)).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION })
  expect((await samples()).toSorted()).toEqual(['collection', 'tenant'])
  expect(await store.read('state', 'key')).toBe('new')
  await store.write('state', 'key', 'newest')
  await expect(old('write', 'key', '"old"')).rejects.toMatchObject({ code: '42P10' })
  await store.close()
  await client.end()
})
