import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import {
  dialectOf, inModernKeywords, isAnnotation, keywordFault, keywordTarget, mapSubschemas, schemaKeywordForm,
  withDependents, withPrefixItems, type Dialect,
} from '@bulkhead/kit/schema'

/** Older drafts are read as draft-07, which includes their keywords. */
const OLDER = /^https?:\/\/json-schema\.org\/draft-0[346]\/schema#?$/

/** The declared dialect of a schema, or the most likely one. */
function writtenDialect({ $schema }: JsonObject): Dialect {
  if (typeof $schema !== 'string') return '2020-12'
  return OLDER.test($schema) ? 'draft-07' : dialectOf($schema) ?? '2020-12'
}

/** Prepares an untrusted schema for a manifest. Its meaning is unchanged. Unusable schemas are rejected elsewhere. */
export function toolSchema(written: Json | undefined): JsonObject {
  return isJsonObject(written) ? { ...plainSchema(written), type: 'object' } : { type: 'object', properties: {} }
}

const MODERN = 'https://json-schema.org/draft/2020-12/schema'

/**
 * Converts a schema to JSON Schema 2020-12 and removes unknown keywords. `$schema` is kept if it is true of the result:
 * most schemas of draft-07 need no conversion.
 */
export function plainSchema(written: JsonObject): JsonObject {
  const dialect = writtenDialect(written)
  const { $schema, ...plain } = modernised(written, dialect)
  if (typeof $schema !== 'string') return plain
  const { $schema: _, ...before } = withKnownKeywords(written, dialect)
  const isTrue = dialectOf($schema) === dialect && canonicalJson(before) === canonicalJson(plain)
  return { $schema: isTrue ? $schema : MODERN, ...plain }
}

function modernised(schema: JsonObject, dialect: Dialect): JsonObject {
  const modern = dialect === 'draft-07' ? fromDraft07(schema) : withPrefixItems(schema)
  const known = Object.entries(modern).filter(([keyword]) => schemaKeywordForm(keyword) !== undefined)
  return withEach(Object.fromEntries(known), (below) => modernised(below, dialect))
}

function withKnownKeywords(schema: JsonObject, dialect: Dialect): JsonObject {
  const known = Object.entries(schema).filter(([keyword]) => schemaKeywordForm(keyword, dialect) !== undefined)
  return withEach(Object.fromEntries(known), (below) => withKnownKeywords(below, dialect))
}

const withEach = (schema: JsonObject, change: (below: JsonObject) => JsonObject): JsonObject =>
  mapSubschemas(schema, ({ schema: below }) => isJsonObject(below) ? change(below) : below)

/** Whether a keyword is kept next to a `$ref` of draft-07, which ignores all others. */
const isBesideReference = (keyword: string): boolean =>
  keyword === '$ref' || keywordTarget(keyword) === 'references' || isAnnotation(keyword)

function fromDraft07(schema: JsonObject): JsonObject {
  if (typeof schema['$ref'] === 'string') {
    return Object.fromEntries(Object.entries(schema).filter(([keyword]) => isBesideReference(keyword)))
  }
  const { $id, ...rest } = inModernKeywords(schema)
  if (typeof $id === 'string' && $id.startsWith('#')) return { $anchor: $id.slice(1), ...rest }
  return { ...($id !== undefined && { $id }), ...rest }
}

export interface RepairedSchema {
  readonly schema: JsonObject
  /** What was converted, each kind once. */
  readonly repaired: readonly string[]
}

/** Converts schemas of older drafts, and of libraries that write null or [] for "absent". Never loosens a schema. */
export function repairedSchema(written: JsonObject): RepairedSchema {
  const repaired = new Set<string>()
  const schema = repairTree(written, repaired, REPAIRS[writtenDialect(written)])
  return { schema, repaired: [...repaired] }
}

type Repair = (schema: JsonObject, repaired: Set<string>) => JsonObject

function repairTree(schema: JsonObject, repaired: Set<string>, repairs: readonly Repair[]): JsonObject {
  const changed = repairs.reduce((before, apply) => apply(before, repaired), schema)
  return withEach(changed, (below) => repairTree(below, repaired, repairs))
}

/** Keywords whose value may be null. */
const ANY_VALUE: ReadonlySet<string> = new Set(['const', 'default', 'type'])

const withoutNulls: Repair = (schema, repaired) => {
  const isNull = ([keyword, value]: [string, Json]): boolean => value === null && !ANY_VALUE.has(keyword)
  return without(schema, isNull, repaired, 'keywords that are null')
}

const withoutInvalidAnnotations: Repair = (schema, repaired) => {
  const isInvalid = ([keyword, value]: [string, Json]): boolean =>
    isAnnotation(keyword) && keywordFault(keyword, value, '2020-12') !== undefined
  return without(schema, isInvalid, repaired, 'annotations of the wrong type')
}

const withoutAny: Repair = (schema, repaired) =>
  without(schema, ([keyword, value]) => keyword === 'type' && value === 'any', repaired, 'the type "any"')

const withObjects: Repair = (schema, repaired) => {
  const isEmptyList = (keyword: string): boolean => {
    const value = schema[keyword]
    if (!Array.isArray(value) || value.length > 0) return false
    const form = schemaKeywordForm(keyword, 'any')
    return form === 'map' || form === 'subschema'
  }
  const empty = Object.keys(schema).filter(isEmptyList)
  if (empty.length === 0) return schema
  repaired.add('an empty list instead of an empty object')
  return { ...schema, ...Object.fromEntries(empty.map((keyword) => [keyword, {}])) }
}

const withBounds: Repair = (schema, repaired) => {
  const bounded = withNumberBounds(schema)
  if (bounded !== schema) repaired.add('boolean exclusive bounds')
  return bounded
}

/** Before draft 6, `exclusiveMinimum` and `exclusiveMaximum` were booleans. */
export const withNumberBounds = (schema: JsonObject): JsonObject =>
  withBound(withBound(schema, 'minimum', 'exclusiveMinimum'), 'maximum', 'exclusiveMaximum')

function withBound(schema: JsonObject, included: string, excluded: string): JsonObject {
  const { [included]: limit, [excluded]: flag, ...rest } = schema
  if (typeof flag !== 'boolean') return schema
  return limit === undefined ? rest : { ...rest, [flag ? excluded : included]: limit }
}

const withoutDependencies: Repair = (schema, repaired) => {
  if (!isJsonObject(schema['dependencies'])) return schema
  repaired.add('dependencies')
  return withDependents(schema)
}

/** In draft 3, `required` was a boolean inside the property. */
const withRequired: Repair = (schema, repaired) => {
  const { properties, required, items } = schema
  const members = isJsonObject(properties) ? Object.entries(properties) : []
  if (!Array.isArray(required) && ![items, ...members.map(([, member]) => member)].some(hasFlag)) return schema
  const claiming = members.filter(([, member]) => isJsonObject(member) && member['required'] === true)
    .map(([name]) => name)
  const listed = Array.isArray(required) ? required : []
  const all = [...new Set([...listed, ...claiming])]
  if (all.length < listed.length) repaired.add('duplicate names in "required"')
  const bare = (member: Json): Json => isJsonObject(member) ? withoutFlag(member, repaired) : member
  return {
    ...schema,
    ...(isJsonObject(properties) && {
      properties: Object.fromEntries(members.map(([name, member]) => [name, bare(member)])),
    }),
    ...(items !== undefined && { items: bare(items) }),
    ...((Array.isArray(required) || (required === undefined && claiming.length > 0)) && { required: all }),
  }
}

const hasFlag = (member: Json | undefined): boolean => isJsonObject(member) && typeof member['required'] === 'boolean'

const withoutFlag: Repair = (schema, repaired) => {
  const isFlag = ([keyword, value]: [string, Json]): boolean => keyword === 'required' && typeof value === 'boolean'
  return without(schema, isFlag, repaired, '"required" inside properties')
}

const IN_ALL: readonly Repair[] = [
  withoutNulls, withoutInvalidAnnotations, withoutAny, withObjects, withBounds, withRequired,
]
const REPAIRS: Readonly<Record<Dialect, readonly Repair[]>> = {
  '2020-12': [...IN_ALL, withoutDependencies], 'draft-07': IN_ALL,
}

function without(
  schema: JsonObject, drop: (entry: [string, Json]) => boolean, repaired: Set<string>, what: string,
): JsonObject {
  const kept = Object.entries(schema).filter((entry) => !drop(entry))
  if (kept.length === Object.keys(schema).length) return schema
  repaired.add(what)
  return Object.fromEntries(kept)
}
