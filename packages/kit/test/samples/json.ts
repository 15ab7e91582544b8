import * as fc from 'fast-check'
import { findJsonFault, type Json, type JsonObject } from '../../src/json.ts'

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json
const crosses = (value: Json): boolean => findJsonFault(value) === undefined

/** Any JSON that may cross a boundary. */
export const anyJson: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }).map(plain).filter(crosses)

/** The same, an object at the top, with short keys so that they meet. */
export const anyJsonObject: fc.Arbitrary<JsonObject> = fc.dictionary(fc.string({ maxLength: 6 }), anyJson, { maxKeys: 4 })
  .map((value) => plain(value) as JsonObject).filter(crosses)
