import { expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/json.ts'
import { alternatives, targetOf } from '../../src/schema/index.ts'

const root = JSON.parse(`{
  "$defs": { "a b": 1, "c/d": 2, "~": 3, "list": [4, 5] }, "": { "": 6 }, "__proto__": { "x": 7 }
}`) as JsonObject

it.each<[string, Json | undefined]>([
  ['#', root], ['#/$defs/a%20b', 1], ['#/$defs/a b', 1], ['#/$defs/c~1d', 2], ['#/$defs/c%2Fd', 2], ['#/$defs/~0', 3],
  ['#/$defs/list/1', 5], ['#//', 6], ['#/__proto__/x', 7],
  ['#/$defs/list/01', undefined], ['#/$defs/list/length', undefined], ['#/$defs/none', undefined],
  ['#/constructor', undefined], ['#/%', undefined], ['#anchor', undefined], ['other#/$defs/list', undefined],
  ['', undefined], ['/$defs', undefined],
])('the reference %s leads to %j', (reference, target) => {
  expect(targetOf(root, reference)).toBe(target)
})

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
