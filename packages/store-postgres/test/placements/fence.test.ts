import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { effect, Fleet, LEASE_MS, place, serve } from './fleet.ts'

const LOST = { code: 'LeaseLost' }
/** No host judges a worker, and no worker renews a lease, before the test is over. */
const LONG_MS = 60_000
/** An operation is not tried again. */
const IMPATIENT_MS = 1

describe('the fence in front of an effect', needs('PostgreSQL'), () => {
  it('asks the clock of the database, whatever the worker believes', async () => {
    await using fleet = await Fleet.open()
    const [caller, worker] = [await fleet.host(LONG_MS), await fleet.host(LONG_MS)]
    const served = await serve(worker)
    const begun = await place(caller)
    const first = await served.next()
    await first.begin(effect())
    await place(caller)
    const second = await served.next()
    await fleet.query("UPDATE worker SET lease = '1 ms', lease_until = clock_timestamp() - interval '1 ms'")
    // As a worker wakes up between two effects, and before its first one. No one has noticed so far.
    await expect(first.begin(effect('writes b'))).rejects.toMatchObject(LOST)
    await expect(second.begin(effect('writes c'))).rejects.toMatchObject(LOST)
    expect(await fleet.query('SELECT begun FROM placed WHERE ended IS NULL ORDER BY at'))
      .toEqual([{ begun: JSON.stringify(effect()) }, { begun: null }])
    // What it had done counts, as long as no one has given the call up.
    expect(await first.settle(Buffer.from(''))).toBe(true)
    expect(await begun.heard.end()).toMatchObject({ is: 'settled' })
  })

  it.each([
    { first: 'the note', isNoted: true },
    { first: 'the loss of the lease', isNoted: false },
  ])('lets either the note or the next epoch through: here $first', async ({ isNoted }) => {
    await using fleet = await Fleet.open()
    const [caller, zombie, other] = [await fleet.host(LONG_MS), await fleet.host(LONG_MS), await fleet.host(LONG_MS)]
    const served = await serve(zombie, { id: 'w' })
    const { call, heard } = await place(caller)
    const leased = await served.next()
    await using row = await LockedRow.of(fleet, call.id)
    // Both have read that the lease is held, and wait for the row.
    const note = async () => leased.begin(effect()).then(() => true, () => false)
    const [noted, joined] = isNoted
      ? [await row.queue(note), await row.queue(() => serve(other, { id: 'w' }))]
      : [await row.queue(() => serve(other, { id: 'w' })), await row.queue(note)].toReversed() as never
    await row.unlock()
    expect(await noted.done).toBe(isNoted)
    await joined.done
    expect(await heard.end()).toEqual({ is: 'lost', worker: 'w', begun: isNoted ? effect() : undefined })
    expect(await call.again('ticket 2')).toBe(!isNoted)
    expect(await leased.begin(effect('writes b')).then(() => true, () => false)).toBe(false)
  })

  it('is not passed by a note that arrives when the next epoch has begun', async () => {
    await using fleet = await Fleet.open()
    const [caller, one] = [await fleet.host(LONG_MS), await fleet.host(LONG_MS)]
    const served = await serve(one)
    const { call, heard } = await place(caller)
    const leased = await served.next()
    await served.seat.close()
    await heard.end()
    expect(await call.again('ticket 2')).toBe(true)
    expect(await call.again('ticket 3')).toBe(false)
    await expect(leased.begin(effect())).rejects.toMatchObject(LOST)
    expect(await leased.settle(Buffer.from('late'))).toBe(false)
    expect(await fleet.query('SELECT epoch, begun, ended, ticket FROM placed'))
      .toEqual([{ epoch: 2, begun: null, ended: null, ticket: 'ticket 2' }])
  })
})

describe('a ticket', needs('PostgreSQL'), () => {
  it('is redeemed by one job, however many there are', async () => {
    await using fleet = await Fleet.open()
    const [caller, worker] = [await fleet.host(LONG_MS), await fleet.host(LONG_MS)]
    const served = await serve(worker)
    await place(caller)
    await served.next()
    const jobs = `${fleet.schema}_jobs.job_common`
    await fleet.query(`INSERT INTO ${jobs} (name, data, start_after, group_id, policy)
      SELECT name, data, start_after, group_id, policy FROM ${jobs}`)
    await place(caller)
    await served.next()
    await expect.poll(() => fleet.query(`SELECT state::text, count(*)::int AS n FROM ${jobs} GROUP BY 1 ORDER BY 2`))
      .toEqual([{ state: 'completed', n: 1 }, { state: 'active', n: 2 }])
    expect(served.calls).toHaveLength(2)
  })

  it('of a call that is over is not redeemed by a statement that arrives late', async () => {
    await using fleet = await Fleet.open()
    const [caller, worker] = [await fleet.host(LONG_MS), await fleet.host(LONG_MS)]
    const served = await serve(worker)
    const { call, heard } = await place(caller)
    await (await served.next()).settle(Buffer.from(''))
    await heard.end()
    await call.forget()
    // The server may run what a host sent over a connection that was cut.
    await expect(place(caller, { id: call.id })).rejects.toMatchObject({ code: 'StoreUnavailable' })
    expect(served.calls).toHaveLength(1)
    expect(await fleet.rows('placed')).toEqual([0])
  })

  it('of a call that could not be placed is not redeemed by a statement that has run or is late', async () => {
    await using fleet = await Fleet.open()
    const { host, proxy } = await fleet.hostBehindProxy(LEASE_MS, IMPATIENT_MS)
    const other = await fleet.host(LONG_MS)
    const served = await serve(other)
    const refused = { code: 'StoreUnavailable' }
    const lost = proxy.cutAnswerTo('placed_place')
    await expect(place(host)).rejects.toMatchObject(refused)
    await lost
    await expect.poll(() => fleet.rows('placed')).toEqual([0])
    await expect.poll(() => served.calls.every(({ signal }) => signal.aborted)).toBe(true)
    const id = randomUUID()
    proxy.cutNext('requests')
    await expect(place(host, { id })).rejects.toMatchObject(refused)
    const jobs = () => fleet.query(`SELECT FROM ${fleet.schema}_jobs.job_common WHERE data->>'id' = '${id}'`)
    await expect.poll(jobs).toHaveLength(1)
    await expect.poll(() => fleet.rows('placed')).toEqual([0])
    await expect(place(other, { id })).rejects.toMatchObject(refused)
    expect(served.calls.filter((call) => call.id === id)).toEqual([])
  })

  it('settles the job that came with it, and not one that was fetched since', async () => {
    await using fleet = await Fleet.open()
    const [caller, worker] = [await fleet.host(LONG_MS), await fleet.host(LONG_MS)]
    const served = await serve(worker)
    const jobs = `${fleet.schema}_jobs.job_common`
    const states = () => fleet.query(`SELECT retry_count AS fetches, state::text FROM ${jobs} ORDER BY 1`)
    await place(caller)
    const first = await served.next()
    await fleet.query(`UPDATE ${jobs} SET retry_count = 1`)
    await place(caller)
    const second = await served.next()
    await Promise.all([first.settle(Buffer.from('')), second.settle(Buffer.from(''))])
    await expect.poll(states).toEqual([{ fetches: 0, state: 'completed' }, { fetches: 1, state: 'active' }])
  })
})

/** A row that others wait for, one after the other. */
class LockedRow {
  readonly #client: pg.Client
  #waiting = 0

  private constructor(client: pg.Client) {
    this.#client = client
  }

  static async of({ url, schema }: Fleet, id: string): Promise<LockedRow> {
    const client = new pg.Client(url.replace(/\?.*/, ''))
    await client.connect()
    await client.query(`BEGIN; SELECT FROM ${schema}.placed WHERE id = '${id}' FOR UPDATE`)
    return new LockedRow(client)
  }

  /** Resolves when the statement of `work` waits for the row. */
  async queue<T>(work: () => Promise<T>): Promise<{ readonly done: Promise<T> }> {
    const done = work()
    this.#waiting++
    await expect.poll(async () => (await this.#client.query(`SELECT count(*)::int AS n FROM pg_locks
      WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        OR NOT granted AND locktype = 'transactionid'`)).rows).toEqual([{ n: this.#waiting }])
    return { done }
  }

  async unlock(): Promise<void> {
    await this.#client.query('COMMIT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }
}
