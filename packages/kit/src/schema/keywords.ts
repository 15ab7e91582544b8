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
/** What the schemas in a keyword apply to: the same value, its members, or what a reference says. */
export type KeywordTarget = 'value' | 'members' | 'references'

/** A type of values; `number` includes `integer`. */
type KeywordType = 'array' | 'number' | 'object' | 'string'

/** Why a value is invalid, or undefined. */
type ValueRule = (value: Json) => string | undefined

interface Keyword extends Omit<RowDetails, 'in' | 'rule'> {
  readonly form: KeywordForm
  readonly vocabulary: string
  readonly rule: ValueRule | undefined
}

export const TYPES: readonly string[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']
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

const schemas: ValueRule = (value) =>
  Array.isArray(value) ? value.map(schema).find((fault) => fault !== undefined) : 'must be a list of schemas'
const someSchemas: ValueRule = (value) =>
  Array.isArray(value) && value.length === 0 ? 'must have one schema or more' : schemas(value)
const orList = (rule: ValueRule, other: ValueRule): ValueRule => (value) => (Array.isArray(value) ? other : rule)(value)

const RULES: Readonly<Record<KeywordForm, ValueRule | undefined>> =
  { subschema: schema, list: someSchemas, map: mapOf(schema), plain: undefined }

interface RowDetails {
  /** The type of values that the keyword is about. Absent: all. */
  readonly of?: KeywordType
  /** Absent: both. */
  readonly in?: Dialect
  readonly target?: KeywordTarget
  readonly rule?: ValueRule
}

/** Every keyword, with the vocabulary that defines it in 2020-12. */
const TABLE: readonly (readonly [keywords: string, form: KeywordForm, vocabulary: string, more?: RowDetails])[] = [
  ['$comment $id $ref $schema', 'plain', 'core', { rule: text }],
  ['$anchor $dynamicAnchor', 'plain', 'core', { in: '2020-12', rule: anchor }],
  ['$dynamicRef', 'plain', 'core', { in: '2020-12', rule: text }],
  ['$vocabulary', 'plain', 'core', { in: '2020-12', rule: mapOf(flag) }],
  // Each belongs to one dialect, but is used in both.
  ['$defs definitions', 'map', 'core', { target: 'references' }],

  ['allOf anyOf oneOf', 'list', 'applicator', { target: 'value' }],
  ['else if not then', 'subschema', 'applicator', { target: 'value' }],
  ['dependentSchemas', 'map', 'applicator', { of: 'object', in: '2020-12', target: 'value' }],
  ['dependencies', 'map', 'applicator', {
    of: 'object', in: 'draft-07', target: 'value', rule: mapOf(orList(schema, names)),
  }],
  ['patternProperties properties', 'map', 'applicator', { of: 'object' }],
  ['additionalProperties propertyNames', 'subschema', 'applicator', { of: 'object' }],
  ['contains', 'subschema', 'applicator', { of: 'array' }],
  ['items', 'subschema', 'applicator', { of: 'array', in: '2020-12' }],
  ['items', 'subschema', 'applicator', { of: 'array', in: 'draft-07', rule: orList(schema, schemas) }],
  ['additionalItems', 'subschema', 'applicator', { of: 'array', in: 'draft-07' }],
  ['prefixItems', 'list', 'applicator', { of: 'array', in: '2020-12' }],
  ['unevaluatedItems', 'subschema', 'unevaluated', { of: 'array', in: '2020-12' }],
  ['unevaluatedProperties', 'subschema', 'unevaluated', { of: 'object', in: '2020-12' }],

  ['const', 'plain', 'validation'],
  ['enum', 'plain', 'validation', { rule: list }],
  ['type', 'plain', 'validation', { rule: type }],
  ['required', 'plain', 'validation', { of: 'object', rule: names }],
  ['dependentRequired', 'plain', 'validation', { of: 'object', in: '2020-12', rule: mapOf(names) }],
  ['minProperties maxProperties', 'plain', 'validation', { of: 'object', rule: count }],
  ['minItems maxItems', 'plain', 'validation', { of: 'array', rule: count }],
  ['minContains maxContains', 'plain', 'validation', { of: 'array', in: '2020-12', rule: count }],
  ['uniqueItems', 'plain', 'validation', { of: 'array', rule: flag }],
  ['minLength maxLength', 'plain', 'validation', { of: 'string', rule: count }],
  ['pattern', 'plain', 'validation', { of: 'string', rule: text }],
  ['minimum maximum exclusiveMinimum exclusiveMaximum', 'plain', 'validation', { of: 'number', rule: number }],
  ['multipleOf', 'plain', 'validation', { of: 'number', rule: factor }],

  ['format', 'plain', 'format-annotation', { of: 'string', rule: text }],
  ['contentEncoding contentMediaType', 'plain', 'content', { of: 'string', rule: text }],
  ['contentSchema', 'subschema', 'content', { of: 'string', in: '2020-12' }],
  ['default', 'plain', 'meta-data'],
  ['description title', 'plain', 'meta-data', { rule: text }],
  ['examples', 'plain', 'meta-data', { rule: list }],
  ['readOnly writeOnly', 'plain', 'meta-data', { rule: flag }],
  ['deprecated', 'plain', 'meta-data', { in: '2020-12', rule: flag }],
]

const keywordsIn = (dialect: Dialect): ReadonlyMap<string, Keyword> =>
  new Map(TABLE.flatMap(([keywords, form, vocabulary, { in: only = dialect, ...more } = {}]): [string, Keyword][] =>
    only === dialect ? keywords.split(' ').map((name) => [name, { form, vocabulary, rule: RULES[form], ...more }]) : []))

const KEYWORDS: Readonly<Record<Dialect, ReadonlyMap<string, Keyword>>> =
  { '2020-12': keywordsIn('2020-12'), 'draft-07': keywordsIn('draft-07') }

const keywordOf = (keyword: string, dialect: Dialect | 'any'): Keyword | undefined => dialect === 'any'
  ? KEYWORDS['2020-12'].get(keyword) ?? KEYWORDS['draft-07'].get(keyword) : KEYWORDS[dialect].get(keyword)

/** undefined for a keyword that the dialect does not define. */
export const schemaKeywordForm = (keyword: string, dialect: Dialect | 'any' = '2020-12'): KeywordForm | undefined =>
  keywordOf(keyword, dialect)?.form

export const schemaKeywords = (dialect: Dialect): Iterable<string> => KEYWORDS[dialect].keys()

export const keywordTarget = (keyword: string): KeywordTarget => keywordOf(keyword, 'any')?.target ?? 'members'

/** The type of values that a keyword of 2020-12 is about. undefined: all. */
export const keywordType = (keyword: string): KeywordType | undefined => keywordOf(keyword, '2020-12')?.of

const CONSTRAINING: ReadonlySet<unknown> = new Set(['applicator', 'validation', 'unevaluated'])

/** Whether a keyword of 2020-12 can make a value invalid. */
export const constrains = (keyword: string): boolean => CONSTRAINING.has(keywordOf(keyword, '2020-12')?.vocabulary)

/** Whether a keyword only describes. */
export const isAnnotation = (keyword: string): boolean =>
  keyword === '$comment' || keywordOf(keyword, 'any')?.vocabulary === 'meta-data'

/** Keywords about members that no other keyword evaluated. Ajv gets them wrong; see `Evaluation`. */
export const UNEVALUATED = ['unevaluatedProperties', 'unevaluatedItems'] as const

const VOCABULARY = 'https://json-schema.org/draft/2020-12/vocab/'
const VOCABULARIES: ReadonlySet<string> = new Set(TABLE.map(([, , vocabulary]) => VOCABULARY + vocabulary))

/**
 * The keywords that have no effect in a dialect, by `$vocabulary` of its meta-schema. undefined if it requires a
 * vocabulary that is not known.
 */
export function ignoredBy(vocabularies: JsonObject): ReadonlySet<string> | undefined {
  const isUnknown = ([uri, isRequired]: [string, Json]): boolean => isRequired === true && !VOCABULARIES.has(uri)
  if (Object.entries(vocabularies).some(isUnknown)) return undefined
  const absent = [...KEYWORDS['2020-12']]
    .filter(([name, { vocabulary }]) => constrains(name) && vocabularies[VOCABULARY + vocabulary] === undefined)
  return new Set(absent.map(([name]) => name))
}

/** Why a value is invalid for its keyword by the meta-schema of the dialect, or undefined. */
export const keywordFault = (keyword: string, value: Json, dialect: Dialect): string | undefined =>
  keywordOf(keyword, dialect)?.rule?.(value)
