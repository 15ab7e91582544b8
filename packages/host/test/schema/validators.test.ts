import { SCHEMA_FORMATS, type Json, type JsonObject } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { linearRegExp } from '../../src/schema/linear-regexp.ts'
import { Validators } from '../../src/schema/validators.ts'

const codeOf = (compile: () => unknown): unknown => {
  try {
    compile()
    return 'compiled'
  } catch (thrown) {
    return (thrown as { code?: unknown }).code
  }
}

test('a fault names the place, the keyword and what the schema wants', () => {
  const check = new Validators().compile({
    type: 'object', additionalProperties: false, required: ['city'],
    properties: {
      city: { type: 'string', minLength: 2 }, unit: { enum: ['C', 'F'] }, tags: { type: 'array', items: { type: 'string' } },
    },
  })
  const faults: readonly (readonly [Json, object | undefined])[] = [
    [{ city: 'Oslo' }, undefined],
    [{}, { path: '', keyword: 'required', message: "must have required property 'city'" }],
    [{ city: 1 }, { path: '/city', keyword: 'type', message: 'must be string' }],
    [
      { city: 'Oslo', unit: 'K' },
      { path: '/unit', keyword: 'enum', message: 'must be equal to one of the allowed values ["C","F"]' },
    ],
    [{ city: 'Oslo', tags: ['a', 2] }, { path: '/tags/1', keyword: 'type', message: 'must be string' }],
    [
      { city: 'Oslo', more: 1 },
      { path: '', keyword: 'additionalProperties', message: 'must NOT have additional properties ("more")' },
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

test('schemas cannot reach or disturb each other', () => {
  const validators = new Validators()
  const shared = { $id: 'https://example.com/shared', type: 'object', $defs: { word: { type: 'string' } } }
  validators.compile(shared)
  expect(codeOf(() => validators.compile({ ...shared, title: 'another with that id' }))).toBe('compiled')
  expect(
    codeOf(() => validators.compile({ type: 'object', properties: { a: { $ref: 'https://example.com/shared#/$defs/word' } } })),
  ).toBe('ConfigSchemaInvalid')
})

test.each<[string, JsonObject]>([
  ['an unknown keyword', { type: 'object', propertis: {} }],
  ['a format that only the meta-schema uses', { type: 'string', format: 'regex' }],
  ['an unknown format', { type: 'string', format: 'zip-code' }],
  ['a wrong value', { type: 'objekt' }],
  ['a missing reference', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }],
  ['another draft', { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }],
  ['a pattern that looks around', { type: 'string', pattern: '^(?=a)b' }],
  ['a check that would answer with a promise', { $async: true, type: 'object' }],
])('%s is a fault of the schema', (_, schema) => {
  expect(codeOf(() => new Validators().compile(schema))).toBe('ConfigSchemaInvalid')
})

test.each(SCHEMA_FORMATS)('%s is a format that is known', (format) => {
  expect(codeOf(() => new Validators().compile({ format }))).toBe('compiled')
})

test.each<[string, JsonObject, Json]>([
  ['a union of types', { type: ['string', 'null'] }, null],
  ['a required name without a schema of its own', { type: 'object', required: ['a'] }, { a: 1 }],
  ['an open tuple', { type: 'array', prefixItems: [{ type: 'string' }] }, ['a', 2]],
  ['a reference to itself', { type: 'object', properties: { next: { $ref: '#' } } }, { next: { next: {} } }],
])('%s is valid and accepted', (_, schema, value) => {
  expect(new Validators().compile(schema)(value)).toBeUndefined()
})

test('a pattern made to explode takes no time', () => {
  const check = new Validators().compile({ type: 'string', pattern: '^(a+)+$' })
  const before = process.cpuUsage()
  expect(check(`${'a'.repeat(5_000)}!`)).toMatchObject({ keyword: 'pattern' })
  expect(check('aaaa')).toBeUndefined()
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000)
})

const MANY = Array.from({ length: 20_000 }, (_, at) => ({ at, kind: 'a' }))

test('a schema and a value that are slow together hold nobody up, and are a fault', () => {
  const validators = new Validators()
  const slow: readonly (readonly [JsonObject, Json])[] = [
    [{ type: 'string', pattern: '(?:[a-z]{1,30}[0-9a-f]{1,30}){1,15}[!?]' }, 'abc123'.repeat(150_000)],
    [{ type: 'array', contains: { enum: MANY.slice(0, 1_500) }, minContains: 99_999 }, MANY.toReversed()],
  ]
  for (const [schema, value] of slow) {
    const check = validators.compile(schema)
    for (const chars of [undefined, 900_000]) {
      const before = process.cpuUsage()
      expect(check(value, chars)).toMatchObject({ message: expect.stringContaining('longer than 1000 ms') })
      expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000)
    }
  }
  expect(validators.compile(slow[0]![0])('abc123!')).toBeUndefined()
})

test('a long list whose items must differ takes no time', () => {
  const before = process.cpuUsage()
  expect(new Validators().compile({ type: 'array', uniqueItems: true })(MANY)).toBeUndefined()
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000)
})

test('two patterns are never taken for one', () => {
  const check = new Validators().compile({
    type: 'object', properties: { a: { type: 'string', pattern: '^x$' }, b: { type: 'string', pattern: '^y$' } },
  })
  expect(check({ a: 'x', b: 'y' })).toBeUndefined()
  expect(check({ a: 'x', b: 'x' })).toMatchObject({ path: '/b' })
  expect(check({ a: 'y' })).toMatchObject({ path: '/a' })
  expect(String(linearRegExp('^x$', 'u'))).not.toBe(String(linearRegExp('^y$', 'u')))
})
