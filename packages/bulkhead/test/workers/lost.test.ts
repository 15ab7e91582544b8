// @module-tag long
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { PostgresProxy } from '../../../../scripts/postgres/proxy.ts'
import type { Bank } from './bank.ts'
import { FarFleet } from './far-fleet.ts'
import { SHORT_LEASE_MS, type WorkerProcess } from './fleet.ts'

describe('a worker that is lost', needs('PostgreSQL'), () => {
  let far: FarFleet
  let bank: Bank
  let worker: WorkerProcess
  /** Between workers and the server. */
  let proxy: PostgresProxy
  beforeAll(async () => {
    far = await FarFleet.open(SHORT_LEASE_MS)
    bank = far.bank
    proxy = await PostgresProxy.start(Number(new URL(far.fleet.url).port))
  })
  beforeEach(async () => {
    bank.release()
    bank.posts.length = 0
    if (worker?.child.exitCode !== null || worker.child.signalCode !== null) worker = await next()
  })
  afterAll(async () => {
    await far[Symbol.asyncDispose]()
    proxy.close()
  })

  const next = () => far.worker({ url: far.fleet.url.replace(/:\d+\//, `:${proxy.port}/`) })

  it('before an effect costs a call nothing but time', async () => {
    const looking = bank.hold('GET')
    const outcome = far.call('looks_and_acts')
    await looking.arrived
    const other = await next()
    await worker.end()
    worker = other
    bank.release()
    expect(await outcome).toMatchObject({ type: 'output', data: 200 })
    expect(bank.posts).toEqual([`call-${far.calls}`])
  })

  it('before its caller has confirmed its note leaves the key free', async () => {
    const noted = proxy.cutAnswerTo('placed_begin').then(() => proxy.hold('requests'))
    const outcome = far.call('acts_twice')
    await noted
    await worker.end()
    proxy.release()
    expect(await outcome).toMatchObject({ error: { code: 'CompartmentCrashed' } })
    expect(bank.posts).toEqual([])
    worker = await next()
    expect(await far.call('acts_twice', `call-${far.calls}`)).toMatchObject({ type: 'output', data: [200, 200] })
  })

  it('after an effect leaves its outcome unknown, and an idempotent call runs again with its key', async () => {
    const once = bank.hold('POST')
    const outcomes = [far.call('acts_twice')]
    await once.arrived
    const again = bank.hold('POST')
    outcomes.push(far.call('acts_again'))
    await again.arrived
    const other = await next()
    await worker.end()
    worker = other
    bank.release()
    expect(await Promise.all(outcomes)).toMatchObject([
      { error: { code: 'OutcomeUnknown', data: { began: [{ what: expect.stringContaining('POST') as string }] } } },
      { type: 'output', data: [200, 200] },
    ])
    const postsOf = (id: string) => bank.posts.filter((post) => post.includes(`${id} key-${id}`))
    expect(postsOf(`call-${far.calls - 1}`)).toHaveLength(1)
    const id = `call-${far.calls}`
    const repeated = postsOf(id)
    expect(new Set(repeated)).toEqual(new Set([`first ${id} key-${id}`, `second ${id} key-${id}`]))
    expect(repeated.filter((post) => post.startsWith('first')).length).toBeGreaterThan(1)
  })

  it('between two effects begins no second one when it goes on', async () => {
    const first = bank.hold('POST')
    const outcome = far.call('acts_twice')
    await first.arrived
    worker.child.kill('SIGSTOP')
    bank.release()
    expect(await outcome).toMatchObject({ error: { code: 'OutcomeUnknown' } })
    const before = bank.posts.length
    worker.child.kill('SIGCONT')
    const over = () => worker.lines.filter(({ type, call: id }) => type === 'call' && id === `call-${far.calls}`)
    await expect.poll(over).toMatchObject([{ error: { code: 'LeaseLost' } }])
    expect(bank.posts).toHaveLength(before)
    await expect.poll(() => far.host.workers()).toContainEqual(expect.objectContaining({ state: 'ready' }))
  })
})
