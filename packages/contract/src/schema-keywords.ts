/**
 * The keywords of JSON Schema 2020-12 that a schema of a manifest may use, by where subschemas stand below them. Left out are those
 * that reach beyond the schema or change what a reference means: $id below the root, $anchor, $dynamicRef, $vocabulary. Another one
 * is a fault of the schema, never silently ignored; whoever translates a foreign schema leaves out what says nothing.
 */
const KEYWORDS = {
  subschema: [
    'additionalProperties', 'contains', 'contentSchema', 'else', 'if', 'items', 'not', 'propertyNames', 'then', 'unevaluatedItems',
    'unevaluatedProperties',
  ],
  list: ['allOf', 'anyOf', 'oneOf', 'prefixItems'],
  map: ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'],
  plain: [
    '$comment', '$ref', 'const', 'contentEncoding', 'contentMediaType', 'default', 'dependentRequired', 'deprecated', 'description',
    'enum', 'examples', 'exclusiveMaximum', 'exclusiveMinimum', 'format', 'maxContains', 'maxItems', 'maxLength', 'maxProperties',
    'maximum', 'minContains', 'minItems', 'minLength', 'minProperties', 'minimum', 'multipleOf', 'pattern', 'readOnly', 'required',
    'title', 'type', 'uniqueItems', 'writeOnly',
  ],
} as const

export type KeywordForm = keyof typeof KEYWORDS

const forms: ReadonlyMap<string, KeywordForm> = new Map(Object.entries(KEYWORDS)
  .flatMap(([form, keywords]) => keywords.map((keyword) => [keyword, form as KeywordForm] as const)))

/** undefined for a keyword that no schema of a manifest has below its root. */
export const schemaKeywordForm = (keyword: string): KeywordForm | undefined => forms.get(keyword)
