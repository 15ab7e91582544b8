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

/** Why a value is invalid, or undefined. */
type ValueRule = (value: Json) => string | undefined

interface Keyword {
  readonly form: KeywordForm
  readonly vocabulary: string
  readonly target: KeywordTarget
  readonly rule: ValueRule | undefined
}

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

const schemas: ValueRule = (value) =>
  Array.isArray(value) ? value.map(schema).find((fault) => fault !== undefined) : 'must be a list of schemas'
const someSchemas: ValueRule = (value) =>
  Array.isArray(value) && value.length === 0 ? 'must have one schema or more' : schemas(value)
const orList = (rule: ValueRule, other: ValueRule): ValueRule => (value) => (Array.isArray(value) ? other : rule)(value)

const RULES: Readonly<Record<KeywordForm, ValueRule | undefined>> =
  { subschema: schema, list: someSchemas, map: mapOf(schema), plain: undefined }

type Row = readonly [
  keywords: string, form: KeywordForm, vocabulary: string,
  more?: { readonly in?: Dialect; readonly target?: KeywordTarget; readonly rule?: ValueRule },
]

/** Every keyword, with the vocabulary that defines it in 2020-12. Without `in`, it is in both dialects. */
const TABLE: readonly Row[] = [
  ['$comment $id $ref $schema', 'plain', 'core', { rule: text }],
  ['$anchor $dynamicAnchor', 'plain', 'core', { in: '2020-12', rule: anchor }],
  ['$dynamicRef', 'plain', 'core', { in: '2020-12', rule: text }],
  ['$vocabulary', 'plain', 'core', { in: '2020-12', rule: mapOf(flag) }],
  // Each belongs to one dialect, but is used in both.
  ['$defs definitions', 'map', 'core', { target: 'references' }],

  ['allOf anyOf oneOf', 'list', 'applicator', { target: 'value' }],
  ['else if not then', 'subschema', 'applicator', { target: 'value' }],
  ['dependentSchemas', 'map', 'applicator', { in: '2020-12', target: 'value' }],
  ['dependencies', 'map', 'applicator', { in: 'draft-07', target: 'value', rule: mapOf(orList(schema, names)) }],
  ['patternProperties properties', 'map', 'applicator'],
  ['additionalProperties contains propertyNames', 'subschema', 'applicator'],
  ['items', 'subschema', 'applicator', { in: '2020-12' }],
  ['items', 'subschema', 'applicator', { in: 'draft-07', rule: orList(schema, schemas) }],
  ['additionalItems', 'subschema', 'applicator', { in: 'draft-07' }],
  ['prefixItems', 'list', 'applicator', { in: '2020-12' }],
  ['unevaluatedItems unevaluatedProperties', 'subschema', 'unevaluated', { in: '2020-12' }],

  ['const', 'plain', 'validation'],
  ['enum', 'plain', 'validation', { rule: list }],
  ['type', 'plain', 'validation', { rule: type }],
  ['required', 'plain', 'validation', { rule: names }],
  ['dependentRequired', 'plain', 'validation', { in: '2020-12', rule: mapOf(names) }],
  ['exclusiveMaximum exclusiveMinimum maximum minimum', 'plain', 'validation', { rule: number }],
  ['multipleOf', 'plain', 'validation', { rule: factor }],
  ['maxItems maxLength maxProperties minItems minLength minProperties', 'plain', 'validation', { rule: count }],
  ['maxContains minContains', 'plain', 'validation', { in: '2020-12', rule: count }],
  ['pattern', 'plain', 'validation', { rule: text }],
  ['uniqueItems', 'plain', 'validation', { rule: flag }],

  ['format', 'plain', 'format-annotation', { rule: text }],
  ['contentEncoding contentMediaType', 'plain', 'content', { rule: text }],
  ['contentSchema', 'subschema', 'content', { in: '2020-12' }],
  ['default', 'plain', 'meta-data'],
  ['description title', 'plain', 'meta-data', { rule: text }],
  ['examples', 'plain', 'meta-data', { rule: list }],
  ['readOnly writeOnly', 'plain', 'meta-data', { rule: flag }],
  ['deprecated', 'plain', 'meta-data', { in: '2020-12', rule: flag }],
]

const keywordsIn = (dialect: Dialect): ReadonlyMap<string, Keyword> =>
  new Map(TABLE.flatMap(([keywords, form, vocabulary, more = {}]): [string, Keyword][] => {
    const { target = 'members', rule = RULES[form] }: Pick<typeof more, 'target' | 'rule'> = more
    return (more.in ?? dialect) !== dialect ? []
      : keywords.split(' ').map((name) => [name, { form, vocabulary, target, rule }])
  }))

const KEYWORDS: Readonly<Record<Dialect, ReadonlyMap<string, Keyword>>> =
  { '2020-12': keywordsIn('2020-12'), 'draft-07': keywordsIn('draft-07') }

const keywordOf = (keyword: string, dialect: Dialect | 'any'): Keyword | undefined => dialect === 'any'
  ? KEYWORDS['2020-12'].get(keyword) ?? KEYWORDS['draft-07'].get(keyword) : KEYWORDS[dialect].get(keyword)

/** undefined for a keyword that the dialect does not define. */
export const schemaKeywordForm = (keyword: string, dialect: Dialect | 'any' = '2020-12'): KeywordForm | undefined =>
  keywordOf(keyword, dialect)?.form

export const schemaKeywords = (dialect: Dialect): Iterable<string> => KEYWORDS[dialect].keys()

export const keywordTarget = (keyword: string): KeywordTarget => keywordOf(keyword, 'any')?.target ?? 'members'

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
