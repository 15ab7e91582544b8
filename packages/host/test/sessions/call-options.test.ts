import { expect, test } from 'vitest'
import { createWorld, verdictOf } from '../twin/world.ts'

const CALL = { id: 'c1', name: 'echo', arguments: { city: 'Oslo' } }
const { signal } = new AbortController()

test.each<[string, unknown, string]>([
  ['null', null, 'cannot be null. Pass an object.'],
  ['a signal that is none', { signal: 5 }, 'Pass an AbortSignal.'],
  ['a controller for its signal', { signal: new AbortController() }, 'Pass an AbortSignal.'],
  ['a slip', { timeout: 5 }, 'Did you mean "timeoutMs"?'],
])('an invalid option is the error of the call: %s', async (_, options, message) => {
  const world = createWorld()
  const session = await world.host.openSession({ mode: 'yolo' })
  const refused = { error: { code: 'InputInvalid' }, error_text: expect.stringContaining(message), metadata: { attempt: 0 } }
  expect(await session.call(CALL, options as never)).toMatchObject(refused)
  expect(await session.callAll([CALL, { ...CALL, id: 'c2' }], options as never)).toMatchObject([refused, refused])
  expect(world.sandbox.requests).toEqual([])
  expect(verdictOf(await session.call(CALL, { signal }))).toBe('output')
  await session.close()
})

test('steering must be a function, and the signal of a turn a signal', async () => {
  const session = await createWorld().host.openSession({ mode: 'yolo' })
  expect((await session.callAll([CALL], { steering: true as never })).map(verdictOf)).toEqual(['InputInvalid'])
  expect(() => session.beginTurn({ signal: 5 as never })).toThrow('Pass an AbortSignal.')
  expect(() => session.beginTurn(null as never)).toThrow('The options of beginTurn cannot be null')
  session.beginTurn({ signal })
  await session.endTurn()
})
