import { isJsonObject, SCHEMA_FORMATS, schemaKeywordForm, type Json, type JsonObject } from '@bulkhead/contract/plain'

/** Of other dialects and not known here, but for what they are there to say: a schema that has one is judged elsewhere. */
const TELLING: ReadonlySet<string> = new Set(['$dynamicRef', '$recursiveRef', 'dependencies', 'disallow', 'divisibleBy', 'extends'])
/** To JSON Schema a format is a remark: one that no validator of ours knows is left out. */
const KNOWN_FORMATS: ReadonlySet<string> = new Set(SCHEMA_FORMATS)

/** The schema of a stranger's tool in the dialect of a manifest. What it means stays as it is; what cannot be used is judged elsewhere. */
export function toolSchema(written: Json | undefined): JsonObject {
  return isJsonObject(written) ? { ...plainSchema(written), type: 'object' } : { type: 'object', properties: {} }
}

export function plainSchema(schema: JsonObject): JsonObject {
  const said = Object.entries(withPrefixItems(schema)).filter(([keyword, value]) => !isSilent(keyword, value))
  return withSubschemas(Object.fromEntries(said), plainSchema)
}

/** The same schema, each of those directly below it changed. Values that only look like schemas, such as examples, are let be. */
export function withSubschemas(schema: JsonObject, change: (below: JsonObject) => Json): JsonObject {
  const below = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(below)
    return isJsonObject(value) ? change(value) : value
  }
  const eachBelow = (map: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, below(value)]))
  return Object.fromEntries(Object.entries(schema).map(([keyword, value]) => {
    const form = schemaKeywordForm(keyword)
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

/** To JSON Schema a keyword that it does not know is a remark, and servers make many. */
const isSilent = (keyword: string, value: Json): boolean =>
  (schemaKeywordForm(keyword) === undefined && !TELLING.has(keyword))
  || (keyword === 'format' && typeof value === 'string' && !KNOWN_FORMATS.has(value))
