import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { effect, Fleet, place, serve } from './fleet.ts'

describe('a call on a worker', needs('PostgreSQL'), () => {
  it('is taken, begun and settled, with messages in both directions', async () => {
    await using fleet = await Fleet.open()
    const [caller, worker] = [await fleet.host(), await fleet.host()]
    const served = await serve(worker, { labels: ['gpu'] })
    const { call, heard } = await place(caller, { demand: { labels: ['gpu'], major: 1 } })
    const leased = await served.next()
    expect(leased).toMatchObject({ id: call.id, epoch: 1, ticket: 'ticket 1' })
    expect(Buffer.from(leased.body).toString()).toBe('body')
    const said: unknown[] = []
    leased.listen((message) => said.push(message))
    await leased.begin(effect())
    await leased.begin(effect('writes b'))
    await Promise.all([leased.send(1), leased.send({ two: 'é\u0000' }), leased.send(3)])
    await call.send('answer')
    await expect.poll(() => said).toEqual(['answer'])
    expect(await leased.settle(Buffer.from('done'))).toBe(true)
    const end = await heard.end()
    expect(end.is === 'settled' && Buffer.from(end.result).toString()).toBe('done')
    expect(heard.messages).toEqual([1, { two: 'é\u0000' }, 3])
    expect(heard.begun).toEqual([effect()])
    expect(await heard.worker.promise).toBe((await caller.workers())[0]!.id)
    await call.forget()
    await call.forget()
    expect(await caller.close('s', 'c')).toEqual([])
  })
})
