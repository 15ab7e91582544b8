import { isJsonObject, targetOf, type Json, type JsonObject } from '../json.ts'
import { TYPES } from './keywords.ts'
import { propertiesOf } from './subschemas.ts'

const MAX_ALTERNATIVES = 1000

/**
 * The alternatives of a schema: references are followed, `allOf` is merged, and unions are taken apart. Bounded. They
 * may accept more than the schema, or less: of keywords that cannot be merged the last one stays.
 */
export function alternatives(schema: Json | undefined, root: Json): readonly JsonObject[] {
  const found: JsonObject[] = []
  const seen = new Set<Json>()
  const open = schema === undefined ? [] : [{ part: schema, beside: {} as JsonObject }]
  for (let next = 0; next < Math.min(open.length, MAX_ALTERNATIVES); next++) {
    const { part, beside } = open[next]!
    if (part === false || seen.has(part)) continue
    if (isJsonObject(part)) seen.add(part)
    const { $ref, anyOf, oneOf, ...own } = merged(beside, part)
    const branches = typeof $ref === 'string' ? [targetOf(root, $ref) ?? true] : anyOf ?? oneOf
    if (!Array.isArray(branches)) found.push(own)
    else open.push(...branches.slice(0, MAX_ALTERNATIVES).map((one: Json) => ({ part: one, beside: own })))
  }
  return found
}

/** The keywords of two schemas of one value, with those of `allOf`. */
function merged(one: JsonObject, other: Json): JsonObject {
  if (!isJsonObject(other)) return one
  const { allOf, ...own } = other
  const required = [one['required'], own['required']].flatMap((names) => Array.isArray(names) ? names as Json[] : [])
  const both = {
    ...one, ...own, ...(required.length > 0 && { required: [...new Set(required)] }),
    ...(one['properties'] !== undefined && own['properties'] !== undefined
      && { properties: { ...propertiesOf(one), ...propertiesOf(own) } }),
  }
  return Array.isArray(allOf) ? (allOf as readonly Json[]).reduce(merged, both) : both
}

const typeOf = (value: Json): string => value === null ? 'null' : typeof value

export const isOfType = (value: Json, type: string): boolean =>
  type === 'integer' ? Number.isInteger(value) : type === typeOf(value)

/** The types that a schema accepts, declared or implied by its keywords. */
export function typesOf(schema: JsonObject): readonly string[] {
  const { type, const: constant, enum: allowed } = schema
  const literals = constant === undefined ? allowed : [constant]
  const declared = [type ?? []].flat().filter((one) => TYPES.includes(one as string))
  const possible = declared as readonly string[]
  if (Array.isArray(literals)) {
    if (possible.length === 0) return [...new Set(literals.map(typeOf))]
    const hasLiteral = (one: string): boolean => literals.some((value: Json) => isOfType(value, one))
    return possible.length === 1 ? possible : possible.filter(hasLiteral)
  }
  if (possible.length > 0) return possible
  if ('properties' in schema || 'required' in schema) return ['object']
  return 'items' in schema ? ['array'] : []
}
