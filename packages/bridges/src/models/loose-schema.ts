import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { alternatives, mapSubschemas, propertiesOf } from '@bulkhead/kit/schema'
import type { Loss, MutableSchema } from './projector.ts'

/** Providers reject these at the root, even of a tool that is not strict. */
const NOT_AT_ROOT = ['anyOf', 'oneOf', 'allOf', 'enum', 'not'] as const

/**
 * A schema that is not strict, as every provider accepts it: a copy without alternatives at the root, and with `items`
 * in every list.
 */
export function looseSchema(schema: JsonObject): { readonly schema: MutableSchema; readonly losses: readonly Loss[] } {
  const { anyOf: _, oneOf: __, allOf: ___, enum: ____, not: _____, ...rest } = schema
  const losses = NOT_AT_ROOT.filter((keyword) => keyword in schema)
    .map((keyword) => ({ pointer: `/${keyword}`, message: 'the provider accepts no alternatives at the root' }))
  const properties = rootProperties(schema)
  const plain = losses.length === 0 ? schema
    : { ...rest, ...(Object.keys(properties).length > 0 && { properties }) }
  return { schema: { ...withItems(structuredClone(plain)) as JsonObject, type: 'object' }, losses }
}

/** The properties of the root and of all its alternatives. */
export function rootProperties(root: JsonObject): JsonObject {
  const parts = [root['anyOf'], root['oneOf'], root['allOf']]
    .flatMap((list) => Array.isArray(list) ? list as readonly Json[] : []).flatMap((part) => alternatives(part, root))
  const found = new Map<string, Json[]>()
  for (const part of [root, ...parts]) {
    for (const [name, property] of Object.entries(propertiesOf(part))) {
      const known = found.get(name) ?? []
      const isNew = !known.some((one) => JSON.stringify(one) === JSON.stringify(property))
      found.set(name, isNew ? [...known, property] : known)
    }
  }
  const merged = Array.from(found, ([name, list]) => [name, list.length === 1 ? list[0]! : { anyOf: list }] as const)
  return Object.fromEntries(merged)
}

function withItems(schema: Json): Json {
  if (!isJsonObject(schema)) return schema
  const whole = mapSubschemas(schema, (below) => withItems(below.schema))
  return [schema['type']].flat().includes('array') && !('items' in schema) ? { ...whole, items: {} } : whole
}
