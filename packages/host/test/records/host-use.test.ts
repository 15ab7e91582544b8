import type { HostUse } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { measureHost } from '../../src/records/host-use.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

it('says what this process uses every ten seconds, until it is stopped', async () => {
  const found: HostUse[] = []
  let now = 0
  const clock = { now: () => now, monotonic: () => now, after: () => () => undefined }
  const stop = measureHost({
    clock, restarts: () => 2, walls: async () => now > 10_000 ? ['bwrap'] : undefined,
    onUse: (use) => void found.push(use),
  })
  for (const time of [10_000, 20_000]) {
    now = time
    await vi.advanceTimersByTimeAsync(10_000)
  }
  stop()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(found).toEqual([
    { at: 10_000, memoryBytes: expect.any(Number), cpuShare: expect.any(Number), restarts: 2 },
    { at: 20_000, memoryBytes: expect.any(Number), cpuShare: expect.any(Number), restarts: 2, walls: ['bwrap'] },
  ])
  expect(found[0]!.memoryBytes).toBeGreaterThan(10_000_000)
})
