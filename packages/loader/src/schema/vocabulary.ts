/**
 * The keywords of JSON Schema 2020-12 that a manifest may use, by where subschemas stand below them. Left out are those
 * that reach beyond the schema or change what a reference means: $id below the root, $anchor, $dynamicRef, $vocabulary.
 */
const SUBSCHEMA = [
  'additionalProperties', 'contains', 'contentSchema', 'else', 'if', 'items', 'not', 'propertyNames', 'then', 'unevaluatedItems',
  'unevaluatedProperties',
] as const
const SUBSCHEMA_LIST = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const
const SUBSCHEMA_MAP = ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'] as const
const PLAIN = [
  '$comment', '$ref', 'const', 'contentEncoding', 'contentMediaType', 'default', 'dependentRequired', 'deprecated', 'description',
  'enum', 'examples', 'exclusiveMaximum', 'exclusiveMinimum', 'format', 'maxContains', 'maxItems', 'maxLength', 'maxProperties',
  'maximum', 'minContains', 'minItems', 'minLength', 'minProperties', 'minimum', 'multipleOf', 'pattern', 'readOnly', 'required',
  'title', 'type', 'uniqueItems', 'writeOnly',
] as const
/** Known at the root only. */
const ROOT = ['$id', '$schema'] as const

/** Keywords whose subschemas apply to the very value the schema applies to. */
const IN_PLACE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'] as const

export type KeywordForm = 'subschema' | 'list' | 'map' | 'plain'

const forms: ReadonlyMap<string, KeywordForm> = new Map([
  ...SUBSCHEMA.map((keyword) => [keyword, 'subschema'] as const),
  ...SUBSCHEMA_LIST.map((keyword) => [keyword, 'list'] as const),
  ...SUBSCHEMA_MAP.map((keyword) => [keyword, 'map'] as const),
  ...PLAIN.map((keyword) => [keyword, 'plain'] as const),
])
const rootOnly: ReadonlySet<string> = new Set(ROOT)
const inPlace: ReadonlySet<string> = new Set(IN_PLACE)

/** undefined for a keyword that may not stand here. */
export const keywordForm = (keyword: string, atRoot: boolean): KeywordForm | undefined =>
  forms.get(keyword) ?? (atRoot && rootOnly.has(keyword) ? 'plain' : undefined)
export const appliesInPlace = (keyword: string): boolean => inPlace.has(keyword)

export const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
