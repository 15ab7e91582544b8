import type { JsonObject } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { createWorld } from '../twin/world.ts'

const SCHEMA: JsonObject = {
  type: 'object',
  required: ['city'],
  additionalProperties: false,
  properties: { city: { type: 'string' }, days: { type: 'array', items: { type: 'integer' } } },
}

async function callWith(args: unknown, inputSchema: JsonObject = { type: 'object' }) {
  const world = createWorld({ extensions: [{ tools: { echo: { inputSchema } } }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  return { world, outcome: await session.call({ id: 'c1', name: 'echo', arguments: args }) }
}

test.each<[unknown, string, string]>([
  [{}, '', "must have required property 'city'"],
  [{ city: 7 }, '/city', 'must be string'],
  [{ city: 'Oslo', days: [1, 'two'] }, '/days/1', 'must be integer'],
  [{ city: 'Oslo', extra: 1 }, '', 'must NOT have additional properties ("extra")'],
])('arguments that violate the schema are reported with path and keyword: %j', async (args, path, message) => {
  const { world, outcome } = await callWith(args, SCHEMA)
  expect(outcome).toMatchObject({
    error: { code: 'InputInvalid', data: { path, message } },
    error_text: expect.stringContaining(message),
    metadata: { attempt: 0 },
  })
  expect(world.sandbox.requests).toEqual([])
})

const OPTIONAL: JsonObject = {
  type: 'object',
  required: ['city'],
  additionalProperties: false,
  properties: {
    city: { type: 'string' }, days: { type: 'integer' }, unit: { enum: ['C', 'F'] }, note: { type: ['string', 'null'] },
    any: {}, where: { $ref: '#/$defs/place' }, list: { type: 'array', items: { $ref: '#/$defs/place' } },
  },
  $defs: { place: { type: 'object', required: ['x'], properties: { x: { type: 'number' }, y: { type: 'number' } } } },
}

test.each<[JsonObject, JsonObject]>([
  [{ city: 'Oslo', days: null, unit: null }, { city: 'Oslo' }],
  [
    { city: 'Oslo', note: null, any: null }, { city: 'Oslo', note: null, any: null },
  ],
  [
    { city: 'Oslo', where: { x: 1, y: null }, list: [{ x: 1 }, { x: 2, y: null }] },
    { city: 'Oslo', where: { x: 1 }, list: [{ x: 1 }, { x: 2 }] },
  ],
  [{ city: 'Oslo', where: null }, { city: 'Oslo' }],
])('null for an optional argument counts as absent if null is not allowed: %j', async (args, given) => {
  const { world, outcome } = await callWith(args, OPTIONAL)
  expect(outcome).toMatchObject({ type: 'output' })
  expect(world.sandbox.compartments.flatMap(({ calls }) => calls.map(({ args: sent }) => sent))).toEqual([given])
})

test.each<[JsonObject, string, string]>([
  [{ city: null }, '/city', 'must be string'],
  [{ city: 'Oslo', days: null, where: { x: null } }, '/where/x', 'must be number'],
  [{ city: 'Oslo', list: [null] }, '/list/0', 'must be object'],
  [{ city: 'Oslo', extra: null }, '', 'must NOT have additional properties ("extra")'],
])('any other null is reported: %j', async (args, path, message) => {
  expect((await callWith(args, OPTIONAL)).outcome).toMatchObject({
    error: { code: 'InputInvalid', data: { path, message } },
  })
})

test('at most 64 arguments that are null are removed', async () => {
  const named = <T>(count: number, value: T): Record<string, T> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, value]))
  const schema = { type: 'object', properties: named(65, { type: 'integer' }) } satisfies JsonObject
  expect((await callWith(named(64, null), schema)).outcome).toMatchObject({ type: 'output' })
  expect((await callWith(named(65, null), schema)).outcome).toMatchObject({ error: { code: 'InputInvalid' } })
})

const deep = (levels: number): unknown => JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels))
const cyclic: Record<string, unknown> = {}
cyclic['self'] = { cyclic }
const shared = (levels: number): unknown =>
  Array.from({ length: levels }).reduce<unknown>((inner) => ({ a: inner, b: inner }), 1)

test.each<[string, unknown, string]>([
  ['too deep', deep(40), 'depth'],
  ['a graph that is small here and huge as text', shared(26), 'size'],
  ['too many values', { list: Array.from({ length: 60_000 }, () => 1) }, 'size'],
  ['too long', { text: 'x'.repeat(2 * 1024 * 1024) }, 'size'],
  ['a sparse array', { list: Object.assign([], { length: 4_000_000_000 }) }, 'hole|size'],
  ['cyclic', cyclic, 'cycle'],
  ['an own __proto__', JSON.parse('{"__proto__": {"admin": true}}'), 'key'],
  ['an accessor', Object.defineProperty({}, 'a', { enumerable: true, get: () => 1 }), 'kind'],
  ['a function', { a: () => 1 }, 'kind'],
  ['a class', { a: new Date() }, 'kind'],
  ['not a number', { a: Number.NaN }, 'kind'],
  ['half a character', { a: '\ud800' }, 'text'],
  ['undefined', undefined, 'kind'],
  ['a proxy that throws', new Proxy({}, { ownKeys: () => { throw new Error('boo') } }), 'kind'],
])('hostile arguments are rejected with a reason: %s', async (_, args, rule) => {
  const { world, outcome } = await callWith(args)
  expect(outcome).toMatchObject({
    error: { code: 'InputInvalid', data: { rule: expect.stringMatching(`^(?:${rule})$`) } },
  })
  expect(world.sandbox.requests).toEqual([])
})

test.each([null, 1, 'text', true, []].map((value) => [value]))('arguments must be an object, not %j', async (args) => {
  expect((await callWith(args)).outcome).toMatchObject({ error: { code: 'InputInvalid', data: { rule: 'type' } } })
})

test.each<[string, RegExp]>([
  ['{"city":"Os', /are a string that is not JSON: Unterminated string/],
  ['{"city":"Oslo"}', /are a JSON string; pass the parsed object instead\./],
  ['[]', /must be an object\./],
])('arguments that are a JSON string are reported: %s', async (args, message) => {
  const { outcome } = await callWith(args)
  expect(outcome).toMatchObject({
    error: { code: 'InputInvalid', data: { path: '', rule: 'type' } }, error_text: expect.stringMatching(message),
  })
})

test('the evaluated arguments run: neither the caller nor a guard can change them afterwards', async () => {
  const args = { path: ['a'] }
  const world = createWorld()
  const tampered: unknown[] = []
  const session = await world.host.openSession({
    approver: {
      approve: async () => {
        args.path.push('b')
        return { decision: 'once' }
      },
    },
    watchdog: (call) => {
      try {
        (call.args['path'] as string[]).push('c')
      } catch (thrown) {
        tampered.push(thrown)
      }
    },
  })
  expect(await session.call({ id: 'c1', name: 'echo', arguments: args })).toMatchObject({ data: { path: ['a'] } })
  expect(tampered).toHaveLength(1)
})
