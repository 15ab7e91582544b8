import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { dialectOf, inModernKeywords, schemaKeywordForm, type Dialect, type KeywordForm } from '@bulkhead/kit/schema'

/** Older drafts are read as draft-07, which has what they have. */
const OLDER = /^https?:\/\/json-schema\.org\/draft-0[346]\/schema#?$/

/** What a schema says it is written in, or most likely is. */
export function writtenDialect({ $schema }: JsonObject): Dialect {
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
export const formInAny = (keyword: string): KeywordForm | undefined => schemaKeywordForm(keyword) ?? schemaKeywordForm(keyword, 'draft-07')

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
