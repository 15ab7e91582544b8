import { isJsonObject, type JsonObject } from '../json.ts'
import { schemaKeywordForm } from './keywords.ts'

/** The keywords of one draft-07 schema as 2020-12 calls them. Those that draft-07 does not have say nothing in it. */
export function inModernKeywords(schema: JsonObject): JsonObject {
  const known = Object.fromEntries(Object.entries(schema).filter(([keyword]) => schemaKeywordForm(keyword, 'draft-07') !== undefined))
  const { items, additionalItems, dependencies, ...rest } = known
  return { ...rest, ...itemKeywords(items, additionalItems), ...dependentKeywords(dependencies) }
}

function itemKeywords(items: JsonObject[string] | undefined, additionalItems: JsonObject[string] | undefined): JsonObject {
  if (!Array.isArray(items)) return items === undefined ? {} : { items }
  return { prefixItems: items, ...(additionalItems !== undefined && { items: additionalItems }) }
}

/** Names and schemas stood under one keyword. */
export function dependentKeywords(dependencies: JsonObject[string] | undefined): JsonObject {
  if (!isJsonObject(dependencies)) return {}
  const entries = Object.entries(dependencies)
  const lists = entries.filter(([, needs]) => Array.isArray(needs))
  const schemas = entries.filter(([, needs]) => !Array.isArray(needs))
  return {
    ...(lists.length > 0 && { dependentRequired: Object.fromEntries(lists) }),
    ...(schemas.length > 0 && { dependentSchemas: Object.fromEntries(schemas) }),
  }
}
