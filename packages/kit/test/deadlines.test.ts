import { getEventListeners } from 'node:events'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { isPromiseLike, onAbort, settlesWithin, untilAborted, within, type Timer } from '../src/deadlines.ts'

test('untilAborted settles as the work does and leaves no listener', async () => {
  const { signal } = new AbortController()
  await expect(untilAborted(Promise.resolve(1), signal)).resolves.toBe(1)
  await expect(untilAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('untilAborted rejects with the reason of the signal and ignores a later result', async () => {
  const controller = new AbortController()
  const work = Promise.withResolvers<number>()
  const result = untilAborted(work.promise, controller.signal)
  controller.abort(new Error('enough'))
  work.reject(new Error('too late to matter'))
  await expect(result).rejects.toThrow('enough')
})

test('untilAborted rejects at once for an aborted signal', async () => {
  await expect(untilAborted(new Promise(() => {}), AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  await expect(
    untilAborted(Promise.reject(new Error('ignored')), AbortSignal.abort(new Error('before'))),
  ).rejects.toThrow('before')
})

/** Fires when the test calls `fire`. */
class ManualTimer implements Timer {
  readonly #waiting = new Set<() => void>()

  after(_ms: number, run: () => void): () => void {
    this.#waiting.add(run)
    return () => void this.#waiting.delete(run)
  }

  get size(): number {
    return this.#waiting.size
  }

  fire(): void {
    for (const run of this.#waiting) run()
    this.#waiting.clear()
  }
}

const limit = (clock: Timer, signal?: AbortSignal) => ({
  clock, ms: 10, late: () => new Error('late'), ...(signal && { signal }),
})

test('within settles as the work does and leaves no timer and no listener', async () => {
  const timer = new ManualTimer()
  const { signal } = new AbortController()
  await expect(within(limit(timer, signal), async () => 1)).resolves.toBe(1)
  await expect(within(limit(timer, signal), async () => { throw new Error('no') })).rejects.toThrow('no')
  await expect(within(limit(timer), () => { throw new Error('at once') })).rejects.toThrow('at once')
  expect([timer.size, getEventListeners(signal, 'abort').length]).toEqual([0, 0])
})

test('within rejects when the time is over or the signal is aborted, whichever comes first', async () => {
  const timer = new ManualTimer()
  const controller = new AbortController()
  const late = within(limit(timer, controller.signal), () => new Promise(() => {}))
  timer.fire()
  await expect(late).rejects.toThrow('late')
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  const aborted = within(limit(timer, controller.signal), () => new Promise(() => {}))
  controller.abort(new Error('enough'))
  await expect(aborted).rejects.toThrow('enough')
  await expect(within(limit(timer, controller.signal), () => Promise.reject(new Error('ignored'))))
    .rejects.toThrow('enough')
  expect(timer.size).toBe(0)
})

test('settlesWithin reports whether the work settled in time, also by a rejection', async () => {
  const timer = new ManualTimer()
  expect(await settlesWithin(timer, 10, Promise.resolve())).toBe(true)
  expect(await settlesWithin(timer, 10, Promise.reject(new Error('no')))).toBe(true)
  const hanging = settlesWithin(timer, 10, new Promise(() => {}))
  timer.fire()
  expect(await hanging).toBe(false)
})

test('onAbort runs once, immediately if the signal is aborted, and not after it was removed', () => {
  let runs = 0
  const count = () => { runs += 1 }
  const controller = new AbortController()
  onAbort(controller.signal, count)
  onAbort(controller.signal, count)()
  controller.abort()
  controller.abort()
  expect(runs).toBe(1)
  onAbort(controller.signal, count)
  expect(runs).toBe(2)
})

test.each<[string, unknown, boolean]>([
  ['a promise', Promise.resolve(), true],
  ['a promise of another realm', runInNewContext('Promise.resolve()'), true],
  ['a promise of another library', { then: () => {} }, true],
  ['undefined', undefined, false],
  ['null', null, false],
  ['false', false, false],
  ['an object with another member then', { action: 'deny', then: 'no' }, false],
])('isPromiseLike: %s', (_, answer, expected) => {
  expect(isPromiseLike(answer)).toBe(expected)
})
