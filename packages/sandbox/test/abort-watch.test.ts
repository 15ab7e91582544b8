import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { AbortWatch } from '../src/main/abort-watch.ts'

/** Settles when the watches that were made until now have begun to listen. */
const listening = (): Promise<void> => new Promise((resolve) => void new AbortWatch(AbortSignal.abort(), resolve))

it('tells once, whether the signal comes before or after it listens', async () => {
  const told: string[] = []
  const [early, late] = [new AbortController(), new AbortController()]
  const watches = [new AbortWatch(early.signal, () => told.push('early')), new AbortWatch(late.signal, () => told.push('late'))]
  early.abort()
  expect(told).toEqual([])
  await listening()
  expect(told).toEqual(['early'])
  late.abort()
  expect(told).toEqual(['early', 'late'])
  for (const watch of watches) {
    watch.look()
    watch.stop()
  }
  expect(told).toEqual(['early', 'late'])
})

it('tells at once when it is made to look', () => {
  const controller = new AbortController()
  let told = 0
  const watch = new AbortWatch(controller.signal, () => void told++)
  watch.look()
  expect(told).toBe(0)
  controller.abort()
  watch.look()
  watch.look()
  expect(told).toBe(1)
})

it('leaves no listener, and tells nothing, once it was stopped', async () => {
  const { signal } = new AbortController()
  const controller = new AbortController()
  const never = (): never => {
    throw new Error('told')
  }
  const [stoppedEarly, stoppedLate] = [new AbortWatch(controller.signal, never), new AbortWatch(signal, never)]
  stoppedEarly.stop()
  await listening()
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  stoppedLate.stop()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  controller.abort()
  stoppedEarly.look()
})
