import { expect, test } from 'vitest'
import { propose } from '../../src/calls/receive.ts'
import type { CallScope } from '../../src/policy/call.ts'
import { ManualClock } from '../twin/clock.ts'
import { createWorld, verdictOf } from '../twin/world.ts'
import type { Session } from '../../src/index.ts'

const open = () => createWorld().host.openSession({ mode: 'yolo' })
/** Values that a JavaScript caller may pass. */
const callWith = async (call: unknown, options?: unknown) => {
  const session = await open()
  return (session.call as (...args: readonly unknown[]) => ReturnType<Session['call']>).call(session, call, options)
}

test.each<[string, unknown, string]>([
  ['nothing', undefined, ''],
  ['null', null, ''],
  ['a text', 'echo', ''],
  ['no id', { name: 'echo', arguments: {} }, ''],
  ['an empty id', { id: '', name: 'echo', arguments: {} }, ''],
  ['a number for an id', { id: 7, name: 'echo', arguments: {} }, ''],
  ['an endless id', { id: 'x'.repeat(129), name: 'echo', arguments: {} }, 'x'.repeat(128)],
  ['half a character in the id', { id: 'a\ud800', name: 'echo', arguments: {} }, 'a\ufffd'],
  ['no name', { id: 'c1', arguments: {} }, 'c1'],
  ['an object for a name', { id: 'c1', name: {}, arguments: {} }, 'c1'],
  ['a call that throws when it is read', new Proxy({}, { get: () => { throw new Error('boo') } }), ''],
])('%s is InputInvalid, with as much of the id as is valid', async (_, call, id) => {
  expect(await callWith(call)).toMatchObject({
    type: 'error', error: { code: 'InputInvalid' }, metadata: { call_id: id, attempt: 0, origin: null },
  })
})

test.each<[string, object, RegExp]>([
  ['another field', { timeoutMs: 5 }, /unknown field "timeoutMs". Pass "id", "name" and "arguments" only/],
  ['arguments by another name', { args: {} }, /unknown field "args". Pass the arguments as "arguments"/],
])('%s is refused', async (_, more, text) => {
  const outcome = await callWith({ id: 'c1', name: 'echo', arguments: {}, ...more })
  expect(outcome).toMatchObject({ error: { code: 'InputInvalid' }, error_text: expect.stringMatching(text) })
})

test.each([0, -1, Number.NaN, Infinity, 3_600_001, '5', null])('a timeout of %s is rejected', async (timeoutMs) => {
  expect(verdictOf(await callWith({ id: 'c1', name: 'echo', arguments: {} }, { timeoutMs }))).toBe('InputInvalid')
})

test('the request of a call is frozen, whatever was passed', () => {
  const scope = {} as CallScope
  for (const call of [{ id: 'c1', name: 'echo', arguments: {} }, undefined]) {
    expect(propose({ scope, call, timeoutMs: 5 }, new ManualClock()).request).toSatisfy(Object.isFrozen)
  }
})
