import { describe, expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { SchemaCompiler } from '../../src/schema/schema-compiler.ts'

const compiler = new SchemaCompiler(LOADER_LIMITS)
const faultOf = (schema: object, value: unknown) => {
  const compiled = compiler.compile(schema as never)
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults))
  return compiled.validate(value as never)
}

describe('compiles', () => {
  test.each<[string, object]>([
    ['a nullable string', { type: ['string', 'null'] }],
    [
      'one of two keys',
      {
        type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } },
        oneOf: [{ required: ['a'] }, { required: ['b'] }],
      },
    ],
    ['an open tuple', { type: 'array', prefixItems: [{ type: 'string' }] }],
    [
      'a root id and dialect',
      { $id: 'https://example.com/s', $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
    ],
    [
      'annotations',
      {
        type: 'string', title: 't', description: 'd', default: 'x', examples: ['x'], deprecated: true, $comment: 'c',
        readOnly: true,
      },
    ],
    [
      'a record',
      {
        type: 'object', propertyNames: { type: 'string', pattern: '^[a-z]+$' },
        additionalProperties: { type: 'string' },
      },
    ],
    [
      'a tree',
      { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#' } }, additionalProperties: false },
    ],
    [
      'definitions',
      {
        $defs: { any: true, 'a/b': { type: 'integer' } }, type: 'object',
        properties: { x: { $ref: '#/$defs/any' }, y: { $ref: '#/$defs/a~1b' } },
      },
    ],
    ['an expression', {
      $defs: {
        expr: {
          anyOf: [
            { type: 'number' }, { type: 'object', properties: { not: { $ref: '#/$defs/expr' } }, required: ['not'] },
          ],
        },
      },
      type: 'object', properties: { e: { $ref: '#/$defs/expr' } },
    }],
    [
      'formats',
      {
        type: 'object',
        properties: {
          a: { type: 'string', format: 'date-time' }, b: { type: 'string', format: 'uri' },
          c: { type: 'string', format: 'email' },
        },
      },
    ],
    ['an unknown format', { type: 'string', format: 'colour' }],
    ['a keyword of another type', { type: 'string', uniqueItems: true }],
    ['a condition without a consequence', { if: { required: ['a'] } }],
    [
      'draft-07',
      { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }], dependencies: { a: ['b'] } },
    ],
    ['an id inside', { properties: { a: { $id: 'urn:x', type: 'string' }, b: { $ref: 'urn:x' } } }],
  ])('compiles and checks %s', (_, schema) => {
    expect(compiler.compile(schema as never)).toMatchObject({ ok: true })
    expect(compiler.inspect(schema as never)).toMatchObject({ ok: true })
  })
})

describe('schemas do not affect each other', () => {
  test('two schemas may have the same id', () => {
    const text = { $id: 'https://example.com/same', type: 'object', properties: { a: { type: 'string' } } }
    const number = { $id: 'https://example.com/same', type: 'object', properties: { a: { type: 'number' } } }
    expect(faultOf(text, { a: 'x' })).toBeUndefined()
    expect(faultOf(number, { a: 'x' })).toMatchObject({ path: '/a' })
    expect(faultOf(text, { a: 'x' })).toBeUndefined()
  })

  test('each schema may refer to itself', () => {
    const tree = (type: string) =>
      ({ type: 'object', additionalProperties: false, properties: { value: { type }, next: { $ref: '#' } } })
    expect(faultOf(tree('string'), { next: { next: { value: 'x' } } })).toBeUndefined()
    expect(faultOf(tree('number'), { next: { next: { value: 'x' } } })).toMatchObject({ path: '/next/next/value' })
  })

  test('each schema keeps its own patterns', () => {
    const schema = {
      type: 'object', properties: { a: { type: 'string', pattern: '^a+$' }, b: { type: 'string', pattern: '^b+$' } },
    }
    expect(faultOf(schema, { a: 'aa', b: 'bb' })).toBeUndefined()
    expect(faultOf(schema, { a: 'aa', b: 'aa' })).toMatchObject({ path: '/b' })
    expect(faultOf(schema, { a: 'bb' })).toMatchObject({ path: '/a' })
  })
})

describe('reports the path of a fault in', () => {
  const schema = {
    type: 'object', additionalProperties: false, required: ['a/b'],
    properties: { 'a/b': { type: 'integer' }, c: { type: 'array', items: { enum: [1] } } },
  }

  test.each<[unknown, string]>([
    [{}, '/a~1b'], [{ 'a/b': 'x' }, '/a~1b'], [{ 'a/b': 1, 'x~y': 1 }, '/x~0y'], [{ 'a/b': 1, c: [1, 2] }, '/c/1'],
    [[], ''],
  ])('%j', (value, path) => {
    expect(faultOf(schema, value)).toMatchObject({ path })
  })
})

test('allows any pattern, and reports one that is not enforced', () => {
  const schema = { type: 'string', pattern: '^(?!\\.)x' }
  const verdict = { ok: true, idlePatterns: [{ path: '/pattern' }] }
  expect([compiler.compile(schema), compiler.inspect(schema), compiler.inspect(schema, false)])
    .toMatchObject([verdict, verdict, verdict])
})

test('compiles the largest allowed schema', LONG, () => {
  const schema = {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 990 }, (_, index) => [
      `p${index}`, { type: 'string', minLength: 1 },
    ])),
  }
  expect(compiler.compile(schema)).toMatchObject({ ok: true, subschemas: 991 })
})
