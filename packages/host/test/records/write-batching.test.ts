import type { Notebook } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import { notingStore } from '../twin/notes.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

/** Requests to the notes and runs of the tool, in order. */
const noting = (log: string[], faults: Partial<Notebook> = {}) =>
  createWorld({
    store: notingStore(log, faults),
    extensions: [
      { layer: 'bundled', inline: true, tools: {
        // What has effects is noted for each call, as it starts.
        echo: { effects: 'none', execute: async ({ n }) => void log.push(`run ${n}`) },
      } },
    ],
  })
const call = (n: number) => ({ id: `c${n}`, name: 'echo', arguments: { n } })

test('calls of one tick are saved together before they run', async () => {
  const log: string[] = []
  const session = await noting(log).host.openSession({ mode: 'yolo' })
  await session.call(call(0))
  log.length = 0
  const outcomes = await Promise.all([1, 2, 3].map((n) => session.call(call(n))))
  expect(outcomes.map(verdictOf)).toEqual(['output', 'output', 'output'])
  expect(log.slice(0, 7)).toEqual(['put 2', 'put 3', 'put 4', 'save', 'run 1', 'run 2', 'run 3'])
  expect(log.slice(7).toSorted()).toEqual(['drop 2', 'drop 3', 'drop 4'])
})

test('the start of a call is reported after it is saved', async () => {
  const log: string[] = []
  const world = noting(log)
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call(call(0))
  log.length = 0
  world.host.on(({ type }) => { if (type === 'ToolInvocationStarted') log.push('began') })
  await session.call(call(1))
  expect(log).toEqual(['put 2', 'save', 'began', 'run 1', 'drop 2'])
})

test('a failed save loses the notes, not the calls', async () => {
  const log: string[] = []
  const world = noting(log, {
    save: () => {
      throw new Error('the disk is full')
    },
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  expect((await Promise.all([1, 2].map((n) => session.call(call(n))))).map(verdictOf)).toEqual(['output', 'output'])
  expect(world.eventsOf('SuppressedError')).toMatchObject([{ source: 'journal of calls', message: 'the disk is full' }])
})

test('a call that is cancelled before it is sent never runs', async () => {
  const log: string[] = []
  const session = await noting(log).host.openSession({ mode: 'yolo' })
  await session.call(call(0))
  const cancel = new AbortController()
  const pending = session.call(call(1), { signal: cancel.signal })
  cancel.abort()
  expect(verdictOf(await pending)).toBe('ToolCancelled')
  await flush()
  expect(log).not.toContain('run 1')
})
