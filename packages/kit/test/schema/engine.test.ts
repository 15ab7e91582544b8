import { Ajv2020, type Options } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { Json, JsonObject } from '../../src/json.ts'
import { patternEngine, readSchema, schemaCompiler } from '../../src/schema/index.ts'
import type { SchemaLibrary } from '../../src/schema/compile.ts'
import { isMultipleOf } from '../../src/schema/ajv-keywords.ts'

const compile = schemaCompiler(
  Ajv2020, { compile: (source) => Object.assign(new RegExp(source, 'u'), { size: source.length }) },
)

const check = (schema: Json) => {
  const reading = readSchema(schema)
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults))
  return compile(reading.document).check
}
const faultsOf = (schema: Json) => {
  const reading = readSchema(schema)
  return reading.ok ? [] : reading.faults.map(({ path }) => path)
}

describe('isMultipleOf', () => {
  it.each([
    [19.99, 0.01], [0.3, 0.1], [1e21, 7e20 / 7], [-4.5, 1.5], [12391239123, 1e-8], [0, 0.7],
  ])('%d is a multiple of %d', (value, factor) => {
    expect(isMultipleOf(value, factor)).toBe(true)
  })
  it.each([
    [19.999, 0.01], [0.35, 0.1], [1e308, 0.123456789], [1, 3],
  ])('%d is not a multiple of %d', (value, factor) => {
    expect(isMultipleOf(value, factor)).toBe(false)
  })
  it('any number with two decimals is a multiple of 0.01', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e9, max: 1e9 }), (cents) => isMultipleOf(Number((cents / 100).toFixed(2)), 0.01)),
    )
  })
})

it('const and enum accept exactly the equal value', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => check({ const: value as Json })(value as Json) === undefined))
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) =>
    (check({ enum: [one as Json] })(other as Json) === undefined)
      === (check({ uniqueItems: true })([one as Json, other as Json]) !== undefined)))
})

it('a fault names the constants that a value may equal', () => {
  expect(check({ const: { a: 1 } })(2)).toEqual({
    path: '', keyword: 'const', message: 'must be equal to constant {"a":1}',
  })
  expect(check({ enum: [[1], 'a'] })('b')).toEqual({
    path: '', keyword: 'enum', message: 'must be equal to one of the allowed values [[1],"a"]',
  })
  expect(check({ const: 1 })('a')).toEqual({ path: '', keyword: 'const', message: 'must be equal to constant 1' })
  expect(check({ not: {}, enum: [{}] })(1)).toMatchObject({ keyword: 'enum' })
})

it('a fault has the path from the root of the value, and the missing or forbidden member', () => {
  const items = { type: 'object', required: ['x'], additionalProperties: false, properties: { x: true } }
  const closed = { type: 'object', properties: { 'a/b': { type: 'array', items } } }
  expect(check(closed)({ 'a/b': [{ x: 1 }, {}] })).toMatchObject({ path: '/a~1b/1', keyword: 'required', member: 'x' })
  expect(check(closed)({ 'a/b': [{ x: 1, y: 2 }] })).toMatchObject({
    path: '/a~1b/0', keyword: 'additionalProperties', member: 'y',
  })
})

it.each<[string, JsonObject, string]>([
  ['a length below zero', { properties: { a: { minLength: -1 } } }, '/properties/a/minLength'],
  ['a factor of zero', { multipleOf: 0 }, '/multipleOf'],
  ['required names that are not strings', { required: [1] }, '/required'],
  ['a duplicate name', { required: ['a', 'a'] }, '/required'],
  ['a list instead of a schema', { items: [{}] }, '/items'],
  ['a number instead of a schema', { properties: { a: 7 } }, '/properties'],
  ['no alternative', { anyOf: [] }, '/anyOf'],
  ['an identifier with a fragment', { $defs: { a: { $id: 'https://example.com/#x' } } }, '/$defs/a/$id'],
  ['a duplicate identifier', { $defs: { a: { $id: 'urn:x' }, b: { $id: 'urn:x' } } }, '/$defs/b/$id'],
  ['an invalid anchor', { $anchor: '#a' }, '/$anchor'],
  ['a dynamic reference without a target', { $dynamicRef: '#a' }, '/$dynamicRef'],
  ['a reference to another document', { $ref: 'https://example.com/other' }, '/$ref'],
  ['an endless reference to itself', { anyOf: [{ $dynamicRef: '#a' }], $dynamicAnchor: 'a' }, ''],
  ['an endless reference to itself on one way only', {
    $id: 'https://example.com/a', $dynamicAnchor: 'n', allOf: [{ $ref: 'b' }],
    $defs: { b: { $id: 'b', $dynamicAnchor: 'n', anyOf: [{ $dynamicRef: '#n' }] } },
  }, ''],
  ['another dialect', { $schema: 'https://json-schema.org/draft/2019-09/schema' }, '/$schema'],
])('%s is a fault of the schema', (_, schema, path) => {
  expect(faultsOf(schema)).toEqual([path])
})

it('the compiled code does not repeat a definition for each reference', () => {
  let chars = 0
  class Measured extends Ajv2020 {
    constructor({ code, ...options }: Options) {
      const process = (text: string): string => {
        chars += text.length
        return text
      }
      super({ ...options, code: { ...code, process } })
    }
  }
  const fifty = (schema: Json) => Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, schema]))
  const schema = { properties: fifty({ $ref: '#/$defs/d' }), $defs: { d: { properties: fifty({ minimum: 1 }) } } }
  const reading = readSchema(schema)
  if (reading.ok) schemaCompiler(Measured as SchemaLibrary, { compile: () => undefined })(reading.document)
  expect(chars).toBeGreaterThan(0)
  expect(chars).toBeLessThan(50 * JSON.stringify(schema).length)
})

it('does not keep the schemas that it has compiled, and their checks go on', LONG, () => {
  const instances: { compiled: number }[] = []
  class Counting extends Ajv2020 {
    constructor(options: Options) {
      super(options)
      const count = { compiled: 0 }
      instances.push(count)
      const counting = (method: (...args: never[]) => unknown) => (...args: never[]) => {
        count.compiled += 1
        return method.apply(this, args)
      }
      Object.assign(this, { compile: counting(super.compile), addSchema: counting(super.addSchema) })
    }
  }
  const engine = { compile: (source: string) => Object.assign(new RegExp(source, 'u'), { size: source.length }) }
  const counted = schemaCompiler(Counting as SchemaLibrary, engine)
  const checks = Array.from({ length: 600 }, (_, index) => {
    const text = { type: 'string', pattern: `^${index}$` }
    const reading = readSchema(index % 2 === 0 ? text : { properties: { a: text }, unevaluatedProperties: false })
    if (!reading.ok) throw new Error('The schema is valid.')
    return counted(reading.document).check
  })
  expect(checks.every((one, index) => one(index % 2 === 0 ? `${index}` : { a: `${index}` }) === undefined)).toBe(true)
  expect(checks.some((one, index) => one(index % 2 === 0 ? 'x' : { b: 1 }) === undefined)).toBe(false)
  expect(instances.reduce((sum, { compiled }) => sum + compiled, 0)).toBe(600)
  expect(Math.max(...instances.map(({ compiled }) => compiled))).toBeLessThanOrEqual(256)
})

it('ways that double with each dynamic anchor are a fault, and take little time', LONG, () => {
  const anchors = Array.from({ length: 24 }, (_, index) => `n${index}`)
  // What the last one refers to depends on the way through all others.
  const last = {
    $id: 'last', $defs: Object.fromEntries(anchors.map((anchor) => [anchor, { $dynamicAnchor: anchor }])),
    properties: Object.fromEntries(anchors.map((anchor) => [anchor, { $dynamicRef: `#${anchor}` }])),
  }
  const next = (index: number): JsonObject => index === anchors.length
    ? { last: { $ref: 'last' } } : { a: { $ref: `a${index}` }, b: { $ref: `b${index}` } }
  const resources = anchors.flatMap((anchor, index) => [`a${index}`, `b${index}`].map((name) =>
    [name, { $id: name, $defs: { own: { $dynamicAnchor: anchor } }, properties: next(index + 1) }] as const))
  const reading = readSchema({ $defs: { ...Object.fromEntries(resources), last }, properties: next(0) })
  expect(reading).toMatchObject({
    ok: false, faults: [{ message: 'has dynamic references that make more than 20000 subschemas of it' }],
  })
})

it('unknown keywords are no fault, and are reported with the nearest name', () => {
  const reading = readSchema({ type: 'string', minlength: 1, 'x-order': 2, dependencies: { a: ['b'] } })
  const unknownKeywords = [
    { path: '/minlength', message: expect.stringContaining('"minLength"') }, { path: '/dependencies' },
  ]
  expect(reading).toMatchObject({ ok: true, document: { unknownKeywords } })
})

describe('corrects Ajv for', () => {
  it.each<[string, JsonObject, Json, Json]>([
    ['contains beside prefixItems', { prefixItems: [true, {}], contains: { type: 'string' } }, [1, 'a'], [2]],
    ['a name that objects inherit', { required: ['constructor'] }, { constructor: 1 }, {}],
    [
      'the name __proto__', { properties: JSON.parse('{"__proto__":{"type":"number"}}') as JsonObject },
      JSON.parse('{"__proto__":1}') as Json, JSON.parse('{"__proto__":"a"}') as Json,
    ],
    [
      'a condition that does not hold',
      { if: { properties: { a: { const: 1 } }, required: ['a'] }, unevaluatedProperties: false }, { a: 1 }, { a: 2 },
    ],
    [
      'an alternative that does not hold',
      { anyOf: [{ prefixItems: [{ const: 1 }, true] }, { maxItems: 9 }], unevaluatedItems: false }, [1, 2], [3],
    ],
    ['items that contains evaluated', { contains: { const: 1 }, unevaluatedItems: { const: 2 } }, [1, 2], [1, 3]],
    ['members behind a reference', {
      $ref: '#/$defs/a', unevaluatedProperties: { type: 'number' },
      $defs: { a: { properties: { x: { type: 'string' } } } },
    }, { x: 'x', y: 1 }, { x: 'x', y: 'y' }],
    [
      'a closed schema inside another',
      { properties: { a: { unevaluatedProperties: false } }, unevaluatedProperties: false }, { a: {} }, { a: { b: 1 } },
    ],
    ['an empty enum', { anyOf: [{ enum: [] }, { const: 1 }] }, 1, 2],
    ['a member named valueOf, compared with an empty object', { const: {} }, {}, { valueOf: [] }],
    ['a member named valueOf', { const: { valueOf: [] } }, { valueOf: [] }, { valueOf: [1] }],
    ['a member named toString', { enum: [1, { toString: 'a' }] }, { toString: 'a' }, { toString: 'b' }],
    ['a member named constructor', { const: [{ constructor: {} }] }, [{ constructor: {} }], [{ constructor: [] }]],
  ])('the standard decides about %s', (_, schema, right, wrong) => {
    expect([check(schema)(right), check(schema)(wrong) === undefined]).toEqual([undefined, false])
  })

  it('a dynamic reference, whose target depends on the way that leads to it', () => {
    const node = (id: string, more: JsonObject) => ({ $id: id, $dynamicAnchor: 'node', ...more })
    const list = node('list', { properties: { next: { $dynamicRef: '#node' } } })
    const short = node('short', { $ref: 'list', properties: { text: { maxLength: 1 } }, unevaluatedProperties: false })
    const both = check({ $defs: { list, short }, properties: { any: { $ref: 'list' }, short: { $ref: 'short' } } })
    const nested = (member: JsonObject): Json => ({ next: { next: member } })
    expect(both({ any: nested({ text: 'ab', more: 1 }), short: nested({ text: 'a' }) })).toBeUndefined()
    expect(both({ short: nested({ text: 'ab' }) })).toMatchObject({
      path: '/short/next/next/text', keyword: 'maxLength',
    })
    expect(both({ short: nested({ more: 1 }) }))
      .toMatchObject({ path: '/short/next/next', keyword: 'unevaluatedProperties' })
    expect(check({ $defs: { a: { $dynamicAnchor: 'a', type: 'string' } }, $dynamicRef: '#a' })(1))
      .toMatchObject({ keyword: 'type' })
  })
})

it('a boolean is a schema, and a number is not', () => {
  expect([check(true)(1), check(false)(1)?.keyword, faultsOf(1)]).toEqual([undefined, 'false schema', ['']])
})

describe('patterns', () => {
  const refusing = { translateRegExp: (source: string) => source, compile: (source: string) => {
    if (source.includes('(?')) throw new Error('no look-around')
    const pattern = new RegExp(source, 'u')
    return { test: (text: string) => pattern.test(text), programSize: () => source.length }
  } }
  const engine = patternEngine(refusing, 100)

  it('that the library does not support are not compiled', () => {
    expect([engine.compile('^(?=a)'), engine.compile('^a')?.test('ab')]).toEqual([undefined, true])
    expect(['^(?=a)', '(', '\\Aa', 'a'.repeat(101), '\\-'].map((source) => engine.findFault(source))).toEqual([
      expect.stringContaining('linear time'), expect.stringContaining('Unterminated'),
      'ECMAScript does not define the escape \\A', 'it has more than 100 characters', undefined,
    ])
  })

  it('accept long and short category names, but not after an escaped backslash', () => {
    expect([
      engine.compile('^\\p{Letter}$')?.test('é'), engine.compile('^\\p{gc=Decimal_Number}$')?.test('٣'),
      engine.compile('^\\\\p\\{Letter\\}$')?.test('\\p{Letter}'),
    ])
      .toEqual([true, true, true])
  })
})

it('a keyword of a vocabulary that the meta-schema leaves out evaluates no member', () => {
  const vocabulary = 'https://json-schema.org/draft/2020-12/vocab/'
  const $vocabulary = { [`${vocabulary}core`]: true, [`${vocabulary}unevaluated`]: true }
  const schema = {
    $schema: 'https://example.com/meta', properties: { a: true }, unevaluatedProperties: false,
    $defs: { meta: { $id: 'https://example.com/meta', $vocabulary } },
  }
  expect(check(schema)({ a: 1 })).toMatchObject({ keyword: 'unevaluatedProperties' })
})
