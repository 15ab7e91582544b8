import type { StoredRecord } from '@bulkhead/contract'
import type { BulkheadError } from '@bulkhead/contract/plain'
import { atPointer, JSON_LIMITS, canonicalJson, findJsonFault, parseJson, type Json } from '@bulkhead/kit/json'
import { storeFault } from './store-fault.ts'

/** A value as it is kept. Contract: what this returns, `readRecord` can read. */
export function writeRecord(value: Json): string {
  const fault = findJsonFault(value)
  if (fault) throw refused(`what it holds${atPointer(fault.path)} ${fault.message}`)
  return checkLength(canonicalJson(value))
}

/** The same text. Throws for one that could not be read again. */
export function checkLength(text: string): string {
  if (text.length > JSON_LIMITS.maxChars) throw refused(`as text it has more than ${JSON_LIMITS.maxChars} characters`)
  return text
}

/** `where` names the record in the message, should it not be what was written. */
export function readRecord(text: string, where: string, cure?: string): Json {
  const parsed = parseJson(text)
  if (parsed.ok) return parsed.value
  throw damagedRecord(where, parsed.fault.message, cure)
}

/** As one of several, of which each can be read or not. */
export function storedRecord(key: string, text: string): StoredRecord {
  const parsed = parseJson(text)
  return parsed.ok ? { key, value: parsed.value } : { key, value: null, damage: parsed.fault.message }
}

export function damagedRecord(where: string, what: string, cure = 'Remove it or write it anew'): BulkheadError {
  return storeFault(
    'damaged-record', `The stored ${where} is damaged: it ${what}. ${cure}; other records are not affected.`, { data: { record: where } },
  )
}

function refused(why: string) {
  return storeFault('refused-value', `The value cannot be stored: ${why}. Store plain JSON within the limits.`)
}
