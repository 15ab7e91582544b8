import { isJsonObject, pointerStep, type Json, type JsonObject } from '../json.ts'
import { schemaKeywordForm, type Dialect } from './keywords.ts'

/** A schema directly below another one. */
export interface Subschema {
  readonly keyword: string
  /** Its place in the list or map of the keyword. */
  readonly key?: string | number
  readonly schema: Json
}

/** The JSON Pointer from the schema around it. */
export const subschemaPointer = ({ keyword, key }: Subschema): string =>
  pointerStep(keyword) + (key === undefined ? '' : pointerStep(key))

/** The schemas in one keyword. A dialect of `any` is for schemas that were not checked: a list may stand for a schema. */
function schemasIn(keyword: string, value: Json, dialect: Dialect | 'any'): readonly Subschema[] {
  const each = (list: readonly Json[]): readonly Subschema[] => list.map((schema, key) => ({ keyword, key, schema }))
  switch (schemaKeywordForm(keyword, dialect)) {
    case 'subschema':
      if (!Array.isArray(value)) return [{ keyword, schema: value }]
      return dialect === 'any' || (dialect === 'draft-07' && keyword === 'items') ? each(value) : []
    case 'list':
      return Array.isArray(value) ? each(value) : []
    case 'map':
      return isJsonObject(value) ? Object.entries(value).map(([key, schema]) => ({ keyword, key, schema })) : []
    default:
      return NONE
  }
}

const NONE: readonly Subschema[] = []

/** The direct subschemas, in the order of the schema. */
export function subschemasOf(schema: JsonObject, dialect: Dialect | 'any' = 'any'): readonly Subschema[] {
  const found: Subschema[] = []
  for (const keyword of Object.keys(schema)) found.push(...schemasIn(keyword, schema[keyword]!, dialect))
  return found
}

/**
 * Replaces the direct subschemas. Values that only look like schemas, such as examples, are unchanged. Returns the same
 * object if nothing changes.
 */
export function mapSubschemas(
  schema: JsonObject, change: (below: Subschema) => Json, dialect: Dialect | 'any' = 'any',
): JsonObject {
  let copy: Record<string, Json> | undefined
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword]!
    const below = schemasIn(keyword, value, dialect)
    const after = below.length === 0 ? value : changed(value, below, change)
    // A keyword with schemas in it is a known one, so it is not `__proto__`.
    if (after !== value) (copy ??= { ...schema })[keyword] = after
  }
  return copy ?? schema
}

function changed(value: Json, below: readonly Subschema[], change: (below: Subschema) => Json): Json {
  const schemas = below.map(change)
  if (schemas.every((schema, index) => schema === below[index]!.schema)) return value
  if (below[0]!.key === undefined) return schemas[0]!
  return Array.isArray(value) ? schemas : Object.fromEntries(below.map(({ key }, index) => [key, schemas[index]!]))
}

/** The properties that a schema declares. */
export const propertiesOf = (schema: Json | undefined): JsonObject =>
  isJsonObject(schema) && isJsonObject(schema['properties']) ? schema['properties'] : {}

/** The patterns of one schema, and where they are in it. */
export const patternsOf = ({ pattern, patternProperties }: JsonObject): readonly (readonly [string, string])[] => [
  ...(typeof pattern === 'string' ? [[pattern, '/pattern'] as const] : []),
  ...(isJsonObject(patternProperties) ? Object.keys(patternProperties) : [])
    .map((source) => [source, `/patternProperties${pointerStep(source)}`] as const),
]

/** Whether a schema says which values it accepts without the type of an outer one. */
export const hasOwnType = (schema: JsonObject): boolean =>
  ['type', 'enum', 'const', '$ref', 'anyOf', 'oneOf', 'allOf'].some((keyword) => schema[keyword] !== undefined)

/** Translates the keywords of one draft-07 schema to 2020-12. Drops keywords that draft-07 does not define. */
export function inModernKeywords(schema: JsonObject): JsonObject {
  const known = Object.entries(schema).filter(([keyword]) => schemaKeywordForm(keyword, 'draft-07') !== undefined)
  return withDependents(withPrefixItems(Object.fromEntries(known)))
}

/** Before 2020-12, `items` could be a list, and `additionalItems` applied to the rest. */
export function withPrefixItems({ additionalItems, ...schema }: JsonObject): JsonObject {
  const { items, ...rest } = schema
  if (!Array.isArray(items)) return schema
  return { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
}

/** Before 2019-09, `dependencies` contained both names and schemas. */
export function withDependents({ dependencies, ...schema }: JsonObject): JsonObject {
  const entries = isJsonObject(dependencies) ? Object.entries(dependencies) : []
  const keyed = (keyword: string, some: [string, Json][]): JsonObject => some.length === 0 ? {}
    : { [keyword]: { ...schema[keyword] as JsonObject | undefined, ...Object.fromEntries(some) } }
  return {
    ...schema, ...keyed('dependentRequired', entries.filter(([, needs]) => Array.isArray(needs))),
    ...keyed('dependentSchemas', entries.filter(([, needs]) => !Array.isArray(needs))),
  }
}
