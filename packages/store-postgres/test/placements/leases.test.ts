import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { effect, Fleet, LEASE_MS, place, serve, textOf } from './fleet.ts'

const LOST = { code: 'LeaseLost' }

describe('the lease of a call', needs('PostgreSQL'), () => {
  it('is lost by a worker that stands still, and the call runs elsewhere if nothing had begun', async () => {
    await using fleet = await Fleet.open()
    const caller = await fleet.host()
    const { proxy, host } = await fleet.hostBehindProxy()
    const zombie = await serve(host, { id: 'zombie' })
    const { call, heard } = await place(caller)
    const first = await zombie.next()
    proxy.hold('requests')
    expect(await heard.end()).toEqual({ is: 'lost', worker: 'zombie', begun: undefined })
    const other = await serve(await fleet.host(), { id: 'other' })
    expect(await call.again('ticket 2')).toBe(true)
    const second = await other.next()
    expect(second).toMatchObject({ id: call.id, epoch: 2, ticket: 'ticket 2' })
    const begin = first.begin(effect('by the zombie'))
    proxy.release()
    await expect(begin).rejects.toMatchObject(LOST)
    await expect.poll(() => first.signal.reason as unknown).toMatchObject(LOST)
    expect(await first.settle(Buffer.from('zombie'))).toBe(false)
    await second.begin(effect('by the other'))
    expect(await second.settle(Buffer.from('other'))).toBe(true)
    expect(await heard.end()).toMatchObject({ is: 'settled' })
    expect(heard.begun).toEqual([effect('by the other')])
  })

  it('is lost between two effects, and then the call does not run again unless it may repeat', async () => {
    await using fleet = await Fleet.open()
    const caller = await fleet.host()
    const { proxy, host } = await fleet.hostBehindProxy()
    const zombie = await serve(host, { id: 'zombie' })
    const { call, heard } = await place(caller)
    const first = await zombie.next()
    await first.begin(effect('one'))
    proxy.hold('requests')
    expect(await heard.end()).toEqual({ is: 'lost', worker: 'zombie', begun: effect('one') })
    expect(await call.again('ticket 2')).toBe(false)
    const two = first.begin(effect('two'))
    proxy.release()
    await expect(two).rejects.toMatchObject(LOST)
    expect(await call.again('ticket 2', { repeats: true })).toBe(true)
    const other = await serve(await fleet.host())
    const second = zombie.next().then((again) => again, () => undefined)
    const again = await Promise.race([other.next(), second])
    expect(again).toMatchObject({ epoch: 2 })
    await again!.begin(effect('three'))
    expect(await caller.close('s', 'c')).toEqual([effect('one'), effect('three')])
  })

  it('ends with its worker, and a worker with the same id has none of its calls', async () => {
    await using fleet = await Fleet.open()
    const [caller, one, two] = [await fleet.host(), await fleet.host(), await fleet.host()]
    const served = await serve(one, { id: 'w' })
    const a = await place(caller)
    const first = await served.next()
    const b = await place(caller)
    const second = await served.next()
    await first.begin(effect())
    await serve(two, { id: 'w' })
    expect(await a.heard.end()).toEqual({ is: 'lost', worker: 'w', begun: effect() })
    expect(await b.heard.end()).toEqual({ is: 'lost', worker: 'w', begun: undefined })
    await expect(second.begin(effect())).rejects.toMatchObject(LOST)
    await expect.poll(() => first.signal.aborted).toBe(true)
  })

  it('is kept when the store does not answer for a moment, and the effect waits', async () => {
    await using fleet = await Fleet.open()
    const caller = await fleet.host()
    const { proxy, host } = await fleet.hostBehindProxy(60_000, 1)
    const served = await serve(host)
    const { heard } = await place(caller)
    const leased = await served.next()
    for (const [statement, what] of [['placed_begin', 'one'], ['placed_check', 'two']] as const) {
      const lost = proxy.cutAnswerTo(statement)
      await leased.begin(effect(what))
      await lost
    }
    expect(await leased.settle(Buffer.from(''))).toBe(true)
    expect(await heard.end()).toMatchObject({ is: 'settled' })
    expect(heard.begun).toEqual([effect('one')])
  })

  it('is kept by a worker that drains, also if it learns of the call after that', async () => {
    await using fleet = await Fleet.open()
    const caller = await fleet.host()
    const { proxy, host } = await fleet.hostBehindProxy(30_000)
    const served = await serve(host)
    const taken = proxy.cutAnswerTo('WITH fetched')
    const { heard } = await place(caller)
    await taken
    const drained = served.seat.drain().then(() => 'drained')
    const leased = await served.next()
    expect(await Promise.race([drained, leased.begin(effect()).then(() => 'begun')])).toBe('begun')
    await leased.settle(Buffer.from(''))
    expect([await drained, await heard.end()]).toMatchObject(['drained', { is: 'settled' }])
  })

  it('is kept for as long as the worker answers', async () => {
    await using fleet = await Fleet.open()
    const host = await fleet.host()
    const served = await serve(host)
    const { heard } = await place(host)
    const leased = await served.next()
    await pause(LEASE_MS * 1.5)
    await leased.begin(effect())
    expect(leased.signal.aborted).toBe(false)
    expect(await leased.settle(Buffer.from('late'))).toBe(true)
    const end = await heard.end()
    expect(end.is === 'settled' && textOf(end.result)).toBe('late')
  })
})
