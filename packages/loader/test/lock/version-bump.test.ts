import { describe, expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { compare, type Over, summary, tool } from './compared-versions.ts'

/** A tool with one argument, or one field of the result. */
const argument = (v: unknown, more: Over = {}) =>
  tool({ inputSchema: { type: 'object', properties: { v }, additionalProperties: false, ...more } })
const field = (v: unknown, more: Over = {}) =>
  tool({ outputSchema: { type: 'object', properties: { v }, required: ['v'], additionalProperties: false, ...more } })
/** The levels and pointers below the schema. */
const places = (before: Over, after: Over): readonly string[] => compare(before, after).changes
  .map(({ level, path }) => `${level} ${path!.replace(/^\/\w+(?:\/properties\/v)?(?=\/|$)/, '')}`)

const node = (leaf: unknown) => ({
  $ref: '#/$defs/node', $defs: { node: { type: 'object', properties: { leaf, next: { $ref: '#/$defs/node' } } } },
})
const asRoot = ({ $ref, $defs }: ReturnType<typeof node>) => argument({ $ref }, { $defs })

describe('a narrower schema of the input is major, and a wider one minor:', () => {
  const text = { type: 'string' }
  const number = { type: 'number' }
  const list = { type: 'array' }
  const object = { type: 'object' }
  const dog = { type: 'object', properties: { kind: { const: 'dog' }, age: number }, required: ['kind'] }
  const cat = { type: 'object', properties: { kind: { const: 'cat' } }, required: ['kind'] }
  test.each<[string, wide: unknown, narrow: unknown, at: string]>([
    ['a schema for any value', {}, text, '/type'],
    ['true', true, text, '/type'],
    ['a type', { type: ['string', 'null'] }, text, '/type'],
    ['integers', number, { type: 'integer' }, '/type'],
    ['enum', { enum: ['a', 'b'] }, { enum: ['a'] }, '/enum'],
    ['enum of a type', text, { enum: ['a'] }, '/enum'],
    ['const', { enum: ['a', 1] }, { const: 'a' }, '/const'],
    ['pattern', text, { ...text, pattern: '^a' }, '/pattern'],
    ['minimum', { ...number, minimum: 1 }, { ...number, minimum: 2 }, '/minimum'],
    ['maximum', { ...number, maximum: 2 }, { ...number, maximum: 1 }, '/maximum'],
    ['exclusiveMinimum', { ...number, minimum: 1 }, { ...number, exclusiveMinimum: 1 }, '/exclusiveMinimum'],
    ['exclusiveMaximum', { ...number, maximum: 1 }, { ...number, exclusiveMaximum: 1 }, '/exclusiveMaximum'],
    ['multipleOf', { ...number, multipleOf: 0.1 }, { ...number, multipleOf: 0.3 }, '/multipleOf'],
    ['minLength', text, { ...text, minLength: 1 }, '/minLength'],
    ['maxLength', { ...text, maxLength: 9 }, { ...text, maxLength: 8 }, '/maxLength'],
    ['minItems', list, { ...list, minItems: 1 }, '/minItems'],
    ['maxItems', { ...list, maxItems: 9 }, { ...list, maxItems: 8 }, '/maxItems'],
    ['uniqueItems', list, { ...list, uniqueItems: true }, '/uniqueItems'],
    ['items', { ...list, items: number }, { ...list, items: { type: 'integer' } }, '/items/type'],
    [
      'prefixItems', { ...list, prefixItems: [number] }, { ...list, prefixItems: [{ type: 'integer' }] },
      '/prefixItems/0/type',
    ],
    [
      'items after a prefix', { ...list, prefixItems: [text] }, { ...list, prefixItems: [text], items: false },
      '/items',
    ],
    ['contains', list, { ...list, contains: text }, '/contains'],
    ['minContains', { ...list, contains: text }, { ...list, contains: text, minContains: 2 }, '/contains'],
    ['minProperties', object, { ...object, minProperties: 1 }, '/minProperties'],
    ['maxProperties', object, { ...object, maxProperties: 1 }, '/maxProperties'],
    ['required', object, { ...object, required: ['a'] }, '/required'],
    [
      'a nested property', { ...object, properties: { a: number } },
      { ...object, properties: { a: { type: 'integer' } } }, '/properties/a/type',
    ],
    ['a property of an open object', object, { ...object, properties: { a: text } }, '/properties/a'],
    ['additionalProperties', object, { ...object, additionalProperties: false }, '/additionalProperties'],
    [
      'the values of a map', { ...object, additionalProperties: number },
      { ...object, additionalProperties: { type: 'integer' } }, '/additionalProperties',
    ],
    [
      'patternProperties', { ...object, patternProperties: { '^a': number } },
      { ...object, patternProperties: { '^a': { type: 'integer' } } }, '/patternProperties/^a/type',
    ],
    [
      'a pattern of a closed object', { ...object, patternProperties: { '^a': {} }, additionalProperties: false },
      { ...object, additionalProperties: false }, '/additionalProperties',
    ],
    ['propertyNames', object, { ...object, propertyNames: { maxLength: 3 } }, '/propertyNames'],
    ['dependentRequired', object, { ...object, dependentRequired: { a: ['b'] } }, '/dependentRequired'],
    [
      'dependentSchemas', object, { ...object, dependentSchemas: { a: { required: ['b'] } } },
      '/dependentSchemas/a/required',
    ],
    ['allOf', { allOf: [number] }, { allOf: [number, { minimum: 1 }] }, '/allOf/1/minimum'],
    ['anyOf', { anyOf: [text, number] }, { anyOf: [text] }, '/anyOf'],
    [
      'an option of anyOf', { anyOf: [{ type: 'null' }, { ...text, maxLength: 2 }] },
      { anyOf: [{ type: 'null' }, { ...text, maxLength: 1 }] }, '/anyOf/1/maxLength',
    ],
    ['oneOf', { oneOf: [dog, cat] }, { oneOf: [dog] }, '/oneOf'],
    ['not', text, { ...text, not: { const: 'a' } }, '/not'],
    ['a wider not', { not: { const: 'a' } }, { not: { enum: ['a', 'b'] } }, '/not'],
    ['then', { if: text, then: { maxLength: 2 } }, { if: text, then: { maxLength: 1 } }, '/then/maxLength'],
    ['else', { if: text }, { if: text, else: number }, '/else/type'],
  ])('narrowing is major and widening is minor: %s', (_, wide, narrow, at) => {
    expect(places(argument(wide), argument(narrow))).toContain(`major ${at}`)
    const widening = places(argument(narrow), argument(wide))
    expect(widening.find((place) => !place.startsWith('patch'))).toMatch(/^minor /)
  })

  test('narrowing a definition that contains itself is major', () => {
    const [wide, narrow] = [asRoot(node(number)), asRoot(node({ type: 'integer' }))]
    const major = '/inputSchema/$defs/node/properties/leaf/type'
    expect(compare(wide, narrow).changes).toMatchObject([{ level: 'major', path: major }])
    expect(compare(narrow, wide).changes).toMatchObject([{ level: 'minor', path: major }])
  })
})

describe('a schema that accepts the same needs a patch:', () => {
  const text = { type: 'string' }
  test.each<[string, unknown, unknown]>([
    ['a description', text, { ...text, description: 'A city.' }],
    ['format, which no host checks', text, { ...text, format: 'date' }],
    ['the order of enum', { enum: ['a', 'b'] }, { enum: ['b', 'a'] }],
    ['types as options', { type: ['string', 'null'] }, { anyOf: [text, { type: 'null' }] }],
    ['an enum as options', { enum: ['a', 'b'] }, { anyOf: [{ const: 'a' }, { const: 'b' }] }],
    ['the order of options', { oneOf: [text, { type: 'null' }] }, { oneOf: [{ type: 'null' }, text] }],
    ['options that overlap', { oneOf: [text, { maxLength: 2 }] }, { title: 'New', oneOf: [text, { maxLength: 2 }] }],
    ['a default minimum', text, { ...text, minLength: 0 }],
    ['an implied length', { const: 'abc' }, { const: 'abc', type: 'string', minLength: 3, pattern: '^a' }],
    ['not', { not: text }, { not: text, title: 'New' }],
    ['contains', { contains: text }, { contains: text, title: 'New' }],
    ['unevaluatedProperties', { properties: { a: text }, unevaluatedProperties: false },
      { properties: { a: text }, unevaluatedProperties: false, title: 'New' }],
    ['a definition that contains itself', { contains: { $ref: '#' } }, { contains: { $ref: '#' }, title: 'New' }],
    ['names that are no keywords', text, { ...text, constructor: 1, toString: {} }],
  ])('a patch is enough: %s', (_, one, other) => {
    expect(compare(argument(one), argument(other)).required).toBe('patch')
    expect(compare(argument(other), argument(one)).required).toBe('patch')
  })

  test('a reference in place of its target, and draft-07', () => {
    expect(compare(argument(text), argument({ $ref: '#/$defs/text' }, { $defs: { text } })).required).toBe('patch')
    const tuple = { type: 'array', items: [text], additionalItems: false }
    const $schema = 'http://json-schema.org/draft-07/schema#'
    expect(
      compare(argument({ type: 'array', prefixItems: [text], items: false }), argument(tuple, { $schema })).required,
    ).toBe('patch')
    // Keywords beside a reference are ignored.
    const beside = { $ref: '#/definitions/text', maxLength: 1 }
    expect(compare(argument(text), argument(beside, { $schema, definitions: { text } })).required).toBe('patch')
  })
})

describe('a change that may do both is major:', () => {
  test.each<[string, unknown, unknown]>([
    ['another type', { type: 'string' }, { type: 'number' }],
    ['another pattern', { pattern: '^a' }, { pattern: '^a|b' }],
    ['options that may overlap', { oneOf: [{ minimum: 1 }] }, { oneOf: [{ minimum: 1 }, { maxLength: 1 }] }],
    ['unevaluatedProperties with a new property', { properties: {}, unevaluatedProperties: false },
      { properties: { a: {} }, unevaluatedProperties: false }],
    ['unevaluatedProperties without what evaluated them', { additionalProperties: {}, unevaluatedProperties: false },
      { unevaluatedProperties: false }],
    ['a property that another keyword may cover',
      { type: 'object', patternProperties: { '(?=a)': {} }, additionalProperties: { type: 'string' } },
      { type: 'object', patternProperties: { '(?=a)': {} }, properties: { a: { type: 'string' } } }],
    ['a property under a pattern that cannot run', { type: 'object', properties: { a: {} } },
      { type: 'object', patternProperties: { '(?=a)': { type: 'string' } } }],
  ])('the change is major: %s', (_, one, other) => {
    const { required, changes } = compare(argument(one), argument(other))
    expect(required).toBe('major')
    // A place that is reported as narrowed is not reported as widened too.
    expect(new Set(changes.map(({ path }) => path)).size).toBe(changes.length)
  })

  test('one that is too large to compare', LONG, () => {
    const bits = (max: number) => Array.from({ length: 12 }, (_, index) => ({
      anyOf: [{ required: [`a${index}`] }, { properties: { [`a${index}`]: { maximum: max } } }],
    }))
    const { required, changes } = compare(argument({ allOf: bits(1) }), argument({ allOf: bits(2) }))
    expect([required, changes[0]!.text]).toEqual(['major', expect.stringContaining('too large to compare')])
  })
})

describe('arguments and results', () => {
  const result = (properties: Over, more: Over = {}) => tool({ outputSchema: { type: 'object', properties, ...more } })
  const closed = { additionalProperties: false }
  const text = { type: 'string' }
  test.each<[string, Over, Over, string[]]>([
    ['a new required argument', argument(text), argument(text, { required: ['v'] }),
      ['major tool forecast /inputSchema/required "v" was optional, is required; it may reject arguments that were '
        + 'valid']],
    ['a new optional argument', argument(text), argument(text, { properties: { v: text, w: text } }),
      ['minor tool forecast /inputSchema/properties/w was not allowed, is allowed; it accepts more arguments']],
    ['a removed argument', argument(text, { properties: { v: text, w: text } }), argument(text),
      ['major tool forecast /inputSchema/properties/w was allowed, is not allowed; it may reject arguments that were '
        + 'valid']],
    ['a removed field', result({ a: text, b: text }, closed), result({ a: text }, closed),
      ['major tool forecast /outputSchema/properties/b was removed; readers of the result may need it']],
    ['a new field', result({ a: text }, closed), result({ a: text, b: text }, closed),
      ['minor tool forecast /outputSchema/properties/b is new']],
    ['a new field of one option', field({ anyOf: [{ type: 'null' }, { type: 'object', properties: { a: text } }] }),
      field({ anyOf: [{ type: 'null' }, { type: 'object', properties: { a: text, b: text } }] }),
      ['minor tool forecast /outputSchema/properties/v/anyOf/1/properties/b is new']],
    ['a field that may be absent', field(text), field(text, { required: [] }),
      ['major tool forecast /outputSchema/required "v" was required, is optional; results may be other than before']],
    ['a wider field', field(text), field({ type: ['string', 'null'] }),
      ['major tool forecast /outputSchema/properties/v/type was "string", is ["string","null"]; results may be other '
        + 'than before']],
    ['a narrower field', field({ type: ['string', 'null'] }), field(text),
      ['patch tool forecast /outputSchema/properties/v/type changed']],
    ['a result that is declared', {}, field(text), ['minor tool forecast /outputSchema is new']],
    ['a result that is no longer declared', field(text), {},
      ['major tool forecast /outputSchema was removed; results may have any form']],
  ])('give the expected level for %s', (_, before, after, lines) => expect(summary(before, after)).toEqual(lines))
})

describe('the version', () => {
  const CHANGES = {
    major: argument({}, { required: ['v'] }), minor: argument({}), patch: tool({ description: 'New.' }), none: {},
  }
  const inputSchema = { type: 'object', properties: {}, additionalProperties: false }
  test.each<
    [keyof typeof CHANGES, from: string, to: string, required: string, actual: string, needs: string, ok: boolean]
  >([
    ['major', '1.4.0', '2.0.0', 'major', 'major', '2.0.0', true],
    ['major', '1.4.0', '1.5.0', 'major', 'minor', '2.0.0', false],
    ['major', '1.4.0', '3.1.0', 'major', 'major', '2.0.0', true],
    ['major', '1.4.0', '2.0.0-beta.1', 'major', 'major', '2.0.0', true],
    ['major', '2.0.0-beta.1', '2.0.0-beta.2', 'major', 'major', '2.0.0', true],
    ['major', '1.4.0', '1.4.0', 'major', 'none', '2.0.0', false],
    ['minor', '1.4.0', '1.5.0', 'minor', 'minor', '1.5.0', true],
    ['minor', '1.4.0', '1.4.1', 'minor', 'patch', '1.5.0', false],
    ['patch', '1.4.0', '1.4.1', 'patch', 'patch', '1.4.1', true],
    ['patch', '1.4.0', '1.4.0', 'patch', 'none', '1.4.1', false],
    ['patch', '1.4.0', '1.3.9', 'patch', 'none', '1.4.1', false],
    ['patch', '1.4.0', '1.4.1-beta.1', 'patch', 'patch', '1.4.1', true],
    ['patch', '1.4.1-beta.2', '1.4.1-beta.1', 'patch', 'none', '1.4.1', false],
    ['major', '0.4.1', '0.5.0', 'minor', 'minor', '0.5.0', true],
    ['major', '0.4.1', '0.4.2', 'minor', 'patch', '0.5.0', false],
    ['major', '0.4.1', '1.0.0', 'minor', 'major', '0.5.0', true],
    ['minor', '0.4.1', '0.4.2', 'patch', 'patch', '0.4.2', true],
    ['none', '1.4.0', '1.4.0', 'none', 'none', '1.4.0', true],
    ['none', '1.4.0', '2.0.0', 'none', 'major', '1.4.0', true],
    ['none', '1.4.0', '1.3.0', 'none', 'none', '1.4.0', true],
  ])('%s, from %s to %s', (level, from, to, required, actual, needs, ok) => {
    const base = tool({ inputSchema })
    const after =
      level === 'none' ? base : level === 'patch' ? tool({ inputSchema, description: 'New.' }) : CHANGES[level]
    expect(compare({ ...base, version: from }, { ...after, version: to })).toMatchObject({
      from, to, required, actual, needs, ok,
    })
  })
})
