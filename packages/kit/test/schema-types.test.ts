import { stripTypeScriptTypes } from 'node:module'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import type { Json } from '../src/json.ts'
import { commentOf, memberName, typeOfSchema } from '../src/schema-types.ts'

const typeOf = (schema: Json) => typeOfSchema(schema, 'T').type.replaceAll(/\s+/g, ' ')

describe('the type of a schema', () => {
  it.each([
    [true, 'any'], [false, 'never'], [{}, 'any'], [null, 'any'], [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'], [{ enum: ['a', 1, null, 'a'] }, '"a" | 1 | null'],
    [{ const: 'x' }, '"x"'], [{ type: 'array', items: { type: 'string' } }, 'string[]'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, '("a" | "b")[]'], [{ type: 'array' }, 'any[]'],
    [{ prefixItems: [{ type: 'string' }, { type: 'number' }], items: false }, '[string, number]'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
    [{ anyOf: [{ type: 'string' }, {}] }, 'any'],
    [{ allOf: [{ type: 'string' }, { enum: ['a', 'b'] }] }, 'string & ("a" | "b")'],
    [{ type: 'object' }, 'Record<string, any>'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
    [{ type: 'object', additionalProperties: false }, '{}'],
    [
      { type: 'object', properties: { 'a': { type: 'string' }, 'b-c': true }, required: ['a'] },
      '{ a: string "b-c"?: any }',
    ],
    [
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
      '{ a?: string [key: string]: any }',
    ],
    [{ $ref: '#/$defs/a%20b', $defs: { 'a b': { type: 'string' } } }, 'T_a_20b'],
    [{ $ref: 'https://elsewhere.example/x' }, 'any'], [{ $ref: '#/$defs/none' }, 'any'], [{ type: 'nonsense' }, 'any'],
  ] as readonly [Json, string][])('of %j is %s', (schema, type) => {
    expect(typeOf(schema)).toBe(type)
  })

  it('names each reference, also a recursive one, and each name is used once', () => {
    const schema = {
      type: 'object',
      properties: { tree: { $ref: '#/$defs/node' }, other: { $ref: '#/definitions/node' }, whole: { $ref: '#' } },
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
      definitions: { node: { type: 'string' } },
    }
    const { type, declarations } = typeOfSchema(schema, 'T')
    expect(type.replaceAll(/\s+/g, ' ')).toBe('{ tree?: T_node other?: T_node2 whole?: T_Root }')
    expect(declarations.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
      'type T_node = { next?: T_node }', 'type T_node2 = string',
      'type T_Root = { tree?: T_node other?: T_node2 whole?: T_Root }',
    ])
  })

  it('ends at a depth, whatever is nested', () => {
    let schema: Json = { type: 'string' }
    for (let depth = 0; depth < 1_000; depth++) schema = { type: 'array', items: schema }
    expect(typeOf(schema).length).toBeLessThan(100)
  })

  it('is not a long list of values', () => {
    const values = (length: number) => ({ type: 'string', enum: Array.from({ length }, (_, index) => `v${index}`) })
    expect([typeOf(values(40)).split(' | ').length, typeOf(values(41))]).toEqual([40, 'string'])
  })

  it('has comments that a description cannot end', () => {
    expect(commentOf('One */ import("x") /* two\nlines \u202e', '  ')).toBe(
      '  /** One *\\/ import("x") /* two lines \\u{202e} */\n',
    )
    expect(commentOf('x'.repeat(1_000), '').length).toBeLessThan(330)
    expect([commentOf('', ''), commentOf(undefined, ''), commentOf({ not: 'text' }, '')]).toEqual(['', '', ''])
  })

  it('is valid TypeScript for every schema', () => {
    const names = fc.constantFrom('a', '__proto__', 'b c', '*/', '"', '\u2028', 'constructor')
    const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4 }, fc.boolean(), fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
        fc.record(
          {
            type: fc.oneof(
              fc.constantFrom('string', 'object', 'array', 'null', 'what'),
              fc.array(fc.constantFrom('object', 'array', 'null')),
            ),
            description: fc.oneof(fc.string(), fc.constantFrom('*/', '*'.repeat(400), '\ud800')),
            properties: fc.dictionary(names, tie('schema')), required: fc.array(names),
            additionalProperties: tie('schema'), items: tie('schema'),
            prefixItems: fc.array(tie('schema'), { maxLength: 2 }),
            enum: fc.array(fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>, { maxLength: 3 }),
            anyOf: fc.array(tie('schema'), { maxLength: 3 }), allOf: fc.array(tie('schema'), { maxLength: 2 }),
            $ref: fc.constantFrom('#', '#/properties/a', '#/properties/*~1', '#/items', '#/none', 'x'),
          },
          { requiredKeys: [] },
        ) as unknown as fc.Arbitrary<Json>,
      ),
    }))
    fc.assert(fc.property(schema, names, (value, name) => {
      const { type, declarations } = typeOfSchema(value, 'T')
      const source = `${declarations.join('\n')}\ndeclare const tools: {\n`
        + `${commentOf('x', '')}${memberName(name)}(args: ${type}): void\n}`
      expect(stripTypeScriptTypes(source).trim()).toBe('')
    }), { numRuns: thoroughly(60, 20_000) })
  })
})
