import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { notingStore } from '../twin/notes.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const call = (n: number) => ({ id: `c${n}`, name: 'echo', arguments: { n } })

test.each([
  [[1], ['sent 1', 'put 2', 'save', 'answered 1']],
  [[1, 2], ['put 2', 'put 3', 'save', 'sent 1', 'sent 2']],
])('calls %j to a compartment are in the journal before the host reads its next message', async (numbers, expected) => {
  const log: string[] = []
  const world = createWorld({
    store: notingStore(log),
    extensions: [{
      tools: {
        echo: {
          execute: async ({ n }) => {
            log.push(`sent ${n}`)
            await nextTurn()
            log.push(`answered ${n}`)
          },
        },
      },
    }],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call(call(0))
  log.length = 0
  await Promise.all(numbers.map((n) => session.call(call(n))))
  expect(log.slice(0, expected.length)).toEqual(expected)
  expect(log.slice(2 * numbers.length + 1).toSorted()).toEqual(
    numbers.flatMap((n) => [`drop ${n + 1}`, `answered ${n}`]).toSorted(),
  )
})

test('a call that a hook vetoes is never written', async () => {
  const log: string[] = []
  const world = createWorld({ store: notingStore(log) })
  const session = await world.host.openSession({ mode: 'yolo', hooks: { beforeToolExecution: () => false } })
  // The first one waits for its extension to start.
  await session.call(call(0))
  log.length = 0
  expect(verdictOf(await session.call(call(1)))).not.toBe('output')
  // Longer than a call waits unwritten.
  await delay(50)
  expect(log).toEqual([])
})

test('a call that waits for a person is in the journal', async () => {
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
  // The form, and the call.
  await expect.poll(() => log, { interval: 5 }).toEqual(['put 1', 'put 2', 'save'])
  answer.resolve({ decision: 'once' })
  expect(verdictOf(await pending)).toBe('output')
  expect(log).toEqual(['put 1', 'put 2', 'save', 'drop 2'])
})
