import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Placements } from '@bulkhead/contract'
import { needs } from '../../../../scripts/machine.ts'
import type { PostgresProxy } from '../../../../scripts/postgres/proxy.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { effect, Fleet, place, serve, textOf, type Served } from './fleet.ts'

const LONG_MS = 60_000
const RESULT = randomBytes(1.5 * 1024 ** 2)

interface Side {
  readonly host: Placements
  readonly proxy: PostgresProxy
}

describe('a statement that the server ran, but whose answer is lost', needs('PostgreSQL'), () => {
  let fleet: Fleet
  let near: Side
  let far: Side
  let served: Served

  beforeAll(async () => {
    fleet = await Fleet.open()
    near = await fleet.hostBehindProxy(LONG_MS)
    far = await fleet.hostBehindProxy(LONG_MS)
    served = await serve(far.host, { id: 'w' })
  })
  afterAll(() => fleet[Symbol.asyncDispose]())

  const ofCaller = (statement: string) => liveThrough(() => near.proxy.cutAnswerTo(statement))
  it.each(['placed_place'])('of a caller has run once: %s', ofCaller)
  it.each(['placed_watch', 'placed_chunk', 'placed_tell_worker', 'placed_forget'])(
    'of a caller has run once: %s', LONG, ofCaller,
  )

  const ofWorker = (statement: string) => liveThrough(() => far.proxy.cutAnswerTo(statement))
  it.each(['lease calls-', 'placed_begin', 'placed_settle'])('of a worker has run once: %s', ofWorker)
  it.each(['worker_beat', 'placed_check', 'placed_write_chunk', 'placed_tell_caller'])(
    'of a worker has run once: %s', LONG, ofWorker,
  )

  it('of a caller that writes a package again leaves it for workers', async () => {
    const bytes = randomBytes(10)
    await far.host.writePackage('sha512-a', bytes)
    const stands = near.proxy.cutAnswerTo('package_write').then(() => near.proxy.hold('requests'))
    const again = Promise.allSettled([near.host.writePackage('sha512-a', bytes)])
    await stands
    const meanwhile = await far.host.readPackage('sha512-a')
    near.proxy.release()
    await again
    expect(meanwhile).toEqual(bytes)
  })

  /** A whole call, and what is left of it. */
  async function liveThrough(cut: () => Promise<void>): Promise<void> {
    const before = served.calls.length
    const lost = cut()
    const { call, heard } = await place(near.host)
    const leased = await served.next()
    const said: unknown[] = []
    leased.listen((message) => said.push(message))
    await leased.begin(effect())
    await leased.begin(effect('writes b'))
    await Promise.all([leased.send(1), leased.send(2), call.send('one'), call.send('two')])
    await expect.poll(() => said).toEqual(['one', 'two'])
    expect(await leased.settle(RESULT)).toBe(true)
    const end = await heard.end()
    expect(end.is === 'settled' && RESULT.equals(end.result)).toBe(true)
    expect([heard.messages, heard.begun, heard.ends.length]).toEqual([[1, 2], [effect()], 1])
    await call.forget()
    await lost
    expect(served.calls.slice(before).map(({ id, epoch }) => [id, epoch])).toEqual([[call.id, 1]])
    expect(await fleet.rows('placed', 'placed_message', 'placed_chunk')).toEqual([0, 0, 0])
    await expect.poll(() => fleet.query(`SELECT FROM ${fleet.schema}_jobs.job WHERE state <> 'completed'`)).toEqual([])
  }

  it('opens one further epoch: placed_again', async () => {
    const { call, heard } = await place(near.host)
    await (await served.next()).begin(effect())
    await served.seat.close()
    expect(await heard.end()).toMatchObject({ is: 'lost', begun: effect() })
    const lost = near.proxy.cutAnswerTo('placed_again')
    expect(await call.again('ticket 2', { repeats: true })).toBe(true)
    await lost
    served = await serve(far.host, { id: 'w' })
    const leased = await served.next()
    expect(leased).toMatchObject({ epoch: 2, ticket: 'ticket 2' })
    await leased.begin(effect('writes b'))
    const closed = near.proxy.cutAnswerTo('placed_close')
    expect(await near.host.close('s', 'c')).toEqual([effect(), effect('writes b')])
    await closed
    await call.forget()
  })

  it('ends a call once: placed_cancel', async () => {
    const { call, heard } = await place(near.host)
    const leased = await served.next()
    const lost = near.proxy.cutAnswerTo('placed_cancel')
    await call.cancel()
    await lost
    await expect.poll(() => leased.signal.reason as unknown).toMatchObject({ code: 'ToolCancelled' })
    expect(await leased.settle(Buffer.from('stopped'))).toBe(true)
    const end = await heard.end()
    expect(end.is === 'settled' && textOf(end.result)).toBe('stopped')
    await call.forget()
  })

  it('gives up a call whose result the store refused: worker_release', async () => {
    await fleet.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE disk_full; END';
      CREATE TRIGGER refuse BEFORE UPDATE ON placed FOR EACH ROW WHEN (new.ended = 'settled')
        EXECUTE FUNCTION refuse()`)
    const { call, heard } = await place(near.host)
    const leased = await served.next()
    await expect(leased.settle(Buffer.from(''))).rejects.toMatchObject({ data: { reason: 'full' } })
    const released = far.proxy.cutAnswerTo('worker_release')
    await fleet.query("SELECT pg_notify(channel, '') FROM worker")
    await released
    expect(await heard.end()).toMatchObject({ is: 'lost' })
    await fleet.query('DROP TRIGGER refuse ON placed')
    await call.forget()
  })

  it('joins, drains and leaves: worker_join, worker_drain and worker_leave', async () => {
    const joined = far.proxy.cutAnswerTo('worker_join')
    const other = await serve(far.host, { id: 'other', labels: ['other'] })
    await joined
    const { heard } = await place(near.host, { demand: { labels: ['other'], major: 1 } })
    const leased = await other.next()
    const drained = far.proxy.cutAnswerTo('worker_drain')
    const draining = other.seat.drain()
    await drained
    expect(await leased.settle(Buffer.from('last'))).toBe(true)
    expect(await heard.end()).toMatchObject({ is: 'settled' })
    await draining
    const left = far.proxy.cutAnswerTo('worker_leave')
    await other.seat.close()
    await left
    expect((await near.host.workers()).map(({ id }) => id)).toEqual(['w'])
  })
})
