import { isJsonObject, pointerKey, type Json, type JsonObject } from '@bulkhead/kit/json'
import { alternatives, isAnnotation, keywordTarget } from '@bulkhead/kit/schema'

/** Whether a keyword can be left out without a loss. */
export const isIdle = (keyword: string): boolean =>
  isAnnotation(keyword) || keyword === '$schema' || keywordTarget(keyword) === 'references'

/** Keywords about a value of each type, without those that contain schemas. */
export const TYPE_KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ['minProperties', 'maxProperties'],
  array: ['minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format', 'contentEncoding', 'contentMediaType'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
}

/** The name of the definition that a reference means, '' for the root, or undefined for any other target. */
export function definitionName(reference: Json | undefined): string | undefined {
  if (reference === '#') return ''
  const name = typeof reference === 'string' ? /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(reference)?.[1] : undefined
  try {
    return name === undefined ? undefined : pointerKey(decodeURIComponent(name))
  } catch {
    return undefined
  }
}

/** Resolves `allOf` where its parts speak of different things. undefined if they do not. */
export function withoutAllOf(schema: JsonObject): JsonObject | undefined {
  const { allOf, ...own } = schema
  if (!Array.isArray(allOf)) return schema
  return allOf.reduce<JsonObject | undefined>((merged, part: Json) => {
    const flat = isJsonObject(part) ? withoutAllOf(part) : undefined
    return merged === undefined || flat === undefined ? undefined : merge(merged, flat)
  }, own)
}

function merge(one: JsonObject, other: JsonObject): JsonObject | undefined {
  // A closed part forbids the properties of the others.
  if ([one, other].some((part) => 'additionalProperties' in part) && 'properties' in one && 'properties' in other) {
    return undefined
  }
  const merged = new Map(Object.entries(one))
  for (const [keyword, value] of Object.entries(other)) {
    const before = merged.get(keyword)
    if (before === undefined) merged.set(keyword, value)
    else if (keyword === 'properties' && isJsonObject(before) && isJsonObject(value)) {
      if (Object.keys(value).some((name) => Object.hasOwn(before, name))) return undefined
      merged.set(keyword, Object.fromEntries([...Object.entries(before), ...Object.entries(value)]))
    } else if (keyword === 'required' && Array.isArray(before) && Array.isArray(value)) {
      merged.set(keyword, [...new Set<Json>([...before, ...value as readonly Json[]])])
    } else if (!isIdle(keyword) && JSON.stringify(before) !== JSON.stringify(value)) return undefined
  }
  return Object.fromEntries(merged)
}

/** Whether null is valid. */
export function allowsNull(schema: Json, root: JsonObject): boolean {
  return alternatives(schema, root).some((part) => {
    const { type, const: constant, enum: allowed } = part
    if (constant !== undefined) return constant === null
    if (Array.isArray(allowed) && !allowed.includes(null)) return false
    return type === undefined || type === 'null' || (Array.isArray(type) && type.includes('null'))
  })
}
