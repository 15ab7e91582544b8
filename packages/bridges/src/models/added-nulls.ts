import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { alternatives } from '@bulkhead/kit/schema'
import { allowsNull } from './schema-parts.ts'

/**
 * Removes the nulls that a strict model sends for absent optional arguments. A null that the full schema allows stays,
 * and so does one for a required property, which the host rejects. Contract: the schema has a strict projection, and
 * the arguments are within the limits of JSON.
 */
export const withoutAddedNulls = (args: Json, schema: JsonObject): Json =>
  hasNull(args) ? withoutNulls(args, schema, schema) : args

const hasNull = (value: Json): boolean =>
  value === null || (typeof value === 'object' && Object.values(value).some((one: Json) => hasNull(one)))

function withoutNulls(value: Json, schema: Json | undefined, root: JsonObject): Json {
  if (typeof value !== 'object' || value === null) return value
  const parts = alternatives(schema, root)
  if (!isJsonObject(value)) {
    const items = parts.find((part) => isJsonObject(part['items']))?.['items']
    return value.map((item) => withoutNulls(item, items, root))
  }
  const meant = parts.length === 1 ? parts[0] : alternativeOf(value, parts)
  const properties = meant?.['properties']
  if (meant === undefined || !isJsonObject(properties)) return value
  const required = Array.isArray(meant['required']) ? meant['required'] : []
  return Object.fromEntries(Object.entries(value).flatMap(([name, member]): readonly (readonly [string, Json])[] => {
    const below = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (member !== null) return [[name, withoutNulls(member, below, root)]]
    return required.includes(name) || (below !== undefined && allowsNull(below, root)) ? [[name, null]] : []
  }))
}

/** The alternative that a value is: a strict model sends all properties of one, with its fixed values. */
function alternativeOf(value: JsonObject, parts: readonly JsonObject[]): JsonObject | undefined {
  const possible = parts.filter(({ properties }) => isJsonObject(properties) && isPossible(value, properties))
  const count = Object.keys(value).length
  return possible.find(({ properties }) => Object.keys(properties as JsonObject).length === count) ?? possible[0]
}

const isPossible = (value: JsonObject, properties: JsonObject): boolean =>
  Object.entries(value).every(([name, member]) => {
    if (member === null) return true
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (!isJsonObject(schema)) return schema === true
    const { const: constant, enum: allowed } = schema
    return (constant === undefined || constant === member) && (!Array.isArray(allowed) || allowed.includes(member))
  })
