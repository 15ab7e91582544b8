import { PgBoss } from 'pg-boss'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { openPostgresStore } from '../../src/index.ts'
import { effect, Fleet, place, serve } from './fleet.ts'

const QUEUE_OPTIONS = { retryLimit: 0, expireInSeconds: 86_400, retentionSeconds: 86_400, deleteAfterSeconds: 7_200 }

describe('the queue of calls', needs('PostgreSQL'), () => {
  it('is that of pg-boss, with a job as pg-boss itself writes it', async () => {
    await using fleet = await Fleet.open()
    const host = await fleet.host()
    const served = await serve(host, { capacity: 1 })
    await place(host)
    await served.next()
    const { call } = await place(host)
    const jobs = `${fleet.schema}_jobs`
    const boss = new PgBoss({ connectionString: fleet.url.replace(/\?.*/, ''), schema: jobs, supervise: false })
    await boss.start()
    await boss.createQueue('same', QUEUE_OPTIONS)
    await boss.send('same', { id: call.id, epoch: 1 }, { group: { id: 'postgres' } })
    await boss.stop()
    const differing = 'id, name, start_after, created_on, keep_until'.split(', ')
      .map((column) => `- '${column}'`).join(' ')
    const rows = await fleet.query(`SELECT to_jsonb(job) ${differing} AS job, keep_until - start_after AS kept,
      created_on - start_after AS wait FROM ${jobs}.job WHERE data->>'id' = '${call.id}'`)
    expect(rows).toHaveLength(2)
    expect(rows[0]).toEqual(rows[1])
    const queues = await fleet.query(`SELECT to_jsonb(queue) - 'name' - 'created_on' - 'updated_on' AS queue
      FROM ${jobs}.queue WHERE name = 'same' OR name LIKE 'calls-%'`)
    expect(queues).toHaveLength(2)
    expect(queues[0]).toEqual(queues[1])
  })

  it('is made by the first worker, so a host without workers has neither tables of it nor connections', async () => {
    await using fleet = await Fleet.open(true)
    const store = await openPostgresStore({ url: `${fleet.url}&application_name=lazy` })
    await store.write('state', 'a', 1)
    expect(await store.placements!.workers()).toEqual([])
    expect(await fleet.query("SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'lazy'"))
      .toEqual([{ n: 1 }])
    expect((await place(store.placements!)).heard.ends).toEqual([{ is: 'untaken', workers: [] }])
    expect(await fleet.query(`SELECT to_regnamespace('${fleet.schema}_jobs') AS made`)).toEqual([{ made: null }])
    await store.close()
  })

  it('has no job left when its calls are over', async () => {
    await using fleet = await Fleet.open()
    const host = await fleet.host()
    const served = await serve(host)
    const { heard } = await place(host)
    await (await served.next()).settle(Buffer.from(''))
    await heard.end()
    const states = () => fleet.query(`SELECT state::text FROM ${fleet.schema}_jobs.job`)
    await expect.poll(states).toEqual([{ state: 'completed' }])
    // As a worker leaves it that was killed.
    await fleet.query(`UPDATE ${fleet.schema}_jobs.job SET state = 'active', started_on = now() - interval '1 hour'`)
    await serve(await fleet.host())
    expect(await states()).toEqual([{ state: 'completed' }])
  })

  it('gives each tenant its turn', async () => {
    await using fleet = await Fleet.open()
    const host = await fleet.host()
    const served = await serve(host, { capacity: 1 })
    const [many, few] = [await fleet.tenant('many'), await fleet.tenant('few')]
    await place(many)
    const first = await served.next()
    for (let n = 0; n < 6; n++) await place(many, { callId: 'many' })
    for (let n = 0; n < 2; n++) await place(few, { callId: 'few' })
    // It hears of tenants with a heartbeat.
    const lease = () => fleet.query('SELECT lease_until FROM worker')
    const before = await lease()
    await expect.poll(lease).not.toEqual(before)
    const order: unknown[] = []
    let call = first
    for (let n = 0; n < 5; n++) {
      await call.settle(Buffer.from(''))
      call = await served.next()
      order.push((await fleet.query(`SELECT call FROM placed WHERE id = '${call.id}'`))[0]!['call'])
    }
    expect(order.filter((one) => one === 'few')).toHaveLength(2)
  })
})

describe('what nobody removed', needs('PostgreSQL'), () => {
  it('is swept by the next worker, but no note of what began', async () => {
    await using fleet = await Fleet.open()
    const host = await fleet.host()
    const served = await serve(host, { id: 'gone', capacity: 8 })
    const placed = ['nothing begun', 'begun', 'closed', 'running', 'new']
    for (const callId of placed) {
      await place(host, { callId })
      await (await served.next()).begin(effect())
    }
    await host.writePackage('old', Buffer.from('old'))
    await host.writePackage('used', Buffer.from('used'))
    await served.seat.close()
    const running = await serve(host)
    await place(host, { callId: 'is running' })
    await running.next()
    await fleet.query(`
      UPDATE placed SET deadline = now() - interval '2 days' WHERE call <> 'new';
      UPDATE placed SET begun = NULL WHERE call = 'nothing begun';
      UPDATE placed SET closed = now() - interval '2 days' WHERE call = 'closed';
      INSERT INTO worker SELECT 'silent', info, labels, workspaces, major, capacity, channel, lease, term, since,
        now() - interval '2 hours' FROM worker;
      UPDATE package SET used = current_date - 31 WHERE digest = 'old'`)
    await serve(await fleet.host(), { id: 'sweeper' })
    expect(await fleet.query('SELECT call FROM placed ORDER BY call'))
      .toEqual(['begun', 'is running', 'new', 'running'].map((call) => ({ call })))
    expect(await fleet.query("SELECT id FROM worker WHERE id = 'silent'")).toEqual([])
    expect([await host.hasPackage('old'), await host.hasPackage('used')]).toEqual([false, true])
    await fleet.query("UPDATE placed SET deadline = now() - interval '31 days' WHERE call = 'begun'")
    await serve(await fleet.host())
    expect(await host.close('s', 'begun')).toEqual([])
  })
})

describe('a package', needs('PostgreSQL'), () => {
  it('is there when all of it is', async () => {
    await using fleet = await Fleet.open()
    const [one, two] = [await fleet.host(), await fleet.host()]
    const bytes = Buffer.alloc(2.5 * 1024 ** 2, 7)
    expect(await two.readPackage('d')).toBeUndefined()
    await one.writePackage('d', bytes)
    await one.writePackage('d', bytes)
    expect(await two.hasPackage('d')).toBe(true)
    expect(bytes.equals((await two.readPackage('d'))!)).toBe(true)
    await fleet.query("UPDATE package SET chunks = NULL")
    expect(await two.hasPackage('d')).toBe(false)
    expect(await two.readPackage('d')).toBeUndefined()
  })
})
