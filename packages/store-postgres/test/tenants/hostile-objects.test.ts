import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { migratePostgres, openPostgresStore } from '../../src/index.ts'
import { hostInfo, LISTENER, TenantWorld } from './world.ts'

const DENIED = '42501'
/** Those with rows that a tenant deletes itself. PostgreSQL gives a role that may delete every lock on a table. */
const LOCKABLE = [
  'audit', 'change', 'content', 'entry', 'open_call', 'placed', 'placed_chunk', 'placed_message', 'seat', 'shown',
]

let world: TenantWorld
let admin: pg.Client
let mallory: pg.Client
let jobs: string

const codeOf = (text: string, values: unknown[] = []) =>
  mallory.query(text, values).then(() => 'done', (error: { code: string }) => error.code)
const listed = async (text: string) => (await admin.query<{ one: string }>(text)).rows.map(({ one }) => one)
const inBoth = () => `('${world.schema}'::regnamespace, '${jobs}'::regnamespace)`

/** Runs statements of a tenant that leave nothing. */
async function inVain(work: () => Promise<void>): Promise<void> {
  await mallory.query('BEGIN')
  try {
    await work()
  } finally {
    await mallory.query('ROLLBACK')
  }
}

describe('the objects that a tenant finds on the server', needs('PostgreSQL'), () => {
  beforeAll(async () => {
    world = await TenantWorld.make('alice', 'mallory')
    jobs = `${world.schema}_jobs`
    await world.serve()
    for (const name of ['', 'alice', 'mallory']) await world.fill(name)
    admin = await world.connect('')
    mallory = await world.connect('mallory')
  })
  afterAll(() => world?.close())

  it('are no tables, views or sequences of the queue, by the catalogue', async () => {
    const found = await listed(`SELECT oid::regclass::text AS one FROM pg_class
      WHERE relnamespace = '${jobs}'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')`)
    expect(found.length).toBeGreaterThan(10)
    for (const one of found) {
      for (const attempt of [`SELECT * FROM ${one}`, `DELETE FROM ${one}`, `TRUNCATE ${one}`]) {
        expect([attempt, await codeOf(attempt)]).toEqual([attempt, DENIED])
      }
    }
    for (const one of ['worker', 'store_version'].map((table) => `${world.schema}.${table}`)) {
      for (const attempt of [`DELETE FROM ${one}`, `TRUNCATE ${one}`, `INSERT INTO ${one} SELECT * FROM ${one}`]) {
        expect([attempt, await codeOf(attempt)]).toEqual([attempt, DENIED])
      }
    }
    expect(await codeOf(`UPDATE ${world.schema}.worker SET channel = channel`)).toBe(DENIED)
    const sequences = await listed(`SELECT oid::regclass::text AS one FROM pg_class
      WHERE relkind = 'S' AND relnamespace IN ${inBoth()}`)
    expect(sequences.length).toBeGreaterThan(0)
    for (const one of sequences) {
      for (const use of [`nextval('${one}')`, `setval('${one}', 1)`, `pg_get_sequence_data('${one}')`]) {
        expect([use, await codeOf(`SELECT ${use}`)]).toEqual([use, expect.stringMatching(/^(?:42501|42883)$/)])
      }
      expect([one, await codeOf(`SELECT * FROM ${one}`)]).toEqual([one, DENIED])
    }
  })

  it('are no functions, by the catalogue: neither by a call nor by a trigger on a table of its own', async () => {
    const { rows } = await admin.query<{ name: string; trigger: boolean; types: string[] }>(`
      SELECT oid::regproc::text AS name, prorettype = 'trigger'::regtype AS trigger,
        ARRAY(SELECT format_type(type, NULL) FROM unnest(proargtypes) AS type) AS types
      FROM pg_proc WHERE pronamespace IN ${inBoth()}`)
    expect(rows.filter(({ trigger }) => trigger).map(({ name }) => name.replace(/^.*\./, '')))
      .toEqual(expect.arrayContaining(['approval_changed', 'write_job']))
    await mallory.query('CREATE TEMP TABLE own (id text, epoch int, queue text, tenant text)')
    for (const { name, trigger, types } of rows) {
      const call = `SELECT ${name}(${types.map((type) => `NULL::${type}`).join()})`
      expect([call, await codeOf(call)]).toEqual([call, DENIED])
      if (!trigger) continue
      const made = `CREATE TRIGGER mine AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION ${name}()`
      expect([made, await codeOf(made)]).toEqual([made, DENIED])
    }
    const definers = await listed(`SELECT proname AS one FROM pg_proc
      WHERE pronamespace IN ${inBoth()} AND prosecdef`)
    expect(definers).toEqual(['write_job'])
    expect(await listed(`SELECT proconfig::text AS one FROM pg_proc WHERE prosecdef
      AND pronamespace = '${world.schema}'::regnamespace`)).toEqual(['{"search_path=pg_catalog, pg_temp"}'])
  })

  it('write jobs of its own calls only, whatever hides the names that the function uses', async () => {
    const { schema } = world
    const count = () => listed(`SELECT count(*)::text AS one FROM ${jobs}.job_common WHERE group_id LIKE '%alice'`)
    const before = await count()
    const tricks = `SET search_path = pg_temp, ${schema};
      CREATE TEMP TABLE queue (name text, expire_seconds int, policy text);
      CREATE TEMP TABLE job_common (name text); CREATE TEMP TABLE placed (id text);
      CREATE FUNCTION pg_temp.jsonb_build_object(text, text, text, int) RETURNS jsonb LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'reached by %', current_user; END $$;
      CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'reached by %', current_user; END $$;
      CREATE FUNCTION pg_temp.equals(text, text) RETURNS boolean LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'reached by %', current_user; END $$;
      CREATE OPERATOR pg_temp.= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.equals)`
    for (const trick of tricks.split(/;\s+(?=CREATE)/)) await mallory.query(trick)
    const place = (id: string, queue: string) => mallory.query(`INSERT INTO ${schema}.placed
      (id, queue, labels, major, session, call, caller, deadline, ticket, body)
      VALUES ($1, $2, '{}', 1, 's', 'c', 'x', now(), '', '')`, [id, queue])
    await place('of-mallory', `calls-${'0'.repeat(32)}`)
    await mallory.query(`UPDATE ${schema}.placed SET epoch = 7 WHERE id OPERATOR(pg_catalog.=) 'of-mallory'`)
    await expect(place('other', 'calls-x')).rejects.toMatchObject({ code: '23514' })
    const { rows } = await admin.query(`SELECT group_id, data FROM ${jobs}.job_common WHERE data->>'id' = 'of-mallory'
      ORDER BY (data->>'epoch')::int`)
    const mine = { group_id: `${schema}_tenant_mallory` }
    expect(rows).toEqual([1, 7].map((epoch) => ({ ...mine, data: { id: 'of-mallory', epoch } })))
    // The call of another: its id is taken.
    const [of] = await listed(`SELECT id AS one FROM ${schema}.placed WHERE tenant = 'alice'`)
    await expect(place(of!, `calls-${'0'.repeat(32)}`)).rejects.toMatchObject({ code: '23505' })
    expect(await count()).toEqual(before)
    await mallory.query(`DELETE FROM ${schema}.placed; RESET search_path; DISCARD TEMP`)
  })

  it('are locks only of tables whose rows it deletes, so a freeze and a migration wait for no tenant', async () => {
    const { schema } = world
    const lockable: string[] = []
    for (const table of await world.tables()) {
      await inVain(async () => {
        if (await codeOf(`LOCK ${schema}.${table} IN ACCESS EXCLUSIVE MODE`) === 'done') lockable.push(table)
      })
    }
    expect(lockable).toEqual(LOCKABLE)
    const alice = await world.store('alice')
    const main = await openPostgresStore({ url: await world.urlOf('') }, { statementMs: 500 })
    await inVain(async () => {
      await mallory.query(`LOCK ${LOCKABLE.map((table) => `${schema}.${table}`).join()} IN ACCESS EXCLUSIVE MODE`)
      // Every lock with a name that is known, and those that pg-boss takes.
      await mallory.query(`SELECT pg_advisory_lock(${0x424b4844}, hashtext('${schema}'))`)
      await mallory.query(`UPDATE ${schema}.gate SET revision = revision + 1`)
      await main.work!.freeze({ by: 'operator' }).catch((error: Error) => {
        // The gate of the tenant that holds it is the only one that waits.
        expect(error.message).toMatch(/except these tenants: mallory/)
      })
      expect(await alice.work!.frozen()).toMatchObject({ by: 'operator' })
      expect(await migratePostgres(await world.urlOf(''))).toMatchObject({ from: 5, to: 5 })
    })
    await main.work!.thaw()
    const seat = await alice.work!.join(hostInfo('after'), LISTENER)
    await Promise.all([seat.leave(), main.close()])
  })

  it('are no words of others: neither their statements nor the secrets in them', async () => {
    const { rows } = await mallory.query<{ query: string }>(
      "SELECT DISTINCT query FROM pg_stat_activity WHERE usename <> current_user AND query <> ''")
    expect(rows).toEqual([{ query: '<insufficient privilege>' }])
    // The operator sees texts, which have no data of tenants in them.
    const texts = (await listed('SELECT query AS one FROM pg_stat_activity')).join('\n')
    expect(texts).toContain('gate.revision')
    expect(texts).not.toContain('secret-of')
    expect(await listed('SELECT oid::text AS one FROM pg_largeobject_metadata')).toEqual([])
  })

  it('are channels that carry nothing, and a message on them changes nothing', async () => {
    const alice = await world.store('alice')
    const heard: (Freeze | undefined | 'revision')[] = []
    await alice.work!.join(hostInfo('listens'), {
      ...LISTENER, onGate: (freeze) => void heard.push(freeze), onRevision: () => void heard.push('revision'),
    })
    const before = [await alice.work!.revision(), await alice.work!.frozen()]
    for (const payload of ['', 'gate', '{"frozen":{"by":"mallory"}}']) {
      await mallory.query("SELECT pg_notify($1, $2)", [`bulkhead_${world.schema}`, payload])
    }
    await alice.write('state', 'other', 1)
    expect([await alice.work!.revision(), await alice.work!.frozen()]).toEqual(before)
    expect(heard).toEqual([])
  })
})

type Freeze = { readonly by: string }
