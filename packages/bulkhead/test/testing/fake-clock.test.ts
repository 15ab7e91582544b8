import { expect, it } from 'vitest'
import { createFakeClock } from '../../src/testing/index.ts'

it('stands still until it is advanced', async () => {
  const clock = createFakeClock(new Date(1_000))
  expect([clock.now(), clock.monotonic()]).toEqual([1_000, 0])
  await clock.advance(1.5)
  await clock.advance(0)
  expect([clock.now(), clock.monotonic()]).toEqual([1_001.5, 1.5])
})

it('runs due timers in order, each at its time, and those that they start', async () => {
  const clock = createFakeClock()
  const ran: [string, number][] = []
  const note = (name: string) => () => void ran.push([name, clock.monotonic()])
  clock.after(20, note('late'))
  clock.after(10, note('first'))
  clock.after(10, () => {
    note('second')()
    void Promise.resolve().then(() => clock.after(5, note('nested')))
  })
  clock.after(-1, note('overdue'))
  clock.after(31, note('not yet'))
  const stop = clock.after(10, note('stopped'))
  stop()
  stop()
  await clock.advance(30)
  expect(ran).toEqual([['overdue', 0], ['first', 10], ['second', 10], ['nested', 15], ['late', 20]])
})

it('refuses a start that is not a date', () => {
  expect(() => createFakeClock('now' as never)).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
})

it.each([-1, Number.NaN, undefined])('rejects to advance by %s', async (ms) => {
  await expect(createFakeClock().advance(ms as number)).rejects.toMatchObject({ code: 'InputInvalid' })
})
