import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import { notingStore } from '../twin/notes.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const call = (n: number) => ({ id: `c${n}`, name: 'echo', arguments: { n } })

test('a call into a compartment is on its way before it is noted, and noted before anything can come back', async () => {
  const log: string[] = []
  const world = createWorld({
    store: notingStore(log),
    extensions: [{
      tools: {
        echo: {
          execute: async ({ n }) => {
            log.push(`sent ${n}`)
            await nextTurn()
            log.push(`heard ${n}`)
          },
        },
      },
    }],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call(call(0))
  log.length = 0
  await Promise.all([1, 2].map((n) => session.call(call(n))))
  expect(log.slice(0, 5)).toEqual(['sent 1', 'sent 2', 'put 2', 'put 3', 'save'])
  expect(log.slice(5).toSorted()).toEqual(['drop 2', 'drop 3', 'heard 1', 'heard 2'])
})

test('a call that is refused at once is never noted', async () => {
  const log: string[] = []
  const world = createWorld({ store: notingStore(log) })
  const session = await world.host.openSession({ mode: 'yolo', hooks: { beforeToolExecution: () => false } })
  // The first one waits for its extension to start.
  await session.call(call(0))
  log.length = 0
  expect(verdictOf(await session.call(call(1)))).not.toBe('output')
  await flush()
  expect(log).toEqual([])
})

test('a call that waits for a person is noted while it waits', async () => {
  const log: string[] = []
  const world = createWorld({ store: notingStore(log), extensions: [{ tools: { echo: { gated: true } } }] })
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<{ decision: 'once' }>()
  const approve = () => {
    asked.resolve()
    return answer.promise
  }
  const session = await world.host.openSession({ mode: 'ask', approver: { approve } })
  const pending = session.call(call(1))
  await asked.promise
  await flush()
  expect(log).toEqual(['put 1', 'save'])
  answer.resolve({ decision: 'once' })
  expect(verdictOf(await pending)).toBe('output')
  expect(log).toEqual(['put 1', 'save', 'drop 1'])
})
