// @module-tag long
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import type { Bank } from './bank.ts'
import { FarFleet } from './far-fleet.ts'
import type { WorkerProcess } from './fleet.ts'

// No lease is short here: one that is lost on a busy machine would move the calls that a worker finishes.
describe('a worker that gets SIGTERM', needs('PostgreSQL'), () => {
  let far: FarFleet
  let bank: Bank
  let worker: WorkerProcess
  beforeAll(async () => {
    far = await FarFleet.open()
    bank = far.bank
  })
  beforeEach(async () => {
    bank.release()
    // Those of the test before, which may have failed.
    await Promise.all(far.fleet.workers.map((one) => one.end('SIGTERM')))
    await expect.poll(list).toEqual([])
    worker = await far.worker()
  })
  afterAll(() => far[Symbol.asyncDispose]())

  const list = async () => (await far.host.workers()).filter(({ state }) => state !== 'silent')
    .map(({ version, state }) => `${version} ${state}`)

  it('is replaced by one of another minor version beside it, and no call is lost', async () => {
    const looking = bank.hold('GET')
    const many = (n: number) => Array.from({ length: n }, () => far.call('looks_and_acts'))
    const outcomes = many(3)
    await looking.arrived
    const newer = await far.worker({ version: '1.99.0' })
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
    await expect.poll(() => newer.lines).toContainEqual(expect.objectContaining({ call: `call-${far.calls}` }))
    expect(await list()).toEqual(['1.99.0 ready'])
  })

  it('finishes its calls, takes no more, and ends', async () => {
    const looking = bank.hold('GET')
    const outcome = far.call('looks')
    await looking.arrived
    worker.child.kill('SIGTERM')
    await worker.until('draining')
    await expect.poll(() => far.host.workers()).toContainEqual(expect.objectContaining({ state: 'draining', load: 1 }))
    const refused = await far.call('looks')
    expect(refused).toMatchObject({ error: { code: 'NoWorkerReady', data: { labels: ['gpu'] } } })
    expect((refused as { error_text: string }).error_text).toContain('is draining')
    bank.release()
    expect(await outcome).toMatchObject({ type: 'output', data: 200 })
    await expect.poll(() => worker.child.exitCode).toBe(0)
  })
})
