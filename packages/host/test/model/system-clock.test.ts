import { expect, test } from 'vitest'
import { SystemClock, systemClock } from '../../src/model/system-clock.ts'

const wait = (ms: number) => new Promise<number>((resolve) => systemClock.after(ms, () => resolve(systemClock.monotonic())))

test('no waiter is woken early, however many wait', async () => {
  const began = systemClock.monotonic()
  const stop = systemClock.after(60_000, () => {})
  const woken = await Promise.all([30, 5, 15, 0].map((ms) => wait(ms)))
  stop()
  expect(woken.map((at, index) => at - began >= [30, 5, 15, 0][index]!)).toEqual([true, true, true, true])
  expect(woken.toSorted((a, b) => a - b)).toEqual([woken[3], woken[1], woken[2], woken[0]])
})

test('who has stopped waiting is not woken, and does not keep the others from being', async () => {
  let woken = 0
  const stops = Array.from({ length: 10 }, () => systemClock.after(5, () => void woken++))
  for (const stop of [...stops, ...stops]) stop()
  await wait(10)
  expect(woken).toBe(0)
})

test('who is stopped by one that is woken at the same time is not woken any more', async () => {
  const told: string[] = []
  systemClock.after(5, () => {
    told.push('first')
    stop()
  })
  const stop = systemClock.after(5, () => told.push('second'))
  const until = systemClock.monotonic() + 10
  while (systemClock.monotonic() < until);
  await wait(1)
  expect(told).toEqual(['first'])
})

test('who waits longer than a timer of the platform can is not woken at once', async () => {
  let woken = false
  const stop = systemClock.after(2 ** 32, () => { woken = true })
  await wait(5)
  stop()
  expect(woken).toBe(false)
})

test('who is kept from their time by somebody that was woken before is woken next, without a warning of the platform', async () => {
  const warnings: string[] = []
  const heard = ({ name }: Error) => void warnings.push(name)
  process.on('warning', heard)
  systemClock.after(1, () => {
    const until = systemClock.monotonic() + 20
    while (systemClock.monotonic() < until);
  })
  await wait(10)
  await new Promise((resolve) => { setImmediate(resolve) })
  process.off('warning', heard)
  expect(warnings).toEqual([])
})

test('keeps the process for as long as somebody waits, and no longer', () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  const clock = new SystemClock()
  const before = timers()
  const stops = [60_000, 120_000, 60_000].map((ms) => clock.after(ms, () => {}))
  expect(timers()).toBe(before + 1)
  stops.pop()!()
  stops.pop()!()
  expect(timers()).toBe(before + 1)
  stops.pop()!()
  expect(timers()).toBe(before)
  const stop = clock.after(90_000, () => {})
  expect(timers()).toBe(before + 1)
  stop()
  expect(timers()).toBe(before)
})
