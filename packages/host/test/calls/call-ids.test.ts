import { expect, test } from 'vitest'
import { CallIds } from '../../src/model/call-ids.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const echo = (id: string) => ({ id, name: 'echo', arguments: {} })

test('an id names one call of a session', async () => {
  const { host, eventsOf } = createWorld({ repeatsIds: false })
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.explain(echo('c1'))).toMatchObject({ decision: 'allow' })
  expect(verdictOf(await session.call(echo('c1')))).toBe('output')
  expect(await session.call(echo('c1'))).toMatchObject({
    error: { code: 'InputInvalid', data: { path: '/id' } },
    error_text: expect.stringContaining('already has the id "c1"'),
  })
  expect(eventsOf('ToolInvocationStarted')).toHaveLength(1)
  const other = await host.openSession({ mode: 'yolo' })
  expect(verdictOf(await other.call(echo('c1')))).toBe('output')
})

test('of two calls at once with one id, one runs', async () => {
  const { host } = createWorld({ repeatsIds: false })
  const session = await host.openSession({ mode: 'yolo' })
  const atOnce = await Promise.all([session.call(echo('c1')), session.call(echo('c1'))])
  expect(atOnce.map(verdictOf)).toEqual(['output', 'InputInvalid'])
  const together = await session.callAll([echo('c2'), echo('c2'), echo('c3')])
  expect(together.map(verdictOf)).toEqual(['output', 'InputInvalid', 'output'])
})

test('a session forgets the oldest ids', () => {
  const ids = new CallIds()
  for (let id = 0; id <= 100_000; id++) ids.take(`c${id}`)
  expect(() => ids.take('c1')).toThrow('already has the id "c1"')
  expect(() => ids.take('c0')).not.toThrow()
})
