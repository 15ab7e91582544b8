/** The two versions of JSON Schema that a schema may be written in. 2020-12 where it names none. */
export type Dialect = '2020-12' | 'draft-07'

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'], ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07'],
])

/** undefined for a `$schema` that names another dialect. */
export const dialectOf = (named: string): Dialect | undefined => DIALECTS.get(named.replace(/#$/, ''))

/** What stands below a keyword: a schema, a list or a map of schemas, or a plain value. */
export type KeywordForm = 'subschema' | 'list' | 'map' | 'plain'

type Table = Readonly<Record<KeywordForm, readonly string[]>>

/** In both. */
const BOTH: Table = {
  subschema: ['additionalProperties', 'contains', 'else', 'if', 'items', 'not', 'propertyNames', 'then'],
  list: ['allOf', 'anyOf', 'oneOf'],
  // Draft-07 does not have $defs and 2020-12 does not have definitions, but each is used in the other, and neither says anything.
  map: ['$defs', 'definitions', 'patternProperties', 'properties'],
  plain: [
    '$comment', '$id', '$ref', '$schema', 'const', 'contentEncoding', 'contentMediaType', 'default', 'description', 'enum', 'examples',
    'exclusiveMaximum', 'exclusiveMinimum', 'format', 'maxItems', 'maxLength', 'maxProperties', 'maximum', 'minItems', 'minLength',
    'minProperties', 'minimum', 'multipleOf', 'pattern', 'readOnly', 'required', 'title', 'type', 'uniqueItems', 'writeOnly',
  ],
}

const ONLY: Readonly<Record<Dialect, Table>> = {
  '2020-12': {
    subschema: ['contentSchema', 'unevaluatedItems', 'unevaluatedProperties'],
    list: ['prefixItems'],
    map: ['dependentSchemas'],
    plain: ['$anchor', '$dynamicAnchor', '$dynamicRef', '$vocabulary', 'dependentRequired', 'deprecated', 'maxContains', 'minContains'],
  },
  'draft-07': { subschema: ['additionalItems'], list: [], map: ['dependencies'], plain: [] },
}

const formsOf = (tables: readonly Table[]): ReadonlyMap<string, KeywordForm> => new Map(tables.flatMap((table) =>
  Object.entries(table).flatMap(([form, keywords]) => keywords.map((keyword) => [keyword, form as KeywordForm] as const))))

const FORMS: Readonly<Record<Dialect, ReadonlyMap<string, KeywordForm>>> = {
  '2020-12': formsOf([BOTH, ONLY['2020-12']]), 'draft-07': formsOf([BOTH, ONLY['draft-07']]),
}

/** undefined for a keyword that the dialect does not have. Such a keyword says nothing. */
export const schemaKeywordForm = (keyword: string, dialect: Dialect = '2020-12'): KeywordForm | undefined => FORMS[dialect].get(keyword)

export const schemaKeywords = (dialect: Dialect): Iterable<string> => FORMS[dialect].keys()

const IN_PLACE: ReadonlySet<string> = new Set([
  'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependencies',
])

/** Whether the schemas below a keyword apply to the same value as the schema that has it. */
export const appliesInPlace = (keyword: string): boolean => IN_PLACE.has(keyword)

/** About members that no other keyword looked at. Ajv judges them wrongly: `Evaluation` does it. */
export const UNEVALUATED = ['unevaluatedProperties', 'unevaluatedItems'] as const
