import { schemaKeywordForm, type KeywordForm } from '@bulkhead/contract/plain'

/** Known at the root only. */
const ROOT = ['$id', '$schema'] as const

/** Keywords whose subschemas apply to the very value the schema applies to. */
const IN_PLACE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'] as const

const rootOnly: ReadonlySet<string> = new Set(ROOT)
const inPlace: ReadonlySet<string> = new Set(IN_PLACE)

/** undefined for a keyword that may not stand here. */
export const keywordForm = (keyword: string, atRoot: boolean): KeywordForm | undefined =>
  schemaKeywordForm(keyword) ?? (atRoot && rootOnly.has(keyword) ? 'plain' : undefined)
export const appliesInPlace = (keyword: string): boolean => inPlace.has(keyword)

export const DIALECT = 'https://json-schema.org/draft/2020-12/schema'
