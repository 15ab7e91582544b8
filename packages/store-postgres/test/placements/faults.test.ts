import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { effect, Fleet, Heard, place, request, serve, textOf, workerInfo } from './fleet.ts'

const LONGEST_PAUSE_MS = 12

describe('connections that are cut in the middle of statements', needs('PostgreSQL'), () => {
  it('run no call twice, and lose no message and no end', LONG, async () => {
    await using fleet = await Fleet.open()
    const [near, far] = [await fleet.hostBehindProxy(20_000), await fleet.hostBehindProxy(20_000)]
    const runs: string[] = []
    await far.host.serve(workerInfo(), (call) => void (async () => {
      runs.push(call.id)
      await call.begin(effect(call.id))
      for (let n = 0; n < 3; n++) void call.send(n)
      await call.settle(call.body)
    })())
    const placed: string[] = []
    for (let n = 0; n < thoroughly(16, 2_000); n++) {
      const { proxy } = n % 2 === 0 ? near : far
      const cut = pause(Math.random() * LONGEST_PAUSE_MS).then(() => proxy.cutNext(n % 4 < 2 ? 'answers' : 'requests'))
      const heard = new Heard()
      const call = await near.host.place(request({ body: Buffer.from(`body ${n}`), callId: String(n) }), heard)
      placed.push(call.id)
      const end = await heard.end()
      expect(end.is === 'settled' && textOf(end.result)).toBe(`body ${n}`)
      expect(heard).toMatchObject({ messages: [0, 1, 2], begun: [effect(call.id)], ends: [end] })
      await Promise.all([call.forget(), cut])
    }
    expect(runs).toEqual(placed)
    expect(await fleet.rows('placed', 'placed_message')).toEqual([0, 0])
  })
})

describe('a server that is restarted', needs('PostgreSQL'), () => {
  it('ends no lease, and a call goes on', async () => {
    const server = await sharedPostgres()
    await using fleet = await Fleet.open()
    const host = await fleet.host(2_000)
    const served = await serve(host)
    const { heard } = await place(host)
    const leased = await served.next()
    await leased.begin(effect('one'))
    await server.restart()
    await leased.begin(effect('two'))
    expect(await leased.settle(Buffer.from('done'))).toBe(true)
    expect(await heard.end()).toMatchObject({ is: 'settled' })
  })
})
