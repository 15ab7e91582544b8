import { isJsonObject, pointerStep, type Json } from '../json.ts'
import { schemaKeywordForm, type Dialect } from './keywords.ts'
import type { SchemaNode, SchemaFault } from './schema-tree.ts'

/** Why a value is invalid for its keyword, or undefined. */
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

/** The invalid keyword values of a schema, by the meta-schema of its dialect. */
export function keywordFaults({ schema: at, path, resource: { dialect } }: SchemaNode): SchemaFault[] {
  return Object.entries(at).flatMap(([keyword, value]) => {
    if (schemaKeywordForm(keyword, dialect) === undefined) return []
    const message = ruleOf(keyword, value, dialect)?.(value)
    return message === undefined ? [] : [{ path: path + pointerStep(keyword), message }]
  })
}
