import type { Json, JsonObject } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { LOADER_LIMITS } from '../../src/model/limits.ts'
import { findGaps } from '../../src/schema/schema-cover.ts'
import { rootPlace } from '../../src/schema/schema-facts.ts'
import { SchemaCompiler } from '../../src/schema/schema-compiler.ts'

/** Few names, values and bounds, so that schemas often overlap. */
const NAME = fc.constantFrom('a', 'b')
const VALUE: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 0, 1, 2, 1.5, '', 'a', 'ab', 'ba'),
    fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(NAME, tie('value'), { maxKeys: 2 }),
  ),
})).value
const TYPE = fc.constantFrom('null', 'boolean', 'object', 'array', 'string', 'integer', 'number')
const BOUND = fc.constantFrom(0, 1, 2)
const SCHEMA: fc.Arbitrary<Json> = fc.letrec<{ schema: Json }>((tie) => {
  const below = tie('schema')
  const map = fc.dictionary(NAME, below, { maxKeys: 2 })
  const list = fc.array(below, { minLength: 1, maxLength: 2 })
  const names = fc.uniqueArray(NAME, { maxLength: 2 })
  const keyword = (name: string, value: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> =>
    value.map((one) => ({ [name]: one }))
  const keywords = fc.oneof(
    keyword('type', TYPE), keyword('type', fc.uniqueArray(TYPE, { minLength: 1, maxLength: 3 })),
    keyword('const', VALUE), keyword('enum', fc.array(VALUE, { minLength: 1, maxLength: 3 })),
    keyword('pattern', fc.constantFrom('^a', 'b')),
    ...[
      'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems',
      'minProperties', 'maxProperties',
    ].map((name) => keyword(name, BOUND)),
    keyword('multipleOf', fc.constantFrom(0.5, 1, 2)), keyword('uniqueItems', fc.boolean()), keyword('required', names),
    keyword('properties', map),
    keyword('patternProperties', fc.dictionary(fc.constantFrom('^a', 'b'), below, { maxKeys: 2 })),
    ...[
      'additionalProperties', 'items', 'not', 'contains', 'unevaluatedProperties', 'unevaluatedItems', 'propertyNames',
    ].map((name) => keyword(name, below)),
    keyword('prefixItems', list), keyword('allOf', list), keyword('anyOf', list), keyword('oneOf', list),
    keyword('dependentRequired', fc.dictionary(NAME, names, { maxKeys: 1 })), keyword('dependentSchemas', map),
    fc.record({ if: below, then: below, else: below }), fc.constant({ $ref: '#/$defs/a' }),
  )
  return {
    schema: fc.oneof({ maxDepth: 3 }, fc.boolean(),
      fc.array(keywords, { maxLength: 3 }).map((parts): Json => Object.assign({}, ...parts) as JsonObject)),
  }
}).schema
const ROOT = fc
  .record({ schema: SCHEMA, definition: SCHEMA })
  .map(({ schema, definition }) => ({
    ...(typeof schema === 'object' ? (schema as JsonObject) : {}), $defs: { a: definition },
  }))

/** A schema, and the same with one part replaced. */
const PAIR = fc.tuple(ROOT, ROOT, fc.nat()).map(([one, other, at]): readonly [JsonObject, JsonObject] => {
  const keys = [...Object.keys(one), ...Object.keys(other)]
  const key = keys[at % keys.length]!
  const { [key]: _, ...rest } = one as JsonObject
  const changed = Object.hasOwn(other, key) ? { ...rest, [key]: (other as JsonObject)[key]! } : rest
  return [one, changed]
})

test('a schema without gaps accepts every value that the other accepts', () => {
  const compiler = new SchemaCompiler(LOADER_LIMITS)
  let covered = 0
  fc.assert(fc.property(PAIR, fc.array(VALUE, { minLength: 20, maxLength: 40 }), ([narrow, wide], values) => {
    const [whole, part] = [rootPlace(wide), rootPlace(narrow)]
    const [accepts, accepted] = [compiler.compile(wide), compiler.compile(narrow)]
    if (whole === undefined || part === undefined || !accepts.ok || !accepted.ok) return
    expect(findGaps(part, part)).toEqual([])
    if (findGaps(whole, part).length > 0) return
    covered++
    for (const value of values) {
      if (accepted.validate(value) === undefined) expect(accepts.validate(value), JSON.stringify(value)).toBeUndefined()
    }
  }), { numRuns: thoroughly(40, 10_000) })
  expect(covered).toBeGreaterThan(10)
})

test('a schema covers itself, although a pattern allows what another part forbids', () => {
  const place = rootPlace({
    patternProperties: { '^a': {} }, $ref: '#/$defs/a', $defs: { a: { additionalProperties: false } },
  })!
  expect(findGaps(place, place)).toEqual([])
})
