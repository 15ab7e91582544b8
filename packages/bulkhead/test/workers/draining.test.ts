import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import type { Host, Outcome } from '../../src/index.ts'
import { NO_PAUSE } from '../extension-folder.ts'
import { Bank } from './bank.ts'
import { writeFar } from './far.ts'
import { Fleet, type WorkerProcess, type WorkerTerms } from './fleet.ts'

// No lease is short here: one that is lost on a busy machine would move the calls that a worker finishes.
describe('a worker that gets SIGTERM', needs('PostgreSQL'), () => {
  let fleet: Fleet
  let host: Host
  let bank: Bank
  let worker: WorkerProcess
  beforeAll(async () => {
    bank = await Bank.open()
    fleet = await Fleet.open()
    writeFar(fleet.home, bank.place)
    host = await fleet.host({ config: { ...NO_PAUSE, extensions: { far: { runsOn: { labels: ['gpu'] } } } } })
    fleet.trustPackages(host)
  })
  beforeEach(async () => {
    bank.release()
    // Those of the test before, which may have failed.
    await Promise.all(fleet.workers.map((one) => one.end('SIGTERM')))
    await expect.poll(list).toEqual([])
    worker = await next()
  })
  afterAll(async () => {
    bank.close()
    await fleet[Symbol.asyncDispose]()
  })

  const next = async (terms: Partial<WorkerTerms> = {}) => {
    const started = fleet.worker({ ceiling: { net: { hosts: [bank.place] } }, ...terms })
    await started.until('ready')
    return started
  }
  let calls = 0
  const call = async (name: string): Promise<Outcome> => {
    const id = `call-${++calls}`
    const session = await host.openSession({ mode: 'yolo' })
    return session.call({ id, name, arguments: { url: bank.url, what: id }, idempotencyKey: `key-${id}` })
  }
  const list = async () => (await host.workers()).filter(({ state }) => state !== 'silent')
    .map(({ version, state }) => `${version} ${state}`)

  it('is replaced by one of another minor version beside it, and no call is lost', async () => {
    const looking = bank.hold('GET')
    const many = (n: number) => Array.from({ length: n }, () => call('looks_and_acts'))
    const outcomes = many(3)
    await looking.arrived
    const newer = await next({ version: '1.99.0' })
    expect(await list()).toEqual([expect.stringMatching(/^1\.\d+\.\d+ ready$/), '1.99.0 ready'])
    outcomes.push(...many(6))
    worker.child.kill('SIGTERM')
    outcomes.push(...many(3))
    await expect.poll(list).toContainEqual(expect.stringContaining('draining'))
    const last = many(1)
    bank.release()
    for (const outcome of await Promise.all([...outcomes, ...last])) expect(outcome).toMatchObject({ type: 'output' })
    await expect.poll(() => worker.child.exitCode).toBe(0)
    expect(worker.said('call')).toBeDefined()
    await expect.poll(() => newer.lines).toContainEqual(expect.objectContaining({ call: `call-${calls}` }))
    expect(await list()).toEqual(['1.99.0 ready'])
  })

  it('finishes its calls, takes no more, and ends', async () => {
    const looking = bank.hold('GET')
    const outcome = call('looks')
    await looking.arrived
    worker.child.kill('SIGTERM')
    await worker.until('draining')
    await expect.poll(() => host.workers()).toContainEqual(expect.objectContaining({ state: 'draining', load: 1 }))
    const refused = await call('looks')
    expect(refused).toMatchObject({ error: { code: 'NoWorkerReady', data: { labels: ['gpu'] } } })
    expect((refused as { error_text: string }).error_text).toContain('is draining')
    bank.release()
    expect(await outcome).toMatchObject({ type: 'output', data: 200 })
    await expect.poll(() => worker.child.exitCode).toBe(0)
  })
})
