import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { PostgresProxy } from '../../../../scripts/postgres/proxy.ts'
import type { Host, Outcome } from '../../src/index.ts'
import { NO_PAUSE } from '../extension-folder.ts'
import { Bank } from './bank.ts'
import { writeFar } from './far.ts'
import { Fleet, SHORT_LEASE_MS, type WorkerProcess } from './fleet.ts'

describe('a worker that is lost', needs('PostgreSQL'), () => {
  let fleet: Fleet
  let host: Host
  let bank: Bank
  let worker: WorkerProcess
  /** Between workers and the server. */
  let proxy: PostgresProxy
  beforeAll(async () => {
    bank = await Bank.open()
    fleet = await Fleet.open(SHORT_LEASE_MS)
    proxy = await PostgresProxy.start(Number(new URL(fleet.url).port))
    writeFar(fleet.home, bank.place)
    host = await fleet.host({ config: { ...NO_PAUSE, extensions: { far: { runsOn: { labels: ['gpu'] } } } } })
    fleet.trustPackages(host)
  })
  beforeEach(async () => {
    bank.release()
    bank.posts.length = 0
    if (worker?.child.exitCode !== null || worker.child.signalCode !== null) worker = await next()
  })
  afterAll(async () => {
    bank.close()
    await fleet[Symbol.asyncDispose]()
    proxy.close()
  })

  const next = async () => {
    const url = fleet.url.replace(/:\d+\//, `:${proxy.port}/`)
    const started = fleet.worker({ url, ceiling: { net: { hosts: [bank.place] } } })
    await started.until('ready')
    return started
  }
  let calls = 0
  const call = async (name: string, id = `call-${++calls}`): Promise<Outcome> => {
    const session = await host.openSession({ mode: 'yolo' })
    return session.call({ id, name, arguments: { url: bank.url, what: id }, idempotencyKey: `key-${id}` })
  }

  it('before an effect costs a call nothing but time', async () => {
    const looking = bank.hold('GET')
    const outcome = call('looks_and_acts')
    await looking.arrived
    const other = await next()
    await worker.end()
    worker = other
    bank.release()
    expect(await outcome).toMatchObject({ type: 'output', data: 200 })
    expect(bank.posts).toEqual([`call-${calls}`])
  })

  it('before its caller has confirmed its note leaves the key free', async () => {
    const noted = proxy.cutAnswerTo('placed_begin').then(() => proxy.hold('requests'))
    const outcome = call('acts_twice')
    await noted
    await worker.end()
    proxy.release()
    expect(await outcome).toMatchObject({ error: { code: 'CompartmentCrashed' } })
    expect(bank.posts).toEqual([])
    worker = await next()
    expect(await call('acts_twice', `call-${calls}`)).toMatchObject({ type: 'output', data: [200, 200] })
  })

  it('after an effect leaves its outcome unknown, and an idempotent call runs again with its key', async () => {
    const once = bank.hold('POST')
    const outcomes = [call('acts_twice')]
    await once.arrived
    const again = bank.hold('POST')
    outcomes.push(call('acts_again'))
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
    expect(postsOf(`call-${calls - 1}`)).toHaveLength(1)
    const repeated = postsOf(`call-${calls}`)
    expect(new Set(repeated)).toEqual(new Set(['first', 'second'].map((at) => `${at} call-${calls} key-call-${calls}`)))
    expect(repeated.filter((post) => post.startsWith('first')).length).toBeGreaterThan(1)
  })

  it('between two effects begins no second one when it goes on', async () => {
    const first = bank.hold('POST')
    const outcome = call('acts_twice')
    await first.arrived
    worker.child.kill('SIGSTOP')
    bank.release()
    expect(await outcome).toMatchObject({ error: { code: 'OutcomeUnknown' } })
    const before = bank.posts.length
    worker.child.kill('SIGCONT')
    const over = () => worker.lines.filter(({ type, call: id }) => type === 'call' && id === `call-${calls}`)
    await expect.poll(over).toMatchObject([{ error: { code: 'LeaseLost' } }])
    expect(bank.posts).toHaveLength(before)
    await expect.poll(() => host.workers()).toContainEqual(expect.objectContaining({ state: 'ready' }))
  })
})
