import type { StoreCollection } from '@bulkhead/contract'
import { STORE_COLLECTIONS } from '@bulkhead/contract/plain'
import { storeFault } from './store-fault.ts'

/** Room for two of the longest paths and what is said about them. */
const MAX_KEY_CHARS = 16_384
const collections: ReadonlySet<string> = new Set(STORE_COLLECTIONS)

/** Throws for what no store keeps. A key that is not well formed would become another key on its way through UTF-8. */
export function checkAddress(collection: StoreCollection, key: string): void {
  if (!collections.has(collection)) throw refused(`there is no collection "${String(collection)}"`)
  if (typeof key !== 'string') throw refused('a key is a text')
  if (key.length > MAX_KEY_CHARS) throw refused(`a key has at most ${MAX_KEY_CHARS} characters`)
  if (!key.isWellFormed()) throw refused('the key contains half of a surrogate pair')
}

/** The order in which `list` gives records: by UTF-16 unit, as JavaScript compares. SQLite compares by UTF-8 byte. */
export function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

export const nameOf = (collection: StoreCollection, key: string): string => `${collection} "${key}"`

/** A stretch of the audit, whatever numbers were asked for. */
export function auditPage(from: number, limit: number): { readonly from: number; readonly limit: number } {
  return {
    from: from >= 1 ? Math.min(Math.ceil(from), Number.MAX_SAFE_INTEGER) : 1,
    limit: limit >= 0 ? Math.min(Math.floor(limit), Number.MAX_SAFE_INTEGER) : 0,
  }
}

const refused = (why: string) => storeFault('refused-value', `The store cannot keep or find this: ${why}.`)
