import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { untilAborted } from '../src/deadlines.ts'

test('settles as the work does and leaves no listener', async () => {
  const { signal } = new AbortController()
  await expect(untilAborted(Promise.resolve(1), signal)).resolves.toBe(1)
  await expect(untilAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('rejects with the reason when that comes first, and ignores what the work does later', async () => {
  const controller = new AbortController()
  const work = Promise.withResolvers<number>()
  const result = untilAborted(work.promise, controller.signal)
  controller.abort(new Error('enough'))
  work.reject(new Error('too late to matter'))
  await expect(result).rejects.toThrow('enough')
})

test('does not wait for work that was cancelled before', async () => {
  await expect(untilAborted(new Promise(() => {}), AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  await expect(
    untilAborted(Promise.reject(new Error('unheard')), AbortSignal.abort(new Error('before'))),
  ).rejects.toThrow('before')
})
