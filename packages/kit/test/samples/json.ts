import * as fc from 'fast-check'
import { findJsonFault, type Json, type JsonObject } from '../../src/json.ts'

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json
const crosses = (value: Json): boolean => findJsonFault(value) === undefined

/** JSON that may cross a boundary. */
export const anyJson: fc.Arbitrary<Json> = fc.jsonValue({
  maxDepth: 3, stringUnit: 'grapheme',
}).map(plain).filter(crosses)

/** The same for objects, with short keys, so that keys collide. */
export const anyJsonObject: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.string({ maxLength: 6 }), anyJson, { maxKeys: 4 },
)
  .map((value) => plain(value) as JsonObject).filter(crosses)
