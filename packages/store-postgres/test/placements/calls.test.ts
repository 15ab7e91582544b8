import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { openPostgresStore } from '../../src/index.ts'
import { effect, Fleet, LEASE_MS, place, serve, textOf } from './fleet.ts'

const MiB = 1024 ** 2

describe('a call on a worker', needs('PostgreSQL'), () => {
  it('is taken, begun and settled, with messages in both directions', async () => {
    await using fleet = await Fleet.open()
    const [caller, worker] = [await fleet.host(), await fleet.host()]
    const served = await serve(worker, { labels: ['gpu'] })
    const { call, heard } = await place(caller, { demand: { labels: ['gpu'], major: 1 } })
    const leased = await served.next()
    expect(leased).toMatchObject({ id: call.id, epoch: 1, ticket: 'ticket 1' })
    expect(textOf(leased.body)).toBe('body')
    const said: unknown[] = []
    leased.listen((message) => said.push(message))
    await leased.begin(effect())
    await leased.begin(effect('writes b'))
    void leased.send(1)
    void leased.send({ two: 'é\u0000' })
    await call.send('answer')
    await expect.poll(() => said).toEqual(['answer'])
    void leased.send(3)
    expect(await leased.settle(Buffer.from('done'))).toBe(true)
    const end = await heard.end()
    expect(end.is === 'settled' && textOf(end.result)).toBe('done')
    expect(heard.messages).toEqual([1, { two: 'é\u0000' }, 3])
    expect(heard.begun).toEqual([effect()])
    expect(await heard.worker.promise).toBe((await caller.workers())[0]!.id)
    await call.forget()
    await call.forget()
    expect(await caller.close('s', 'c')).toEqual([])
    expect(await fleet.rows('placed', 'placed_message')).toEqual([0, 0])
  })

  it('needs a connection to hear of it, which closes when its host has no such call', async () => {
    await using fleet = await Fleet.open()
    await serve(await fleet.host())
    const open = (name: string) => openPostgresStore(
      { url: `${fleet.url}&application_name=${fleet.schema}_${name}` }, { leaseMs: LEASE_MS, idleMs: 200 },
    )
    const [store, other] = await Promise.all([open('rests'), open('other')])
    const listeners = async (name: string) => (await fleet.query(`SELECT FROM pg_stat_activity
      WHERE application_name = '${fleet.schema}_${name}' AND query LIKE 'LISTEN%'`)).length
    for (const _ of ['the first time', 'again']) {
      const { call } = await place(store.placements!)
      // That of a host which began later and has no call any more is gone, so the time without a call is over.
      await (await place(other.placements!)).call.forget()
      await expect.poll(() => listeners('other')).toBe(0)
      expect(await listeners('rests')).toBe(1)
      await call.forget()
      await expect.poll(() => listeners('rests')).toBe(0)
    }
    await Promise.all([store.close(), other.close()])
  })

  it('that no ready worker serves ends at once', async () => {
    await using fleet = await Fleet.open()
    const host = await fleet.host()
    const { seat } = await serve(host, { id: 'w', labels: ['gpu', 'region=eu'], workspaces: ['site'] })
    const demands = [
      { labels: ['tpu'], major: 1 }, { labels: [], major: 2 }, { labels: [], major: 1, workspace: 'other' },
    ]
    for (const demand of demands) {
      const { heard } = await place(host, { demand })
      expect(heard.ends).toMatchObject([{ is: 'untaken', workers: [{ id: 'w', state: 'ready', load: 0 }] }])
    }
    const fits = await place(host, { demand: { labels: ['region=eu'], major: 1, workspace: 'site' } })
    expect(fits.heard.ends).toEqual([])
    void seat.drain()
    await expect.poll(async () => (await place(host)).heard.ends).toMatchObject([
      { is: 'untaken', workers: [{ state: 'draining' }] },
    ])
    await seat.close()
    expect((await place(host)).heard.ends).toEqual([{ is: 'untaken', workers: [] }])
  })

  it('is not begun after its deadline, or after its last worker left', async () => {
    await using fleet = await Fleet.open()
    const host = await fleet.host()
    const served = await serve(host, { capacity: 1 })
    await place(host)
    const running = await served.next()
    const late = await place(host, { deadlineMs: LEASE_MS / 5 })
    const waiting = await place(host)
    expect(await late.heard.end()).toMatchObject({ is: 'untaken' })
    const draining = served.seat.drain()
    expect(await waiting.heard.end()).toMatchObject({ is: 'untaken', workers: [{ state: 'draining', load: 1 }] })
    await running.settle(Buffer.from(''))
    await draining
    expect(served.calls).toEqual([running])
  })

  it('that is cancelled ends as a result, or untaken', async () => {
    await using fleet = await Fleet.open()
    const host = await fleet.host()
    const served = await serve(host, { capacity: 1 })
    const running = await place(host)
    const leased = await served.next()
    const waiting = await place(host)
    await Promise.all([running.call.cancel(), waiting.call.cancel()])
    expect(await waiting.heard.end()).toMatchObject({ is: 'untaken' })
    await expect.poll(() => leased.signal.reason as unknown).toMatchObject({ code: 'ToolCancelled' })
    expect(await leased.settle(Buffer.from('stopped'))).toBe(true)
    expect(await running.heard.end()).toMatchObject({ is: 'settled' })
  })

  it('whose caller is gone begins nothing more, and says what it had begun', async () => {
    await using fleet = await Fleet.open()
    const [caller, other] = [await fleet.host(), await fleet.host()]
    const served = await serve(other)
    const { call, heard } = await place(caller, { callId: 'gone' })
    const leased = await served.next()
    await leased.begin(effect())
    expect(await other.close('s', 'gone')).toEqual([effect()])
    await expect(leased.begin(effect('writes b'))).rejects.toMatchObject({ code: 'LeaseLost' })
    await expect.poll(() => leased.signal.reason as unknown).toMatchObject({ code: 'LeaseLost' })
    expect(await leased.settle(Buffer.from(''))).toBe(false)
    expect(await heard.end()).toMatchObject({ is: 'lost', begun: effect() })
    expect(await call.again('ticket 2', { repeats: true })).toBe(false)
    expect(await other.close('s', 'gone')).toEqual([effect()])
  })

  it('has a result of many parts, and messages that are not too large', async () => {
    await using fleet = await Fleet.open()
    const host = await fleet.host(20_000)
    const served = await serve(host)
    for (const [bytes, chunks] of [[MiB, 0], [MiB + 1, 2]] as const) {
      const { call, heard } = await place(host)
      await (await served.next()).settle(Buffer.alloc(bytes, 1))
      const end = await heard.end()
      expect(end.is === 'settled' && end.result.byteLength).toBe(bytes)
      expect(await fleet.rows('placed_chunk')).toEqual([chunks])
      await call.forget()
    }
    const { heard } = await place(host)
    const leased = await served.next()
    await leased.send('x'.repeat(MiB - 2))
    await expect(leased.send('x'.repeat(MiB - 1))).rejects.toMatchObject({ code: 'MessageTooLarge' })
    const most = 64 * MiB
    await expect(leased.settle(Buffer.alloc(most + 1))).rejects.toMatchObject({ code: 'OutputTooLarge' })
    const result = randomBytes(thoroughly(2.5 * MiB, most))
    expect(await leased.settle(result)).toBe(true)
    const end = await heard.end()
    expect(end.is === 'settled' && result.equals(end.result)).toBe(true)
  })

  it('goes to the worker with the most room', async () => {
    await using fleet = await Fleet.open()
    const [caller, one, two] = await Promise.all([60_000, 60_000, 60_000].map((ms) => fleet.host(ms)))
    const served = [await serve(one!), await serve(two!)]
    for (let n = 0; n < 6; n++) {
      await place(caller!)
      await expect.poll(() => served.flatMap(({ calls }) => calls).length).toBe(n + 1)
    }
    expect(served.map(({ calls }) => calls.length)).toEqual([3, 3])
  })
})
