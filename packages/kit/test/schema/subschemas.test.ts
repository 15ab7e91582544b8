import { expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/json.ts'
import {
  constrains, isAnnotation, keywordTarget, mapSubschemas, propertiesOf, subschemaPointer, subschemasOf,
} from '../../src/schema/index.ts'

const pointersOf = (schema: JsonObject, dialect?: '2020-12' | 'draft-07'): readonly string[] =>
  subschemasOf(schema, dialect).map(subschemaPointer)

it('finds schemas, lists and maps of schemas, and nothing that only looks like one', () => {
  const schema = JSON.parse(`{
    "not": {}, "items": true, "anyOf": [{}, false], "properties": { "a/b": {}, "__proto__": {}, "items": {} },
    "$defs": { "x": {} }, "const": { "not": {} }, "examples": [{ "items": {} }], "widget": { "items": {} }, "allOf": 7
  }`) as JsonObject
  expect(pointersOf(schema)).toEqual([
    '/not', '/items', '/anyOf/0', '/anyOf/1', '/properties/a~1b', '/properties/__proto__', '/properties/items',
    '/$defs/x',
  ])
})

it.each<[JsonObject, readonly string[], readonly string[], readonly string[]]>([
  [{ items: [{}, {}] }, ['/items/0', '/items/1'], [], ['/items/0', '/items/1']],
  [{ not: [{}] }, ['/not/0'], [], []],
  [{ dependencies: { a: {} } }, ['/dependencies/a'], [], ['/dependencies/a']],
  [{ additionalItems: {} }, ['/additionalItems'], [], ['/additionalItems']],
  [{ dependentSchemas: { a: {} } }, ['/dependentSchemas/a'], ['/dependentSchemas/a'], []],
])('in %j it depends on the dialect', (schema, inAny, inModern, inOld) => {
  expect([pointersOf(schema), pointersOf(schema, '2020-12'), pointersOf(schema, 'draft-07')])
    .toEqual([inAny, inModern, inOld])
})

it('replaces schemas in place, and returns the same object if nothing changes', () => {
  const schema = { items: { type: 'string' }, oneOf: [true, { const: 1 }], properties: { a: {} }, default: { not: {} } }
  expect(mapSubschemas(schema, (one) => one.schema)).toBe(schema)
  expect(mapSubschemas(schema, ({ keyword, key = '', schema: one }): Json => one === true ? one : `${keyword}${key}`))
    .toEqual({ items: 'items', oneOf: [true, 'oneOf1'], properties: { a: 'propertiesa' }, default: { not: {} } })
})

it('keeps a property with the name of the prototype', () => {
  const schema = JSON.parse('{ "properties": { "__proto__": { "type": "string" } } }') as JsonObject
  const changed = mapSubschemas(schema, () => false)
  expect(JSON.stringify(changed)).toBe('{"properties":{"__proto__":false}}')
  expect(Object.keys(propertiesOf(changed))).toEqual(['__proto__'])
})

it('knows what the schemas in a keyword apply to', () => {
  expect(['allOf', 'if', 'dependentSchemas', 'dependencies', '$defs', 'definitions', 'properties', 'items', 'contains']
    .map(keywordTarget)).toEqual([
    'value', 'value', 'value', 'value', 'references', 'references', 'members', 'members', 'members',
  ])
})

it('knows which keywords can make a value invalid, and which only describe', () => {
  const keywords = [
    'type', 'anyOf', 'unevaluatedItems', 'format', 'contentSchema', '$defs', '$ref', 'title', '$comment',
  ]
  expect(keywords.filter(constrains)).toEqual(['type', 'anyOf', 'unevaluatedItems'])
  expect(keywords.filter(isAnnotation)).toEqual(['title', '$comment'])
})
