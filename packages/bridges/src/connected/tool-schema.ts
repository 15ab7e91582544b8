import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { dialectOf, inModernKeywords, schemaKeywordForm, type Dialect, type KeywordForm } from '@bulkhead/kit/schema'

/** Older drafts are read as draft-07, which has what they have. */
const OLDER = /^https?:\/\/json-schema\.org\/draft-0[346]\/schema#?$/

/** What a schema says it is written in, or most likely is. */
function writtenDialect({ $schema }: JsonObject): Dialect {
  if (typeof $schema !== 'string') return '2020-12'
  return OLDER.test($schema) ? 'draft-07' : dialectOf($schema) ?? '2020-12'
}

/** Prepares an untrusted tool schema for a manifest without changing its meaning. Unusable schemas are rejected elsewhere. */
export function toolSchema(written: Json | undefined): JsonObject {
  return isJsonObject(written) ? { ...plainSchema(written), type: 'object' } : { type: 'object', properties: {} }
}

/** In JSON Schema 2020-12, which models know best, and without the keywords that say nothing. */
export function plainSchema(written: JsonObject): JsonObject {
  const { $schema: _, ...plain } = modernised(written, writtenDialect(written))
  return plain
}

function modernised(schema: JsonObject, dialect: Dialect): JsonObject {
  const modern = dialect === 'draft-07' ? fromDraft07(schema) : withPrefixItems(schema)
  const said = Object.entries(modern).filter(([keyword]) => schemaKeywordForm(keyword) !== undefined)
  return withSubschemas(Object.fromEntries(said), (below) => modernised(below, dialect))
}

/** What may stand beside a reference of draft-07 and change nothing. */
const BESIDE_REFERENCE: ReadonlySet<string> = new Set([
  '$ref', '$defs', 'definitions', 'title', 'description', '$comment', 'default', 'examples', 'readOnly', 'writeOnly',
])

function fromDraft07(schema: JsonObject): JsonObject {
  if (typeof schema['$ref'] === 'string') return Object.fromEntries(Object.entries(schema).filter(([keyword]) => BESIDE_REFERENCE.has(keyword)))
  const { $id, ...rest } = inModernKeywords(schema)
  if (typeof $id === 'string' && $id.startsWith('#')) return { $anchor: $id.slice(1), ...rest }
  return { ...($id !== undefined && { $id }), ...rest }
}

/** What stands below a keyword in either dialect. */
const formInAny = (keyword: string): KeywordForm | undefined => schemaKeywordForm(keyword) ?? schemaKeywordForm(keyword, 'draft-07')

/** The same schema, each of those directly below it changed. Values that only look like schemas, such as examples, are let be. */
export function withSubschemas(schema: JsonObject, change: (below: JsonObject) => Json): JsonObject {
  const below = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(below)
    return isJsonObject(value) ? change(value) : value
  }
  const eachBelow = (map: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, below(value)]))
  return Object.fromEntries(Object.entries(schema).map(([keyword, value]) => {
    const form = formInAny(keyword)
    if (form === undefined || form === 'plain') return [keyword, value]
    return [keyword, form === 'map' && isJsonObject(value) ? eachBelow(value) : below(value)]
  }))
}

/** Before 2020-12 a list of schemas stood under `items`, and under `additionalItems` what comes behind them. */
function withPrefixItems({ additionalItems, ...schema }: JsonObject): JsonObject {
  const { items, ...rest } = schema
  if (!Array.isArray(items)) return schema
  return { ...rest, prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
}

export interface MendedSchema {
  readonly schema: JsonObject
  /** What was not of JSON Schema 2020-12, each way of writing once. */
  readonly mended: readonly string[]
}

/** Converts schemas of older drafts, and of libraries that write null or [] for "absent". Never loosens a schema. */
export function mendedSchema(written: JsonObject): MendedSchema {
  const mended = new Set<string>()
  const schema = mend(written, mended, MENDINGS[writtenDialect(written)])
  return { schema, mended: [...mended] }
}

type Mending = (schema: JsonObject, mended: Set<string>) => JsonObject

function mend(schema: JsonObject, mended: Set<string>, mendings: readonly Mending[]): JsonObject {
  const changed = mendings.reduce((before, mending) => mending(before, mended), schema)
  return withSubschemas(changed, (below) => mend(below, mended, mendings))
}

/** Whose values may be null, or might have meant to be. */
const ANY_VALUE: ReadonlySet<string> = new Set(['const', 'default', 'type'])
/** What says something to people, and nothing to a validator. */
const REMARKS: ReadonlyMap<string, 'string' | 'boolean' | 'list'> = new Map([
  ['title', 'string'], ['description', 'string'], ['$comment', 'string'], ['deprecated', 'boolean'], ['readOnly', 'boolean'],
  ['writeOnly', 'boolean'], ['examples', 'list'],
])

const withoutNulls: Mending = (schema, mended) => {
  const isNothing = ([keyword, value]: [string, Json]): boolean => value === null && !ANY_VALUE.has(keyword)
  return without(schema, isNothing, mended, 'keywords that are null')
}

const withoutOddRemarks: Mending = (schema, mended) => {
  const isOdd = ([keyword, value]: [string, Json]): boolean =>
    REMARKS.has(keyword) && REMARKS.get(keyword) !== (Array.isArray(value) ? 'list' : typeof value)
  return without(schema, isOdd, mended, 'remarks that are not of their form')
}

const withoutAny: Mending = (schema, mended) =>
  without(schema, ([keyword, value]) => keyword === 'type' && value === 'any', mended, 'the type "any"')

const withObjects: Mending = (schema, mended) => Object.fromEntries(Object.entries(schema).map(([keyword, value]) => {
  const form = formInAny(keyword)
  if ((form !== 'map' && form !== 'subschema') || !Array.isArray(value) || value.length > 0) return [keyword, value]
  mended.add('an empty list for an empty object')
  return [keyword, {}]
}))

const withBounds: Mending = (schema, mended) => {
  const bounded = withBound(withBound(schema, 'minimum', 'exclusiveMinimum'), 'maximum', 'exclusiveMaximum')
  if (bounded !== schema) mended.add('a bound that a flag excludes')
  return bounded
}

/** Before draft 6 a flag said that the bound itself is excluded. */
function withBound(schema: JsonObject, included: string, excluded: string): JsonObject {
  const { [included]: limit, [excluded]: flag, ...rest } = schema
  if (typeof flag !== 'boolean') return schema
  return limit === undefined ? rest : { ...rest, [flag ? excluded : included]: limit }
}

/** Before 2019-09 names and schemas stood under one keyword. */
const withDependents: Mending = (schema, mended) => {
  const { dependencies, ...rest } = schema
  if (!isJsonObject(dependencies)) return schema
  mended.add('dependencies')
  const lists = Object.entries(dependencies).filter(([, needs]) => Array.isArray(needs))
  const schemas = Object.entries(dependencies).filter(([, needs]) => !Array.isArray(needs))
  return {
    ...rest,
    ...(lists.length > 0 && { dependentRequired: { ...rest['dependentRequired'] as JsonObject, ...Object.fromEntries(lists) } }),
    ...(schemas.length > 0 && { dependentSchemas: { ...rest['dependentSchemas'] as JsonObject, ...Object.fromEntries(schemas) } }),
  }
}

/** In draft 3 a property said of itself whether it is required. An element of a list is always there. */
const withRequired: Mending = (schema, mended) => {
  const { properties, required, items } = schema
  const members = isJsonObject(properties) ? Object.entries(properties) : []
  const claiming = members.filter(([, member]) => isJsonObject(member) && member['required'] === true).map(([name]) => name)
  const listed = Array.isArray(required) ? required : []
  const all = [...new Set([...listed, ...claiming])]
  if (all.length < listed.length) mended.add('a name that is required twice')
  const bare = (member: Json): Json => isJsonObject(member) ? withoutFlag(member, mended) : member
  return {
    ...schema,
    ...(isJsonObject(properties) && { properties: Object.fromEntries(members.map(([name, member]) => [name, bare(member)])) }),
    ...(items !== undefined && { items: bare(items) }),
    ...((Array.isArray(required) || (required === undefined && claiming.length > 0)) && { required: all }),
  }
}

const withoutFlag: Mending = (schema, mended) =>
  without(schema, ([keyword, value]) => keyword === 'required' && typeof value === 'boolean', mended, 'properties that say of themselves whether they are required')

const IN_ALL: readonly Mending[] = [withoutNulls, withoutOddRemarks, withoutAny, withObjects, withBounds, withRequired]
const MENDINGS: Readonly<Record<Dialect, readonly Mending[]>> = { '2020-12': [...IN_ALL, withDependents], 'draft-07': IN_ALL }

function without(schema: JsonObject, drop: (entry: [string, Json]) => boolean, mended: Set<string>, what: string): JsonObject {
  const kept = Object.entries(schema).filter((entry) => !drop(entry))
  if (kept.length === Object.keys(schema).length) return schema
  mended.add(what)
  return Object.fromEntries(kept)
}
