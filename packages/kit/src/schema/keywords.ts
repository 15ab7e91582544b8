import { isJsonObject, type Json, type JsonObject } from '../json.ts'

/** The supported versions of JSON Schema. The default is 2020-12. */
export type Dialect = '2020-12' | 'draft-07'

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'], ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07'],
])

/** undefined for a `$schema` of another dialect. */
export const dialectOf = (named: string): Dialect | undefined => DIALECTS.get(named.replace(/#$/, ''))

/** The value of a keyword: a schema, a list or a map of schemas, or a plain value. */
export type KeywordForm = 'subschema' | 'list' | 'map' | 'plain'

type Table = Readonly<Record<KeywordForm, readonly string[]>>

/** In both dialects. */
const BOTH: Table = {
  subschema: ['additionalProperties', 'contains', 'else', 'if', 'items', 'not', 'propertyNames', 'then'],
  list: ['allOf', 'anyOf', 'oneOf'],
  // $defs and definitions belong to one dialect each, but are used in both. They do not constrain.
  map: ['$defs', 'definitions', 'patternProperties', 'properties'],
  plain: [
    '$comment', '$id', '$ref', '$schema', 'const', 'contentEncoding', 'contentMediaType', 'default', 'description',
    'enum', 'examples', 'exclusiveMaximum', 'exclusiveMinimum', 'format', 'maxItems', 'maxLength', 'maxProperties',
    'maximum', 'minItems', 'minLength', 'minProperties', 'minimum', 'multipleOf', 'pattern', 'readOnly', 'required',
    'title', 'type', 'uniqueItems', 'writeOnly',
  ],
}

const ONLY: Readonly<Record<Dialect, Table>> = {
  '2020-12': {
    subschema: ['contentSchema', 'unevaluatedItems', 'unevaluatedProperties'],
    list: ['prefixItems'],
    map: ['dependentSchemas'],
    plain: [
      '$anchor', '$dynamicAnchor', '$dynamicRef', '$vocabulary', 'dependentRequired', 'deprecated', 'maxContains',
      'minContains',
    ],
  },
  'draft-07': { subschema: ['additionalItems'], list: [], map: ['dependencies'], plain: [] },
}

const formsOf = (tables: readonly Table[]): ReadonlyMap<string, KeywordForm> => new Map(tables.flatMap((table) =>
  Object.entries(table).flatMap(([form, keywords]) =>
    keywords.map((keyword) => [keyword, form as KeywordForm] as const))))

const FORMS: Readonly<Record<Dialect, ReadonlyMap<string, KeywordForm>>> = {
  '2020-12': formsOf([BOTH, ONLY['2020-12']]), 'draft-07': formsOf([BOTH, ONLY['draft-07']]),
}

/** undefined for a keyword that the dialect does not define. */
export const schemaKeywordForm = (keyword: string, dialect: Dialect = '2020-12'): KeywordForm | undefined =>
  FORMS[dialect].get(keyword)

export const schemaKeywords = (dialect: Dialect): Iterable<string> => FORMS[dialect].keys()

const IN_PLACE: ReadonlySet<string> = new Set([
  'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependencies',
])

/** Whether the schemas below a keyword apply to the same value as the schema that has it. */
export const appliesInPlace = (keyword: string): boolean => IN_PLACE.has(keyword)

/** Keywords about members that no other keyword evaluated. Ajv gets them wrong; see `Evaluation`. */
export const UNEVALUATED = ['unevaluatedProperties', 'unevaluatedItems'] as const

/** Translates the keywords of one draft-07 schema to 2020-12. Drops keywords that draft-07 does not define. */
export function inModernKeywords(schema: JsonObject): JsonObject {
  const isKnown = (keyword: string): boolean => schemaKeywordForm(keyword, 'draft-07') !== undefined
  const known = Object.fromEntries(Object.entries(schema).filter(([keyword]) => isKnown(keyword)))
  const { items, additionalItems, dependencies, ...rest } = known
  return { ...rest, ...itemKeywords(items, additionalItems), ...dependentKeywords(dependencies) }
}

function itemKeywords(items: Json | undefined, additionalItems: Json | undefined): JsonObject {
  if (!Array.isArray(items)) return items === undefined ? {} : { items }
  return { prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
}

/** Draft-07 has names and schemas under one keyword. */
function dependentKeywords(dependencies: Json | undefined): JsonObject {
  if (!isJsonObject(dependencies)) return {}
  const entries = Object.entries(dependencies)
  const lists = entries.filter(([, needs]) => Array.isArray(needs))
  const schemas = entries.filter(([, needs]) => !Array.isArray(needs))
  return {
    ...(lists.length > 0 && { dependentRequired: Object.fromEntries(lists) }),
    ...(schemas.length > 0 && { dependentSchemas: Object.fromEntries(schemas) }),
  }
}
