import { BulkheadError, STORE_COLLECTIONS, type StoreCollection, type StoredRecord } from '@bulkhead/contract'
import {
  atPointer, canonicalJson, findJsonFault, JSON_LIMITS, parseJson, type Json, type JsonObject,
} from '@bulkhead/kit/json'

/** Why a store is unavailable, as `data.reason` of the error. Programs branch on this, people read the message. */
export type StoreFaultReason =
  | 'closed'
  | 'refused-value'
  | 'damaged-record'
  | 'location'
  | 'link'
  | 'foreign'
  | 'newer'
  | 'corrupt'
  | 'full'
  | 'busy'
  | 'disk'
  | 'unreachable'
  | 'denied'
  | 'timeout'
  | 'server'
  | 'seat-lost'

export interface StoreErrorDetails {
  readonly cause?: unknown
  readonly data?: JsonObject
}

export function storeError(reason: StoreFaultReason, message: string, details: StoreErrorDetails = {}): BulkheadError {
  const data = { reason, ...details.data }
  return new BulkheadError('StoreUnavailable', message, 'cause' in details ? { cause: details.cause, data } : { data })
}

export const seatLost = (host: string): BulkheadError => storeError(
  'seat-lost',
  `The host "${host}" lost its place in the store: it did not answer, and others took over. The call was not run. Call `
    + 'again.',
  { data: { host } },
)

export const callOver = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The call has ended, so it can begin nothing more. Await all work inside of it.')

export const storeClosed = (): BulkheadError => storeError('closed', 'The store is closed. Open it again to use it.')

/** Serializes a value. `readRecord` can read every result. */
export function writeRecord(value: Json): string {
  const fault = findJsonFault(value)
  if (fault) throw refused(`the value${atPointer(fault.path)} ${fault.message}`)
  return checkLength(canonicalJson(value))
}

/** Returns the text. Throws if it is too long to be read again. */
export function checkLength(text: string): string {
  if (text.length > JSON_LIMITS.maxChars) throw refused(`its JSON has more than ${JSON_LIMITS.maxChars} characters`)
  return text
}

/** `where` names the record in the error message. */
export function readRecord(text: string, where: string, cure?: string): Json {
  const parsed = parseJson(text)
  if (parsed.ok) return parsed.value
  throw damagedRecord(where, parsed.fault.message, cure)
}

/** For lists: one unreadable value does not affect the others. */
export function storedRecord(key: string, text: string): StoredRecord {
  const parsed = parseJson(text)
  return parsed.ok ? { key, value: parsed.value } : { key, value: null, damage: parsed.fault.message }
}

export function damagedRecord(where: string, what: string, cure = 'Remove it or write it again'): BulkheadError {
  const message = `The stored ${where} is damaged: it ${what}. ${cure}; other records are not affected.`
  return storeError('damaged-record', message, { data: { record: where } })
}

function refused(why: string) {
  return storeError('refused-value', `The value cannot be stored: ${why}. Store plain JSON within the limits.`)
}

/** Long enough for two paths of maximum length and some text. */
const MAX_KEY_CHARS = 16_384
const collections: ReadonlySet<string> = new Set(STORE_COLLECTIONS)

/** Throws for an invalid collection or key. Encoding a malformed key as UTF-8 would change it. */
export function checkAddress(collection: StoreCollection, key: string): void {
  if (!collections.has(collection)) throw invalidKey(`there is no collection "${String(collection)}"`)
  if (typeof key !== 'string') throw invalidKey('a key must be a string')
  if (key.length > MAX_KEY_CHARS) throw invalidKey(`a key may have at most ${MAX_KEY_CHARS} characters`)
  if (!key.isWellFormed()) throw invalidKey('the key contains half of a surrogate pair')
}

/** The order of `list`: by UTF-16 unit, as JavaScript compares. SQLite compares by UTF-8 byte. */
export function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

export const nameOf = (collection: StoreCollection, key: string): string => `${collection} "${key}"`

/** Clamps the arguments of `records` to valid numbers. */
export function auditPage(from: number, limit: number): { readonly from: number; readonly limit: number } {
  return {
    from: from >= 1 ? Math.min(Math.ceil(from), Number.MAX_SAFE_INTEGER) : 1,
    limit: limit >= 0 ? Math.min(Math.floor(limit), Number.MAX_SAFE_INTEGER) : 0,
  }
}

const invalidKey = (why: string) => storeError('refused-value', `The collection or the key is invalid: ${why}.`)
