import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { keywordTarget, subschemasOf } from '@bulkhead/kit/schema'
import type { SchemaLimits } from './profiles.ts'
import type { MutableSchema } from './projector.ts'

const LONG_ENUM = 250

/** Why a provider would reject a strict schema for its size, or undefined. */
export function limitFault(schema: MutableSchema, limits: SchemaLimits): string | undefined {
  const size = { properties: 0, depth: 0, enumValues: 0, chars: 0, longEnumChars: 0 }
  measure(schema as Json, 0, size)
  const exceeded = (Object.keys(size) as (keyof SchemaLimits)[]).find((what) => size[what] > limits[what])
  return exceeded && `the schema has ${size[exceeded]} ${WHAT[exceeded]}; ${limits[exceeded]} are allowed`
}

const WHAT: Readonly<Record<keyof SchemaLimits, string>> = {
  properties: 'properties', depth: 'levels', enumValues: 'values of "enum"',
  chars: 'characters in names and values', longEnumChars: 'characters in one "enum"',
}

/** Contract: `schema` is a projection, so that its only unions are `anyOf`. */
function measure(schema: Json, depth: number, size: Record<keyof SchemaLimits, number>): void {
  if (!isJsonObject(schema)) return
  const { enum: values, const: constant } = schema
  size.depth = Math.max(size.depth, depth)
  for (const { keyword, key, schema: below } of subschemasOf(schema)) {
    if (typeof key === 'string') size.chars += key.length
    if (keyword === 'properties') size.properties++
    measure(below, keywordTarget(keyword) === 'value' ? depth : depth + 1, size)
  }
  const literals = Array.isArray(values) ? values : constant === undefined ? [] : [constant]
  const chars = literals.reduce((sum: number, value: Json) => sum + String(value).length, 0)
  size.enumValues += literals.length
  size.chars += chars
  if (literals.length > LONG_ENUM) size.longEnumChars = Math.max(size.longEnumChars, chars)
}
