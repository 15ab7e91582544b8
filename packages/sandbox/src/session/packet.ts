import type { Json, JsonLimits } from '@bulkhead/kit/json'
import { parseJson } from '@bulkhead/kit/json'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const COLON = 0x3a
const ZERO = 0x30
const NINE = 0x39
const UPPER_E = 0x45
const LOWER_E = 0x65

/** After so many characters without a mark, search for the next one natively. */
const LONG_GAP = 32

/** A number without an exponent and with fewer digits is never infinite. */
const INFINITE_DIGITS = 309

/**
 * Without these, no key can be __proto__ and no string can have a lone surrogate, however it is escaped. Two searches,
 * because one regular expression for both takes ten times as long.
 */
const needsFullCheck = (text: string): boolean => text.includes('__proto__') || text.includes('\\u')

export type ParsedPacket = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly why: string }

/**
 * Parses untrusted JSON under limits. It counts depth and values before parsing: a few megabytes of brackets would
 * become hundreds of megabytes of arrays. Contract: never throws.
 */
export function parsePacket(text: string, limits: JsonLimits): ParsedPacket {
  if (text.length > limits.maxChars) return { ok: false, why: `is longer than ${limits.maxChars} characters` }
  const form = formOf(text, limits)
  if (form === 'too large') return { ok: false, why: 'has too many values or too much nesting' }
  if (form === 'extreme numbers' || needsFullCheck(text) || !text.isWellFormed()) {
    const parsed = parseJson(text, limits)
    return parsed.ok ? parsed : { ok: false, why: `has a value that ${parsed.fault.message}` }
  }
  try {
    return { ok: true, value: JSON.parse(text) as Json }
  } catch {
    return { ok: false, why: 'is not JSON' }
  }
}

/** Also detects numbers that JSON.parse could turn into Infinity, which is not JSON. */
function formOf(text: string, { maxDepth, maxNodes }: JsonLimits): 'plain' | 'too large' | 'extreme numbers' {
  let nodes = 1
  let depth = 0
  /** Position of the last mark. Between two marks is at most one number or literal. */
  let mark = 0
  let extreme = false
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        if (at < 0) return 'plain'
        mark = at
        continue
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > maxDepth) return 'too large'
        if (!closes(text.charCodeAt(at + 1)) && ++nodes > maxNodes) return 'too large'
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--
        break
      case COMMA:
        if (++nodes > maxNodes) return 'too large'
        break
      case COLON:
        break
      case UPPER_E:
      case LOWER_E:
        extreme ||= isDigit(text.charCodeAt(at - 1))
        continue
      default:
        if (at - mark > LONG_GAP) at = nextMark(text, at) - 1
        continue
    }
    extreme ||= at - mark > INFINITE_DIGITS
    mark = at
  }
  return extreme || text.length - mark > INFINITE_DIGITS ? 'extreme numbers' : 'plain'
}

const isDigit = (char: number): boolean => char >= ZERO && char <= NINE

const closes = (char: number): boolean => char === CLOSE_ARRAY || char === CLOSE_OBJECT

/** The index of the closing quote, or -1. Native search, because most of a large packet is strings. */
function endOfString(text: string, open: number): number {
  const end = text.indexOf('"', open + 1)
  if (end < 0 || text.charCodeAt(end - 1) !== BACKSLASH) return end
  // Escapes are read from the start: from the end, many quotes would make it quadratic.
  for (let at = open + 1; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === BACKSLASH) at++
    else if (char === QUOTE) return at
  }
  return -1
}

/** The position of the next mark or exponent, or the end. Native search. */
function nextMark(text: string, from: number): number {
  MARKS.lastIndex = from
  return MARKS.test(text) ? MARKS.lastIndex - 1 : text.length
}

const MARKS = /["[\]{},:eE]/g
