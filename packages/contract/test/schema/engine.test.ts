import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/index.ts'
import { compileSchema, patternEngine, readSchema } from '../../src/schema/index.ts'
import { isMultipleOf } from '../../src/schema/multiple-of.ts'

const check = (schema: Json) => {
  const reading = readSchema(schema)
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults))
  return compileSchema(reading.document, (source) => new RegExp(source, 'u'))
}
const faultsOf = (schema: Json) => {
  const reading = readSchema(schema)
  return reading.ok ? [] : reading.faults.map(({ path }) => path)
}

describe('multiples', () => {
  it.each([[19.99, 0.01], [0.3, 0.1], [1e21, 7e20 / 7], [-4.5, 1.5], [12391239123, 1e-8], [0, 0.7]])('%d is one of %d', (value, factor) => {
    expect(isMultipleOf(value, factor)).toBe(true)
  })
  it.each([[19.999, 0.01], [0.35, 0.1], [1e308, 0.123456789], [1, 3]])('%d is none of %d', (value, factor) => {
    expect(isMultipleOf(value, factor)).toBe(false)
  })
  it('of what is written with two digits behind the point', () => {
    fc.assert(fc.property(fc.integer({ min: -1e9, max: 1e9 }), (cents) => isMultipleOf(Number((cents / 100).toFixed(2)), 0.01)))
  })
})

it('a value satisfies the schema that only it satisfies', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => check({ const: value as Json })(value as Json) === undefined))
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) =>
    (check({ enum: [one as Json] })(other as Json) === undefined) === (check({ uniqueItems: true })([one as Json, other as Json]) !== undefined)))
})

it('a fault names the place from the root of the value, and the member that is missing or too many', () => {
  const closed = { type: 'object', properties: { 'a/b': { type: 'array', items: { type: 'object', required: ['x'], additionalProperties: false, properties: { x: true } } } } }
  expect(check(closed)({ 'a/b': [{ x: 1 }, {}] })).toMatchObject({ path: '/a~1b/1', keyword: 'required', member: 'x' })
  expect(check(closed)({ 'a/b': [{ x: 1, y: 2 }] })).toMatchObject({ path: '/a~1b/0', keyword: 'additionalProperties', member: 'y' })
})

it.each<[string, JsonObject, string]>([
  ['a length below zero', { properties: { a: { minLength: -1 } } }, '/properties/a/minLength'],
  ['a factor of zero', { multipleOf: 0 }, '/multipleOf'],
  ['names that are none', { required: [1] }, '/required'],
  ['a name twice', { required: ['a', 'a'] }, '/required'],
  ['a list for a schema', { items: [{}] }, '/items'],
  ['a schema that is none', { properties: { a: 7 } }, '/properties'],
  ['no alternative', { anyOf: [] }, '/anyOf'],
  ['an identifier with a fragment', { $defs: { a: { $id: 'https://example.com/#x' } } }, '/$defs/a/$id'],
  ['an identifier twice', { $defs: { a: { $id: 'urn:x' }, b: { $id: 'urn:x' } } }, '/$defs/b/$id'],
  ['an anchor that is none', { $anchor: '#a' }, '/$anchor'],
  ['a dynamic reference to nothing', { $dynamicRef: '#a' }, '/$dynamicRef'],
  ['a reference elsewhere', { $ref: 'https://example.com/other' }, '/$ref'],
  ['a reference to itself without end', { anyOf: [{ $dynamicRef: '#a' }], $dynamicAnchor: 'a' }, ''],
  ['another dialect', { $schema: 'https://json-schema.org/draft/2019-09/schema' }, '/$schema'],
])('%s is a fault of the schema', (_, schema, path) => {
  expect(faultsOf(schema)).toEqual([path])
})

it('keywords that no dialect has are no fault, and are told with the nearest name', () => {
  const reading = readSchema({ type: 'string', minlength: 1, 'x-order': 2, dependencies: { a: ['b'] } })
  expect(reading).toMatchObject({ ok: true, document: { unknownKeywords: [{ path: '/minlength', message: expect.stringContaining('"minLength"') }, { path: '/dependencies' }] } })
})

it('a boolean is a schema, and a number is none', () => {
  expect([check(true)(1), check(false)(1)?.keyword, faultsOf(1)]).toEqual([undefined, 'false schema', ['']])
})

describe('patterns', () => {
  const refusing = { translateRegExp: (source: string) => source, compile: (source: string) => {
    if (source.includes('(?')) throw new Error('no looking around')
    const pattern = new RegExp(source, 'u')
    return { test: (text: string) => pattern.test(text), programSize: () => source.length }
  } }
  const engine = patternEngine(refusing)

  it('that the library cannot run do not run', () => {
    expect([engine.compile('^(?=a)'), engine.compile('^a')?.test('ab')]).toEqual([undefined, true])
    expect([engine.findFault('^(?=a)'), engine.findFault('^(?=a)', false), engine.findFault('(', false)])
      .toEqual([expect.stringContaining('linear time'), undefined, expect.stringContaining('Unterminated')])
  })

  it('name categories by their long names or their short ones, and a backslash before a brace is none', () => {
    expect([engine.compile('^\\p{Letter}$')?.test('é'), engine.compile('^\\p{gc=Decimal_Number}$')?.test('٣'), engine.compile('^\\\\p\\{Letter\\}$')?.test('\\p{Letter}')])
      .toEqual([true, true, true])
  })
})
