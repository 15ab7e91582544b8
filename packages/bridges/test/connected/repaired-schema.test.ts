import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { repairedSchema } from '../../src/connected/tool-schema.ts'

const text = { type: 'string' }
const required = '"required" inside properties'

it.each<[JsonObject, JsonObject, string]>([
  [
    { properties: { a: { ...text, required: true }, b: { ...text, required: false } } },
    { properties: { a: text, b: text }, required: ['a'] }, required,
  ],
  [
    { properties: { a: { ...text, required: true } }, required: ['b'] },
    { properties: { a: text }, required: ['b', 'a'] }, required,
  ],
  [
    { properties: { a: { properties: { b: { required: true } }, required: true } } },
    { properties: { a: { properties: { b: {} }, required: ['b'] } }, required: ['a'] }, required,
  ],
  [{ items: { ...text, required: true } }, { items: text }, required],
  [{ required: ['a', 'b', 'a'] }, { required: ['a', 'b'] }, 'duplicate names in "required"'],
  [
    { minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false }, { exclusiveMinimum: 0, maximum: 9 },
    'boolean exclusive bounds',
  ],
  [{ exclusiveMinimum: true }, {}, 'boolean exclusive bounds'],
  [
    { properties: { a: { enum: null, description: null, default: null } } }, { properties: { a: { default: null } } },
    'keywords that are null',
  ],
  [{ properties: [] }, { properties: {} }, 'an empty list instead of an empty object'],
  [{ items: [] }, { items: {} }, 'an empty list instead of an empty object'],
  [{ title: { en: 'x' }, examples: 'x', description: 7, deprecated: 'yes' }, {}, 'annotations of the wrong type'],
  [{ type: 'any' }, {}, 'the type "any"'],
  [
    { dependencies: { a: ['b'], c: { required: ['d'] } } },
    { dependentRequired: { a: ['b'] }, dependentSchemas: { c: { required: ['d'] } } }, 'dependencies',
  ],
])('converts %j', (written, schema, what) => {
  expect(repairedSchema(written)).toEqual({ schema, repaired: [what] })
})

it.each<JsonObject>([
  {
    type: 'object', properties: { required: { type: 'boolean' }, a: text }, required: ['a'], minimum: 0,
    exclusiveMinimum: 1, const: null,
  },
  { enum: [{ required: true, title: null }], examples: [{ properties: [] }], default: { dependencies: {} } },
  // Ambiguous schemas are left to the schema checker.
  { $schema: 'http://json-schema.org/draft-07/schema#', dependencies: { a: ['b'] } },
  { required: true }, { allOf: [{ required: true }] }, { $defs: { a: { required: true } } }, { type: null },
  { dependencies: 7 }, { prefixItems: [] },
])('does not change %j', (written) => {
  expect(repairedSchema(written)).toEqual({ schema: written, repaired: [] })
})
