import type { JsonLimits } from '@bulkhead/contract'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Whether a JSON text has more values or deeper nesting than the limits allow, told without building any of them: a few
 * megabytes of brackets would become hundreds of megabytes of arrays first. Texts too short to hold that many are not
 * looked at. Contract: never throws; of a text that is not JSON it may say anything.
 */
export function outgrows(text: string, limits: Pick<JsonLimits, 'maxDepth' | 'maxNodes'>): boolean {
  // A value costs a character at least, and a comma or brackets.
  if (text.length < 2 * limits.maxNodes) return false
  let nodes = 1
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        if (at < 0) return false
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > limits.maxDepth) return true
        if (!closes(text.charCodeAt(at + 1)) && ++nodes > limits.maxNodes) return true
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--
        break
      case COMMA:
        if (++nodes > limits.maxNodes) return true
        break
    }
  }
  return false
}

const closes = (char: number): boolean => char === CLOSE_ARRAY || char === CLOSE_OBJECT

/** The index of the closing quote, or -1. Most of a large text is strings, and this steps over them at native speed. */
function endOfString(text: string, open: number): number {
  let end = text.indexOf('"', open + 1)
  while (end >= 0) {
    let escapes = end
    while (text.charCodeAt(escapes - 1) === BACKSLASH) escapes--
    if ((end - escapes) % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return -1
}
