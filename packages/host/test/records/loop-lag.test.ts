import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { createWorld } from '../twin/world.ts'

const BLOCKED_MS = 200

function block(): void {
  const until = performance.now() + BLOCKED_MS
  while (performance.now() < until);
}

test('a blocked event loop is in the metrics of the host, until it is closed', LONG, async () => {
  const before = process.getActiveResourcesInfo()
  const { host } = createWorld()
  expect(process.getActiveResourcesInfo()).toEqual(before)
  expect(host.loopLag()).toEqual({ count: 0, max: 0, p50: 0, p95: 0, p99: 0 })
  while (host.loopLag().count === 0) await nextTurn()
  const { count } = host.loopLag()
  block()
  while (host.loopLag().count === count) await nextTurn()
  const lag = host.loopLag()
  expect(lag.max).toBeGreaterThan(BLOCKED_MS / 2)
  expect(lag.p50).toBeLessThanOrEqual(lag.p95)
  expect(lag.p95).toBeLessThanOrEqual(lag.p99)
  expect(lag.p99).toBeLessThanOrEqual(lag.max)
  await host.close()
  const last = host.loopLag()
  block()
  await nextTurn()
  expect(host.loopLag()).toEqual(last)
})
