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

/** Whether the schemas below a keyword apply only where a reference leads to them. */
export const isDefinitions = (keyword: string): boolean => keyword === '$defs' || keyword === 'definitions'

/** The schemas that a keyword contains. */
export function schemasIn(keyword: string, value: Json, dialect: Dialect): readonly Json[] {
  const form = schemaKeywordForm(keyword, dialect)
  if (form === undefined || form === 'plain') return []
  if (form === 'map') return isJsonObject(value) ? Object.values(value) : []
  return Array.isArray(value) ? value as readonly Json[] : form === 'subschema' ? [value] : []
}

const IN_PLACE: ReadonlySet<string> = new Set([
  'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependencies',
])

/** Whether the schemas below a keyword apply to the same value as the schema that has it. */
export const appliesInPlace = (keyword: string): boolean => IN_PLACE.has(keyword)

/** Keywords about members that no other keyword evaluated. Ajv gets them wrong; see `Evaluation`. */
export const UNEVALUATED = ['unevaluatedProperties', 'unevaluatedItems'] as const

const VOCABULARY = 'https://json-schema.org/draft/2020-12/vocab/'
/** Keywords of the vocabularies of 2020-12 that constrain, by their names. `core` cannot be left out. */
const VOCABULARIES: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['core', []], ['meta-data', []], ['format-annotation', []], ['content', []], ['unevaluated', UNEVALUATED],
  ['applicator', [
    'additionalProperties', 'allOf', 'anyOf', 'contains', 'dependentSchemas', 'else', 'if', 'items', 'not', 'oneOf',
    'patternProperties', 'prefixItems', 'properties', 'propertyNames', 'then',
  ]],
  ['validation', [
    'const', 'dependentRequired', 'enum', 'exclusiveMaximum', 'exclusiveMinimum', 'maxContains', 'maxItems',
    'maxLength', 'maxProperties', 'maximum', 'minContains', 'minItems', 'minLength', 'minProperties', 'minimum',
    'multipleOf', 'pattern', 'required', 'type', 'uniqueItems',
  ]],
])

/**
 * The keywords that have no effect in a dialect, by `$vocabulary` of its meta-schema. undefined if it requires a
 * vocabulary that is not known.
 */
export function ignoredBy(vocabularies: JsonObject): ReadonlySet<string> | undefined {
  const isUnknown = ([uri, isRequired]: [string, Json]): boolean =>
    isRequired === true && !(uri.startsWith(VOCABULARY) && VOCABULARIES.has(uri.slice(VOCABULARY.length)))
  if (Object.entries(vocabularies).some(isUnknown)) return undefined
  const absent = [...VOCABULARIES].filter(([name]) => vocabularies[VOCABULARY + name] === undefined)
  return new Set(absent.flatMap(([, keywords]) => keywords))
}

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

/** Why a value is invalid, or undefined. */
type ValueRule = (value: Json) => string | undefined

const TYPES: readonly string[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']
const ANCHOR = /^[A-Za-z_][\w.-]*$/

const text: ValueRule = (value) => typeof value === 'string' ? undefined : 'must be string'
const flag: ValueRule = (value) => typeof value === 'boolean' ? undefined : 'must be boolean'
const list: ValueRule = (value) => Array.isArray(value) ? undefined : 'must be array'
const number: ValueRule = (value) => typeof value === 'number' ? undefined : 'must be number'
const count: ValueRule = (value) => typeof value === 'number' && Number.isInteger(value) && value >= 0
  ? undefined : 'must be an integer that is not negative'
const factor: ValueRule = (value) => typeof value === 'number' && value > 0 ? undefined : 'must be a number above 0'
const anchor: ValueRule = (value) => typeof value === 'string' && ANCHOR.test(value)
  ? undefined : 'must be a name of letters, digits, ".", "-" and "_"'
const schema: ValueRule = (value) =>
  typeof value === 'boolean' || isJsonObject(value) ? undefined : 'must be object,boolean'
const oneType = (value: Json): boolean => typeof value === 'string' && TYPES.includes(value)
const type: ValueRule = (value) =>
  oneType(value) || (Array.isArray(value) && value.length > 0 && value.every(oneType)) ? undefined
    : `must be one of ${TYPES.map((name) => JSON.stringify(name)).join(', ')}, or a list of these`

const names: ValueRule = (value) => {
  if (!Array.isArray(value)) return 'must be array'
  if (!value.every((name) => typeof name === 'string')) return 'must be a list of strings'
  return new Set(value).size === value.length ? undefined : 'must NOT have duplicate items'
}

const mapOf = (rule: ValueRule): ValueRule => (value) => {
  if (!isJsonObject(value)) return 'must be object'
  return Object.values(value).map(rule).find((fault) => fault !== undefined)
}

const RULES: ReadonlyMap<string, ValueRule> = new Map<string, ValueRule>([
  ...[
    '$id', '$schema', '$ref', '$dynamicRef', '$comment', 'title', 'description', 'format', 'pattern', 'contentEncoding',
    'contentMediaType',
  ].map((keyword) => [keyword, text] as const),
  ...['$anchor', '$dynamicAnchor'].map((keyword) => [keyword, anchor] as const),
  ...['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'].map((keyword) => [keyword, flag] as const),
  ...['enum', 'examples'].map((keyword) => [keyword, list] as const),
  ...['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum'].map((keyword) => [keyword, number] as const),
  ...['maxContains', 'minContains', 'maxItems', 'minItems', 'maxLength', 'minLength', 'maxProperties', 'minProperties']
    .map((keyword) => [keyword, count] as const),
  ['multipleOf', factor], ['type', type], ['required', names], ['dependentRequired', mapOf(names)],
  ['$vocabulary', mapOf(flag)],
  ['dependencies', mapOf((value) => Array.isArray(value) ? names(value) : schema(value))],
])

const manySchemas: ValueRule = (value) =>
  Array.isArray(value) ? value.map(schema).find((fault) => fault !== undefined) : 'must be a list of schemas'
const listOfSchemas: ValueRule = (value) =>
  Array.isArray(value) && value.length === 0 ? 'must have one schema or more' : manySchemas(value)

function ruleOf(keyword: string, value: Json, dialect: Dialect): ValueRule | undefined {
  const rule = RULES.get(keyword)
  if (rule !== undefined) return rule
  switch (schemaKeywordForm(keyword, dialect)) {
    case 'subschema':
      return dialect === 'draft-07' && keyword === 'items' && Array.isArray(value) ? manySchemas : schema
    case 'list':
      return listOfSchemas
    case 'map':
      return mapOf(schema)
    default:
      return undefined
  }
}

/** Why a value is invalid for its keyword by the meta-schema of the dialect, or undefined. */
export const keywordFault = (keyword: string, value: Json, dialect: Dialect): string | undefined =>
  schemaKeywordForm(keyword, dialect) === undefined ? undefined : ruleOf(keyword, value, dialect)?.(value)
