import { isUtf8 } from 'node:buffer'
import { JSON_LIMITS, parseJson, type Json } from '@bulkhead/kit/json'
import { findDuplicateKey } from '../json/duplicate-keys.ts'

export type StrictJson =
  | { readonly ok: true; readonly value: Json }
  /** The message goes on after the name of the file. */
  | { readonly ok: false; readonly duplicateKey: boolean; readonly path: string; readonly message: string }

/** JSON that every reader understands alike: UTF-8 without a mark, no key twice, within the limits. Contract: never throws. */
export function parseStrictJson(bytes: Uint8Array): StrictJson {
  if (!isUtf8(bytes)) return fault('', 'is not UTF-8')
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  if (text.startsWith('\u{feff}')) return fault('', 'begins with a byte order mark')
  const parsed = parseJson(text, JSON_LIMITS)
  if (!parsed.ok) {
    const { path, message } = parsed.fault
    return fault(path, path === '' ? message : `has a value that ${message}`)
  }
  const duplicate = findDuplicateKey(text)
  if (duplicate !== undefined) return { ok: false, duplicateKey: true, path: duplicate, message: 'names one key twice' }
  return { ok: true, value: parsed.value }
}

const fault = (path: string, message: string): StrictJson => ({ ok: false, duplicateKey: false, path, message })
