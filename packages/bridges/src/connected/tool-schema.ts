import { isJsonObject, SCHEMA_FORMATS, type Json, type JsonObject } from '@bulkhead/contract/plain'

/** What says nothing to a validator of 2020-12, or names another dialect: many servers write it, and it can be left out. */
const SILENT = /^(?:\$schema|\$id|\$anchor|\$vocabulary|nullable|example|discriminator|externalDocs|xml|x-.*)$/
/** To JSON Schema a format is a remark: one that no validator of ours knows is left out. */
const KNOWN_FORMATS: ReadonlySet<string> = new Set(SCHEMA_FORMATS)
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples', 'required', 'type'])

/** The schema of a stranger's tool in the dialect of a manifest. What it means stays as it is; what cannot be used is judged elsewhere. */
export function toolSchema(written: Json | undefined): JsonObject {
  return isJsonObject(written) ? { ...plainSchema(written), type: 'object' } : { type: 'object', properties: {} }
}

export function plainSchema(schema: JsonObject): JsonObject {
  const said = Object.entries(schema).filter(([keyword, value]) => !isSilent(keyword, value))
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
    if (DATA.has(keyword)) return [keyword, value]
    return [keyword, MAPS.has(keyword) && isJsonObject(value) ? eachBelow(value) : below(value)]
  }))
}

const isSilent = (keyword: string, value: Json): boolean =>
  SILENT.test(keyword) || (keyword === 'format' && typeof value === 'string' && !KNOWN_FORMATS.has(value))
