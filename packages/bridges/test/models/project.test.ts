import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { ANTHROPIC, DEEPSEEK, GEMINI, OPENAI } from '../../src/models/profiles.ts'
import { project, projectTool } from '../../src/models/project.ts'

const closed = (properties: JsonObject, required: readonly string[] = []): JsonObject =>
  ({ type: 'object', properties, required, additionalProperties: false })
const sent = (properties: JsonObject, profile = OPENAI) => {
  const { schema, strict, reason } = project(closed(properties, Object.keys(properties)), profile)
  return strict ? (schema['properties'] as JsonObject)['x'] : reason
}
const text = { type: 'string' }
const nothing = { type: 'null' }

describe('a strict schema', () => {
  it('closes every object and requires every property, at any depth', () => {
    const person = closed({ name: text, age: { type: 'integer' } }, ['name'])
    const { schema, strict } = project({
      ...closed({ people: { type: 'array', items: person }, boss: { $ref: '#/$defs/boss' } }, ['people']),
      $defs: { boss: closed({ of: { anyOf: [text, person] } }), unused: true },
    }, OPENAI)
    const strictPerson = closed({ name: text, age: { anyOf: [{ type: 'integer' }, nothing] } }, ['name', 'age'])
    expect(strict).toBe(true)
    expect(schema).toEqual({
      ...closed({
        people: { type: 'array', items: strictPerson }, boss: { anyOf: [{ $ref: '#/$defs/boss' }, nothing] },
      }, ['people', 'boss']),
      $defs: { boss: closed({ of: { anyOf: [text, strictPerson, nothing] } }, ['of']) },
    })
  })

  it('leaves optional properties optional where the provider allows that', () => {
    expect(project(closed({ a: text, b: text }, ['a']), ANTHROPIC).schema).toEqual(closed({ a: text, b: text }, ['a']))
  })

  it.each<[string, JsonObject, unknown]>([
    ['an enum without a type', { enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['a fixed value', { const: 3 }, { type: 'number', const: 3 }],
    [
      'several types', { type: ['string', 'null'], maxLength: 3 },
      { anyOf: [{ type: 'string', description: '(maxLength: 3)' }, nothing] },
    ],
    [
      'an enum of several types', { type: ['string', 'null'], enum: ['a', null] },
      {
        anyOf: [
          { type: 'string', const: 'a' }, { type: 'null', const: null },
        ],
      },
    ],
    ['oneOf', { oneOf: [text, nothing] }, { anyOf: [text, nothing] }],
    [
      'allOf of separate properties',
      {
        allOf: [
          { type: 'object', properties: { a: text }, required: ['a'] }, { properties: { b: text }, required: ['b'] },
        ],
      },
      closed({ a: text, b: text }, ['a', 'b']),
    ],
    [
      'a pattern, and a default in the description', { ...text, pattern: '^a', default: 'a', description: 'A.' },
      { ...text, pattern: '^a', description: 'A. (default: "a")' },
    ],
    ['a pattern that is not regular', { ...text, pattern: '^(?=a)' }, { ...text, description: '(pattern: "^(?=a)")' }],
    ['an unknown format', { ...text, format: 'uri' }, { ...text, description: '(format: "uri")' }],
    [
      'a type beside alternatives', { ...text, anyOf: [{ pattern: '^a' }, { enum: ['b'] }] },
      {
        anyOf: [
          { ...text, pattern: '^a' }, { ...text, const: 'b' },
        ],
      },
    ],
  ])('expresses %s', (_, schema, expected) => {
    expect(sent({ x: schema })).toEqual(expected)
  })

  it.each<[string, JsonObject | boolean, string]>([
    ['an open map', { type: 'object' }, '"/properties/x" accepts members of any name'],
    ['a map', { type: 'object', additionalProperties: text }, '"/properties/x" accepts members of any name'],
    ['any value', {}, '"/properties/x" accepts any value'],
    ['true', true, '"/properties/x" accepts any value'],
    ['a list of anything', { type: 'array' }, '"/properties/x" is a list without a schema for its items'],
    ['a list of any values', { type: 'array', items: true }, '"/properties/x/items" accepts any value'],
    ['a tuple', { type: 'array', prefixItems: [text] }, '"/properties/x" has "prefixItems"'],
    ['not', { ...text, not: { const: 'a' } }, '"/properties/x" has "not"'],
    [
      'an external reference', { $ref: 'https://example.com/a' },
      '"/properties/x" refers to a schema that is not in "$defs"',
    ],
    [
      'a required property that is not described', closed({}, ['a']),
      '"/properties/x" requires "a", which it does not describe',
    ],
    ['an object as a fixed value', { const: { a: 1 } }, '"/properties/x" has an object or a list as a fixed value'],
    [
      'conditions beside alternatives', { ...closed({ a: text }), anyOf: [{ required: ['a'] }] },
      '"/properties/x" has "properties" beside alternatives',
    ],
    [
      'parts that cannot be merged', { allOf: [closed({ a: text }), closed({ b: text })] },
      '"/properties/x" has "allOf" with parts that cannot be merged',
    ],
  ])('is not possible for %s', (_, schema, reason) => {
    expect(sent({ x: schema })).toBe(reason)
  })

  it('is not possible beyond the limits of the provider', () => {
    const deep = (levels: number): JsonObject => levels === 0 ? text : closed({ x: deep(levels - 1) }, ['x'])
    const many = (count: number): JsonObject =>
      closed({ x: { enum: Array.from({ length: count }, (_, index) => `value ${index}`) } }, ['x'])
    expect(project(deep(10), OPENAI).strict).toBe(true)
    expect(project(deep(11), OPENAI).reason).toBe('the schema has 11 levels; 10 are allowed')
    expect(project(many(1000), OPENAI).strict).toBe(true)
    expect(project(many(1001), OPENAI).reason).toBe('the schema has 1001 values of "enum"; 1000 are allowed')
  })

  it('refers to itself only where the provider allows that', () => {
    const tree: JsonObject = {
      ...closed({ root: { $ref: '#/$defs/node' } }, ['root']),
      $defs: { node: closed({ below: { type: 'array', items: { $ref: '#/$defs/node' } } }, ['below']) },
    }
    expect(project(tree, OPENAI)).toMatchObject({ strict: true, schema: { $defs: tree['$defs'] } })
    for (const profile of [ANTHROPIC, DEEPSEEK]) {
      expect(project(tree, profile).reason).toBe('"/$defs/node/properties/below/items" refers to itself')
    }
  })

  it('is not strict if two definitions have the same name', () => {
    const both = closed({ a: { $ref: '#/$defs/x' }, b: { $ref: '#/definitions/x' } }, ['a', 'b'])
    const { strict, reason } = project({ ...both, $defs: { x: text }, definitions: { x: { type: 'integer' } } }, OPENAI)
    expect({ strict, reason })
      .toEqual({ strict: false, reason: '"/properties/b" refers to one of two definitions of the same name' })
  })

  it('has definitions in place where the provider does not follow references, within bounds', () => {
    const halves = Array.from({ length: 20 }, (_, index) =>
      [`d${index}`, closed({ a: { $ref: `#/$defs/d${index + 1}` }, b: { $ref: `#/$defs/d${index + 1}` } }, ['a', 'b'])])
    const bomb = {
      ...closed({ x: { $ref: '#/$defs/d0' } }, ['x']), $defs: Object.fromEntries([...halves, ['d20', text]]),
    }
    expect(project({ ...closed({ x: { $ref: '#/$defs/d' } }, ['x']), $defs: { d: text } }, DEEPSEEK).schema)
      .toEqual(closed({ x: text }, ['x']))
    expect(project(bomb, DEEPSEEK).reason).toBe('the schema is too large')
  })

  it('has an empty object only where the provider allows that', () => {
    const schema = closed({ x: closed({}) }, ['x'])
    expect(project(schema, OPENAI).strict).toBe(true)
    expect(project(schema, DEEPSEEK).reason).toBe('"/properties/x" has no properties')
    expect(project(closed({}), DEEPSEEK).strict).toBe(true)
  })

  it('names what is lost', () => {
    const { losses } = project({
      type: 'object', properties: { a: { ...text, minLength: 1 }, b: { type: ['string', 'null'] } }, required: ['a'],
    }, OPENAI)
    expect(losses).toEqual([
      { pointer: '/properties/a/minLength', message: 'is described, not enforced' },
      { pointer: '/properties/b', message: 'cannot be left out, only null' },
      { pointer: '', message: 'members that are not listed cannot be sent' },
    ])
  })
})

describe('a schema that is not strict', () => {
  it('may be invalid', () => {
    const invalid = {
      properties: { a: [] }, required: [['a']], items: 3, anyOf: {}, enum: 'x', $defs: null,
    } as unknown as JsonObject
    for (const profile of [OPENAI, ANTHROPIC, DEEPSEEK, GEMINI]) expect(project(invalid, profile).strict).toBe(false)
  })

  it('allows null for an optional property whose alternatives have the type beside them', () => {
    const x = { type: 'string', anyOf: [{ pattern: '^a' }, { pattern: '^b' }] }
    const { schema, strict } = project({ type: 'object', properties: { x }, additionalProperties: false }, OPENAI)
    expect(strict).toBe(true)
    expect(schema['properties']).toEqual({
      x: { anyOf: [{ ...text, pattern: '^a' }, { ...text, pattern: '^b' }, nothing] },
    })
  })

  it('has items in lists below keywords of draft-07 too', () => {
    const list = (more: JsonObject = {}): JsonObject => ({ properties: { a: { type: 'array', ...more } } })
    const schema = (more: JsonObject = {}): JsonObject => ({
      type: 'object', dependencies: { b: list(more), c: ['d'] },
    })
    expect(projectTool({ inputSchema: schema(), executor: 'remote' }, OPENAI, true).schema).toEqual(
      schema({ items: {} }),
    )
  })

  it('is a copy, without alternatives at the root and with items in every list', () => {
    const full: JsonObject = Object.freeze({
      type: 'object', properties: Object.freeze({ list: Object.freeze({ type: 'array' }) }), required: ['list'],
      oneOf: [{ properties: { a: text } }, { properties: { a: nothing, b: text } }], not: { required: ['c'] },
    })
    const { schema, strict, losses, reason } = project(full, OPENAI)
    expect({ schema, strict, reason }).toEqual({
      schema: {
        type: 'object', required: ['list'],
        properties: { list: { type: 'array', items: {} }, a: { anyOf: [text, nothing] }, b: text },
      },
      strict: false, reason: 'the root has "not"',
    })
    expect(losses.map(({ pointer }) => pointer)).toEqual(['/oneOf', '/not'])
    Object.assign((schema['properties'] as { list: object }).list, { type: 'string' })
  })

  it('is what a remote tool has, and every tool for which strict is not requested', () => {
    const inputSchema = { type: 'object', properties: { a: text } }
    expect(projectTool({ inputSchema, executor: 'remote' }, OPENAI, true))
      .toEqual({ schema: inputSchema, strict: false, losses: [], reason: 'the tool is remote' })
    expect(projectTool({ inputSchema, executor: 'local' }, OPENAI, false).schema).toEqual(inputSchema)
  })
})

it('reduces a schema to what Gemini reads, and leaves objects open', () => {
  const { schema, strict, reason, losses } = project({
    type: 'object', additionalProperties: text, required: ['a'],
    properties: {
      a: { type: 'array', prefixItems: [text], items: { type: 'integer', minimum: 1, multipleOf: 2 } },
      b: { not: text }, c: { type: 'object' }, d: { $ref: '#/$defs/d', description: 'D.' },
    },
    $defs: { d: { const: 'd' } },
  }, GEMINI)
  expect({ strict, reason }).toEqual({ strict: false, reason: undefined })
  expect(schema).toEqual({
    type: 'object', additionalProperties: text, required: ['a'],
    properties: {
      a: { type: 'array', prefixItems: [text], items: { type: 'integer', minimum: 1, description: '(multipleOf: 2)' } },
      b: {}, c: { type: 'object' }, d: { description: 'D.', anyOf: [{ $ref: '#/$defs/d' }] },
    },
    $defs: { d: { type: 'string', enum: ['d'] } },
  })
  expect(losses.map(({ pointer }) => pointer))
    .toEqual(['/properties/a/items/multipleOf', '/properties/b', '/properties/b'])
})

describe('a hostile schema', () => {
  const nested = (depth: number): JsonObject => depth === 0 ? text : { type: 'array', items: nested(depth - 1) }

  it('is read to a depth', () => {
    const reasonFor = (depth: number) => project(closed({ x: nested(depth) }, ['x']), OPENAI).reason
    expect(reasonFor(62)).not.toContain('is too large')
    expect(reasonFor(70)).toBe('the schema is too large')
  })

  it('puts no long note into a description', () => {
    expect(sent({ x: { ...text, pattern: 'a'.repeat(100) } }, DEEPSEEK)).toHaveProperty('description')
    expect(sent({ x: { ...text, pattern: 'a'.repeat(300) } }, DEEPSEEK)).not.toHaveProperty('description')
  })
})
