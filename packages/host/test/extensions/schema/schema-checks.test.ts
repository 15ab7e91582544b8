import type { Json, JsonObject } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { LONG, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { Validators } from '../../../src/extensions/schema-checks.ts'

const codeOf = (compile: () => unknown): unknown => {
  try {
    compile()
    return 'compiled'
  } catch (thrown) {
    return (thrown as { code?: unknown }).code
  }
}

test('a fault names the path, the keyword and the requirement', () => {
  const check = new Validators().compile({
    type: 'object', additionalProperties: false, required: ['city'],
    properties: {
      city: { type: 'string', minLength: 2 }, unit: { enum: ['C', 'F'] },
      tags: { type: 'array', items: { type: 'string' } },
    },
  })
  const faults: readonly (readonly [Json, object | undefined])[] = [
    [{ city: 'Oslo' }, undefined],
    [{}, { path: '', keyword: 'required', message: "must have required property 'city'", member: 'city' }],
    [{ city: 1 }, { path: '/city', keyword: 'type', message: 'must be string' }],
    [
      { city: 'Oslo', unit: 'K' },
      { path: '/unit', keyword: 'enum', message: 'must be equal to one of the allowed values ["C","F"]' },
    ],
    [
      { city: 'Oslo', tags: ['a', 2] }, { path: '/tags/1', keyword: 'type', message: 'must be string' },
    ],
    [
      { city: 'Oslo', more: 1 },
      {
        path: '', keyword: 'additionalProperties', message: 'must NOT have additional properties ("more")',
        member: 'more',
      },
    ],
  ]
  for (const [value, fault] of faults) expect(check(value)).toEqual(fault)
})

test('equal schemas are compiled once, however they are written', () => {
  const validators = new Validators()
  const check = validators.compile({ type: 'object', properties: { a: { type: 'string' } } })
  expect(validators.compile({ properties: { a: { type: 'string' } }, type: 'object' })).toBe(check)
  expect(validators.compile({ type: 'object' })).not.toBe(check)
})

test('schemas are isolated from each other', () => {
  const validators = new Validators()
  const shared = { $id: 'https://example.com/shared', type: 'object', $defs: { word: { type: 'string' } } }
  validators.compile(shared)
  expect(codeOf(() => validators.compile({ ...shared, title: 'another with that id' }))).toBe('compiled')
  expect(
    codeOf(() =>
      validators.compile({ type: 'object', properties: { a: { $ref: 'https://example.com/shared#/$defs/word' } } }),
    ),
  ).toBe('ConfigSchemaInvalid')
})

test.each<[string, JsonObject]>([
  ['a wrong value', { type: 'objekt' }],
  ['a missing reference', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }],
  ['another draft', { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' }],
  ['a schema that is never done', { allOf: [{ $ref: '#' }] }],
])('%s is a fault of the schema', (_, schema) => {
  expect(codeOf(() => new Validators().compile(schema))).toBe('ConfigSchemaInvalid')
})

test.each<[string, JsonObject, Json]>([
  ['a union of types', { type: ['string', 'null'] }, null],
  ['a required name without a schema of its own', { type: 'object', required: ['a'] }, { a: 1 }],
  ['an open tuple', { type: 'array', prefixItems: [{ type: 'string' }] }, ['a', 2]],
  ['a reference to itself', { type: 'object', properties: { next: { $ref: '#' } } }, { next: { next: {} } }],
  ['a keyword that no version has', { 'type': 'object', 'x-order': ['a'], '$async': true }, {}],
  ['a format, which is a remark', { type: 'string', format: 'date' }, 'tomorrow'],
  ['a keyword of another type', { type: 'string', uniqueItems: true }, 'a'],
  [
    'properties that patterns mean too',
    { properties: { ab: { type: 'string' } }, patternProperties: { '^a': { minLength: 1 } } }, { ab: 'x' },
  ],
  [
    'draft-07',
    { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }], additionalItems: false }, ['a'],
  ],
  ['a number that is no multiple in binary', { multipleOf: 0.01 }, 19.99],
  ['a property that every object inherits', { properties: { toString: { type: 'string' } } }, {}],
])('%s is valid and accepted', (_, schema, value) => {
  expect(new Validators().compile(schema)(value)).toBeUndefined()
})

test.each<[string, JsonObject, Json]>([
  ['an inherited property', { type: 'object', required: ['constructor'] }, {}],
  ['a number that is no multiple', { multipleOf: 0.01 }, 19.999],
  [
    'an item too many in draft-07',
    { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }], additionalItems: false },
    ['a', 1],
  ],
  [
    'a property that only the branch not taken knows',
    {
      if: { required: ['kind'], properties: { kind: { const: 'a' } } }, else: { properties: { other: true } },
      unevaluatedProperties: false,
    },
    { kind: 'a', other: 1 },
  ],
])('%s does not satisfy the schema', (_, schema, value) => {
  expect(new Validators().compile(schema)(value)).toBeDefined()
})

test('a value that is nested too deep is a fault', () => {
  const check = new Validators().compile({ type: 'object', properties: { next: { $ref: '#' } } })
  let value: Json = {}
  for (let depth = 0; depth < 20_000; depth++) value = { next: value }
  expect(check(value, 10)).toMatchObject({ message: expect.stringContaining('nested too deep') })
})

// A backtracking engine would hang.
test('a pattern with exponential backtracking is checked', () => {
  const check = new Validators().compile({ type: 'string', pattern: '^(a+)+$' })
  expect(check(`${'a'.repeat(5_000)}!`)).toMatchObject({ keyword: 'pattern' })
  expect(check('aaaa')).toBeUndefined()
})

const MANY = Array.from({ length: 20_000 }, (_, at) => ({ at, kind: 'a' }))

/** Letters a and b without a period: the engine caches repeated input. */
function withoutPeriod(length: number): string {
  let state = 1
  return Array.from({ length }, () =>
    ((state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff) & 0x1_0000) === 0 ? 'a' : 'b',
  ).join('')
}

test('a schema and a value that are slow together do not block the host, and are a fault', LONG, () => {
  const validators = new Validators()
  const slow: readonly (readonly [JsonObject, Json])[] = [
    [{ type: 'string', pattern: '[ab]*a[ab]{400}c' }, `c${withoutPeriod(900_000)}`],
    [{ type: 'array', contains: { enum: MANY.slice(0, 1_500) }, minContains: 99_999 }, MANY.toReversed()],
  ]
  for (const [schema, value] of thoroughly(slow.slice(0, 1), slow)) {
    const check = validators.compile(schema)
    for (const chars of thoroughly([900_000], [undefined, 900_000])) {
      expect(check(value, chars)).toMatchObject({ message: expect.stringContaining('longer than 1000 ms') })
    }
  }
  expect(validators.compile(slow[0]![0])(`${'a'.repeat(401)}c`)).toBeUndefined()
})

// Comparing all pairs would exceed the limit of the test above, and be a fault.
test('a long list with uniqueItems is checked', () => {
  expect(new Validators().compile({ type: 'array', uniqueItems: true })(MANY)).toBeUndefined()
})

test('two patterns are never confused', () => {
  const check = new Validators().compile({
    type: 'object', properties: { a: { type: 'string', pattern: '^x$' }, b: { type: 'string', pattern: '^y$' } },
  })
  expect(check({ a: 'x', b: 'y' })).toBeUndefined()
  expect(check({ a: 'x', b: 'x' })).toMatchObject({ path: '/b' })
  expect(check({ a: 'y' })).toMatchObject({ path: '/a' })
})

test('the checks of schemas are found again, up to a number', () => {
  const validators = new Validators()
  const numbered = (index: number) => ({ type: 'object', minProperties: index })
  const first = validators.compile(numbered(0))
  expect(validators.compile(numbered(0))).toBe(first)
  for (let index = 1; index <= 4_096; index += 1) validators.compile(numbered(index))
  expect(validators.compile(numbered(4_096))).toBe(validators.compile(numbered(4_096)))
  const again = validators.compile(numbered(0))
  expect(again).not.toBe(first)
  expect([first({}), again({})]).toEqual([undefined, undefined])
})
