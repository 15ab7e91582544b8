import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { TenantWorld } from './world.ts'

/** Which version the tables have, and which workers there are: nothing about tenants. */
const SHARED: ReadonlySet<string> = new Set(['store_version', 'worker'])

let world: TenantWorld
let admin: pg.Client
let mallory: pg.Client
let tables: readonly string[]
const secrets = new Map<string, string>()

const DENIED = { code: '42501' }

const own = (): readonly string[] => tables.filter((table) => !SHARED.has(table))

/** Every row of other tenants, as text. */
async function ofOthers(): Promise<string> {
  const found = await Promise.all(own().map(async (table) => {
    const { rows } = await admin.query<{ row: string }>(
      `SELECT one::text AS row FROM ${world.schema}.${table} AS one WHERE tenant <> 'mallory' ORDER BY 1`)
    return rows.map(({ row }) => `${table} ${row}`).filter((row) => !row.startsWith('heartbeat'))
  }))
  return found.flat().join('\n')
}

describe('a connection with the credentials of one tenant', needs('PostgreSQL'), () => {
  beforeAll(async () => {
    world = await TenantWorld.make('alice', 'mallory')
    await world.serve()
    for (const name of ['', 'alice', 'mallory']) secrets.set(name, (await world.fill(name)).secret)
    admin = await world.connect('')
    mallory = await world.connect('mallory')
    tables = await world.tables()
  })
  afterAll(() => world?.close())

  it('finds row security, the tenant in every key, and something of each tenant in every table of ours', async () => {
    for (const table of own()) {
      const at = `${world.schema}.${table}`
      const { rows: [row] } = await admin.query(`SELECT relrowsecurity AS secured, (
          SELECT count(*)::int FROM pg_policy WHERE polrelid = pg_class.oid) AS policies, (
          SELECT count(*)::int FROM pg_constraint
          WHERE conrelid = pg_class.oid AND contype IN ('p', 'u', 'f') AND conname <> 'placed_pkey' AND NOT (
            SELECT attnum FROM pg_attribute
            WHERE attrelid = pg_class.oid AND attname = 'tenant') = ANY(conkey)) AS keys_without
        FROM pg_class WHERE oid = $1::regclass`, [at])
      expect([table, row]).toEqual([table, { secured: true, policies: 1, keys_without: 0 }])
      const { rows } = await admin.query<{ tenant: string }>(`SELECT DISTINCT tenant FROM ${at} ORDER BY 1`)
      expect([table, ...rows.map(({ tenant }) => tenant)]).toEqual([table, '', 'alice', 'mallory'])
      // What the server sampled for its guesses would show in EXPLAIN.
      await admin.query(`ANALYZE ${at}`)
    }
    const { rows } = await admin.query(
      'SELECT DISTINCT attname FROM pg_stats WHERE schemaname = $1 ORDER BY 1', [world.schema])
    expect(rows.map(({ attname }) => attname)).toEqual(['collection', 'epoch', 'tenant'])
  })

  it('reads only its own rows, in every way to read', async () => {
    for (const table of own()) {
      const at = `${world.schema}.${table}`
      const { rows } = await mallory.query<{ tenant: string }>(`SELECT DISTINCT tenant FROM ${at}`)
      expect([table, rows]).toEqual([table, [{ tenant: 'mallory' }]])
      const { rows: sampled } = await mallory.query(
        `SELECT tenant FROM ${at} TABLESAMPLE SYSTEM (100) WHERE tenant <> 'mallory'`)
      expect([table, sampled]).toEqual([table, []])
      await mallory.query(`SET row_security = off`)
      await expect(mallory.query(`SELECT * FROM ${at}`), table).rejects.toMatchObject(DENIED)
      await mallory.query(`RESET row_security`)
      // A function that is cheap, so that it would run before the condition of the policy, and tells what it is given.
      await mallory.query(`CREATE OR REPLACE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001
        AS $$ BEGIN IF $1 <> 'mallory' THEN RAISE EXCEPTION 'saw %', $1; END IF; RETURN true; END $$`)
      await mallory.query(`SELECT * FROM ${at} WHERE pg_temp.tell(tenant)`)
    }
  })

  it('changes no row of another, in every way to change', async () => {
    const { schema } = world
    const waiting = async () => (await admin.query(`SELECT FROM ${schema}.placed WHERE worker IS NULL`)).rowCount
    await expect.poll(waiting).toBe(0)
    const before = await ofOthers()
    for (const table of tables) {
      const at = `${world.schema}.${table}`
      const columns = (await admin.query<{ attname: string }>(
        'SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped', [at],
      )).rows.map(({ attname }) => attname)
      const attempts = [
        `DELETE FROM ${at}`, `TRUNCATE ${at}`, `TRUNCATE ${at} CASCADE`, `INSERT INTO ${at} SELECT * FROM ${at}`,
        `COPY ${at} FROM STDIN`, `DROP TABLE ${at} CASCADE`, `ALTER TABLE ${at} DISABLE ROW LEVEL SECURITY`,
        `ALTER TABLE ${at} OWNER TO current_user`, `CREATE POLICY mine ON ${at} USING (true)`,
        `CREATE TRIGGER mine AFTER INSERT ON ${at} EXECUTE FUNCTION ${world.schema}.approval_changed()`,
        `CREATE RULE mine AS ON SELECT TO ${at} DO INSTEAD SELECT 1`, `CREATE INDEX mine ON ${at} (tenant)`,
        `CREATE TEMP TABLE mine (tenant text REFERENCES ${at})`, `GRANT ALL ON ${at} TO PUBLIC`, `VACUUM FULL ${at}`,
        `COMMENT ON TABLE ${at} IS 'x'`, `ALTER TABLE ${at} ADD x int`, `SELECT * FROM ${at} FOR UPDATE`,
        ...columns.map((column) => `UPDATE ${at} SET "${column}" = "${column}"`),
        `UPDATE ${at} SET tenant = 'alice'`, `UPDATE ${at} SET tenant = ''`,
        ...(columns.includes('tenant') ? [
          `INSERT INTO ${at} SELECT (jsonb_populate_record(one, '{"tenant": "alice"}')).* FROM ${at} AS one`,
          `INSERT INTO ${at} OVERRIDING SYSTEM VALUE
            SELECT (jsonb_populate_record(one, '{"tenant": ""}')).* FROM ${at} AS one`,
        ] : []),
      ]
      for (const attempt of attempts) {
        await mallory.query('BEGIN')
        await mallory.query(attempt).catch(() => undefined)
        await mallory.query('COMMIT')
      }
    }
    expect(await ofOthers()).toBe(before)
    expect(await world.tables()).toEqual(tables)
  })

  it('has no right beside its rows: on no role, object, lock, value of others or queue', async () => {
    const { schema } = world
    const { rows: [at] } = await admin.query<{ chain: number }>(
      `SELECT id AS chain FROM ${schema}.audit_chain WHERE tenant = 'alice'`)
    const refused = [
      'SET ROLE postgres', `SET ROLE "${schema}_tenant_alice"`, `SET SESSION AUTHORIZATION "${schema}_tenant_alice"`,
      `ALTER ROLE "${schema}_tenant_alice" PASSWORD 'x'`, `ALTER ROLE "${schema}_tenant_mallory" BYPASSRLS`,
      `ALTER ROLE "${schema}_tenant_alice" RENAME TO "${schema}_tenant_bob"`, 'CREATE ROLE other',
      `CREATE FUNCTION ${schema}.lower(text) RETURNS text LANGUAGE sql AS 'SELECT 1'`, `CREATE TABLE ${schema}.mine ()`,
      'CREATE TABLE public.mine ()', 'CREATE SCHEMA mine', `ALTER SCHEMA ${schema} RENAME TO mine`,
      `DROP SCHEMA ${schema}`, `SELECT FROM ${schema}_jobs.job`, `DELETE FROM ${schema}_jobs.queue`,
      `SELECT ${schema}_jobs.create_queue('x', '{}')`,
      `ALTER FUNCTION ${schema}.approval_changed() RESET ALL`, `DROP FUNCTION ${schema}.approval_changed() CASCADE`,
      `SELECT nextval('${schema}.change_id_seq')`, `SELECT last_value FROM ${schema}.change_id_seq`,
      `SELECT setval('${schema}.change_id_seq', 1)`,
      `DO $$ BEGIN LOCK ${schema}.store_version IN SHARE MODE; END $$`,
      `SELECT * FROM ${schema}.store_version FOR UPDATE`, `INSERT INTO ${schema}.gate (tenant) VALUES ('mallory2')`,
      `UPDATE ${schema}.gate SET held = NULL`, `DELETE FROM ${schema}.gate`, "SELECT pg_read_file('/etc/passwd')",
      `COPY ${schema}.entry TO PROGRAM 'cat'`, 'SELECT * FROM pg_authid', 'SELECT * FROM pg_statistic',
      'CREATE EXTENSION lo',
    ]
    for (const attempt of refused) {
      const { code } = await mallory.query(attempt).then(() => ({ code: 'none' }), (error: { code: string }) => error)
      expect([attempt, code]).toEqual([attempt, '42501'])
    }
    // The key of another and one that is nobody's are refused with the same words.
    const insert = (chain: number) => mallory.query(
      `INSERT INTO ${schema}.audit (chain, position, record, link, token) VALUES ($1, 1, '', '', 1)`, [chain],
    ).catch((error: Error) => error.message)
    expect(await insert(at!.chain)).toBe(await insert(at!.chain - 1))
    const seat = (tenant: string) => mallory.query(
      `INSERT INTO ${schema}.seat (tenant, id, info) VALUES ($1, 'same', '')`, [tenant],
    ).catch((error: Error) => error.message)
    expect(await seat('alice')).toBe(await seat('nobody'))
    const { rows: others } = await mallory.query(`SELECT query FROM pg_stat_activity
      WHERE usename <> current_user AND query NOT LIKE '<insufficient privilege>%' AND query <> ''`)
    expect(others).toEqual([])
    const { rows: samples } = await mallory.query('SELECT * FROM pg_stats WHERE schemaname = $1', [schema])
    expect(samples.filter(({ tablename }: { tablename: string }) => !SHARED.has(tablename))).toEqual([])
  })

  it('hears that something changed, and not what', async () => {
    const heard: (readonly [string, string | undefined])[] = []
    mallory.on('notification', ({ channel, payload }) => heard.push([channel, payload]))
    await mallory.query(`LISTEN "bulkhead_${world.schema}"`)
    const alice = await world.store('alice')
    await alice.write('approval', 'other', 1)
    await alice.work!.freeze({ by: 'Ada' })
    await alice.work!.thaw()
    await expect.poll(async () => {
      await mallory.query('SELECT 1')
      return heard
    }).toEqual(Array.from({ length: 3 }, () => [`bulkhead_${world.schema}`, '']))
  })
})
