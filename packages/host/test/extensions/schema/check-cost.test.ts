import { CALL_LIMITS } from '@bulkhead/contract'
import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { isWithin, quickChars } from '../../../src/extensions/schema-checks.ts'

const quick = (schema: JsonObject, patternSize = 0) => quickChars(schema, canonicalJson(schema), patternSize)
const text = {
  type: 'object', properties: { path: { type: 'string', minLength: 1 }, content: { type: 'string' } },
  required: ['path'],
}

test('an ordinary schema is quick for every allowed size', () => {
  expect(quick(text)).toBeGreaterThan(CALL_LIMITS.argumentChars)
})

test.each<[string, JsonObject, number]>([
  ['large patterns', { ...text, title: 'patterns' }, 2_000],
  [
    'references that double each other',
    {
      $ref: '#/$defs/a0',
      $defs: Object.fromEntries(
        Array.from({ length: 12 }, (_, at) => [
          `a${at}`, { allOf: [{ $ref: `#/$defs/a${at + 1}` }, { $ref: `#/$defs/a${at + 1}` }] },
        ]),
      ),
    },
    0,
  ],
  ['objects that are compared', { items: { enum: Array.from({ length: 500 }, (_, at) => ({ at })) } }, 0],
  ['very many parts', { allOf: Array.from({ length: 1_000 }, () => ({ minProperties: 1 })) }, 0],
])('a schema with %s is quick only for small values', (_, schema, patternSize) => {
  expect(quick(schema, patternSize)).toBeLessThan(CALL_LIMITS.argumentChars / 10)
})

test.each<[Json, number]>([
  ['12345', 5], [{ key: [1, 'ab'] }, 15], [null, 4], [[], 2],
])('%j has about %i characters', (value, chars) => {
  expect([isWithin(value, chars), isWithin(value, chars - 1)]).toEqual([true, false])
})
