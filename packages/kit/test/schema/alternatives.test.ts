import { expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/json.ts'
import { alternatives } from '../../src/schema/index.ts'

const text = { type: 'string' }
const whole = { $defs: { text, loop: { anyOf: [{ $ref: '#/$defs/loop' }, text] } } }

it.each<[Json | undefined, readonly JsonObject[]]>([
  [text, [text]], [true, [{}]], [false, []], [undefined, []], [{ $ref: '#/$defs/none' }, [{}]],
  [{ $ref: '#/$defs/text', title: 'x' }, [{ ...text, title: 'x' }]],
  [{ type: 'object', oneOf: [{ required: ['a'] }, false, true], required: ['b'] }, [
    { type: 'object', required: ['b', 'a'] }, { type: 'object', required: ['b'] },
  ]],
  [{ anyOf: [{ anyOf: [text, { const: 1 }] }, { type: 'null' }] }, [{ type: 'null' }, text, { const: 1 }]],
  [{ properties: { a: text }, allOf: [{ properties: { b: {} } }, { allOf: [{ minProperties: 1 }] }] }, [
    { properties: { a: text, b: {} }, minProperties: 1 },
  ]],
  [{ $ref: '#/$defs/loop' }, [text]],
])('the alternatives of %j', (schema, expected) => {
  expect(alternatives(schema, whole)).toEqual(expected)
})

it('ends for a schema that refers to itself beside other keywords', () => {
  const endless = { title: 'x', anyOf: [{ $ref: '#', minimum: 1 }, { $ref: '#', minimum: 2 }, { minimum: 3 }] }
  expect(alternatives(endless, endless)).toEqual([{ title: 'x', minimum: 3 }])
})

it('has less than 1,000 alternatives, however many a schema has', () => {
  const constants = (from: number) => ({ anyOf: Array.from({ length: 800 }, (_, index) => ({ const: from + index })) })
  const found = alternatives({ oneOf: [constants(0), constants(1_000), constants(2_000)] }, {})
  expect(found.length).toBeGreaterThan(800)
  expect(found.length).toBeLessThan(1_000)
})
