import { expect, test } from 'vitest'
import { SystemClock, systemClock } from '../../src/model/system-clock.ts'

const wait = (ms: number) =>
  new Promise<number>((resolve) => systemClock.after(ms, () => resolve(systemClock.monotonic())))

test('no timer fires early, with any number of them', async () => {
  const began = systemClock.monotonic()
  const stop = systemClock.after(60_000, () => {})
  const woken = await Promise.all([30, 5, 15, 0].map((ms) => wait(ms)))
  stop()
  expect(woken.map((at, index) => at - began >= [30, 5, 15, 0][index]!)).toEqual([true, true, true, true])
  expect(woken.toSorted((a, b) => a - b)).toEqual([woken[3], woken[1], woken[2], woken[0]])
})

test('a stopped timer does not fire, and the others do', async () => {
  let woken = 0
  const stops = Array.from({ length: 10 }, () => systemClock.after(5, () => void woken++))
  for (const stop of [...stops, ...stops]) stop()
  await wait(10)
  expect(woken).toBe(0)
})

test('a timer that is stopped by another one of the same time does not fire', async () => {
  const calls: string[] = []
  systemClock.after(5, () => {
    calls.push('first')
    stop()
  })
  const stop = systemClock.after(5, () => calls.push('second'))
  const until = systemClock.monotonic() + 10
  while (systemClock.monotonic() < until);
  await wait(1)
  expect(calls).toEqual(['first'])
})

test('a timer beyond the platform limit does not fire at once', async () => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error) => void warnings.push(name)
  process.on('warning', onWarning)
  let woken = false
  const stop = new SystemClock().after(2 ** 32, () => { woken = true })
  await wait(5)
  stop()
  process.off('warning', onWarning)
  expect([woken, warnings]).toEqual([false, []])
})

test('a timer that is late because of another callback fires next, without a platform warning', async () => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error) => void warnings.push(name)
  process.on('warning', onWarning)
  systemClock.after(1, () => {
    const until = systemClock.monotonic() + 20
    while (systemClock.monotonic() < until);
  })
  await wait(10)
  await new Promise((resolve) => { setImmediate(resolve) })
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
})

test('a pending timer keeps the process alive, a stopped one does not', () => {
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
