import { isUtf8 } from 'node:buffer'
import { JSON_LIMITS, parseJson, pointerStep, type Json } from '@bulkhead/kit/json'

export type StrictJson =
  | { readonly ok: true; readonly value: Json }
  /** The message continues a sentence that starts with the name of the file. */
  | { readonly ok: false; readonly duplicateKey: boolean; readonly path: string; readonly message: string }

/**
 * Parses JSON that all readers understand alike: UTF-8 without a BOM, no duplicate keys, within the limits. Contract:
 * never throws.
 */
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
  if (duplicate !== undefined) return { ok: false, duplicateKey: true, path: duplicate, message: 'has a duplicate key' }
  return { ok: true, value: parsed.value }
}

const fault = (path: string, message: string): StrictJson => ({ ok: false, duplicateKey: false, path, message })

/** An object or array that encloses the current position. */
interface Frame {
  /** Keys seen so far; undefined for an array. */
  readonly keys: Set<string> | undefined
  awaitsKey: boolean
  step: string | number
}

/**
 * JSON Pointer of the first duplicate key, or undefined. `JSON.parse` silently keeps the last one, so two readers could
 * disagree about a manifest. The text must be valid JSON.
 */
export function findDuplicateKey(text: string): string | undefined {
  const open: Frame[] = []
  for (let index = 0; index < text.length; index++) {
    const frame = open.at(-1)
    switch (text[index]) {
      case '{':
        open.push({ keys: new Set(), awaitsKey: true, step: '' })
        break
      case '[':
        open.push({ keys: undefined, awaitsKey: false, step: 0 })
        break
      case '}':
      case ']':
        open.pop()
        break
      case ',':
        if (frame?.keys) frame.awaitsKey = true
        else if (frame) frame.step = Number(frame.step) + 1
        break
      case '"': {
        const end = endOfString(text, index)
        if (frame?.keys && frame.awaitsKey) {
          // Parsed, because "a" and "\u0061" are the same key.
          frame.step = JSON.parse(text.slice(index, end)) as string
          if (frame.keys.has(frame.step)) return open.map(({ step }) => pointerStep(step)).join('')
          frame.keys.add(frame.step)
          frame.awaitsKey = false
        }
        index = end - 1
        break
      }
    }
  }
  return undefined
}

/** The index after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index + 1
}
