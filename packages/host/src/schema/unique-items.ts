import { canonicalJson, type Json } from '@bulkhead/contract'
import type { KeywordDefinition } from 'ajv/dist/2020.js'

/** `uniqueItems` in time linear in the list. Ajv's own compares each with each: a list of 25,000 objects takes it half a minute. */
export const UNIQUE_ITEMS: KeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must NOT have duplicate items' },
  compile: (isWanted: boolean) => isWanted ? areUnique : () => true,
}

function areUnique(items: readonly Json[]): boolean {
  const seen = new Set<Json>()
  for (const item of items) {
    // A text is told from the list or object that is written like it.
    const one = typeof item === 'object' && item !== null ? canonicalJson(item) : typeof item === 'string' ? `"${item}` : item
    if (seen.has(one)) return false
    seen.add(one)
  }
  return true
}
