import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** How much of each is done in a second, at least. */
const CHECKS = 500_000_000
const PATTERN_STEPS = 25_000_000
/** So long may a check hold up everybody else. */
const QUICK_SECONDS = 0.1
/** What one comparison of whole lists or objects is worth, for each character of theirs. */
const COMPARISON = 32
/** Schemas that apply to one value through references. The loader allows no more. */
const MOST_IN_PLACE = 2_000

/**
 * How many characters a value may have for a schema to be held against it in no time, at the worst that such a schema can do:
 * everything in it applies to each character, and references double it. `patternSize` is that of its patterns together.
 */
export function quickChars(schema: JsonObject, text: string, patternSize: number): number {
  const references = text.split(/"\$(?:ref|dynamicRef)"/).length - 1
  const times = Math.min(MOST_IN_PLACE, 2 ** (references / 2))
  const seconds = times * ((text.length / 8 + comparisons(schema)) / CHECKS + patternSize / PATTERN_STEPS)
  return Math.floor(QUICK_SECONDS / seconds)
}

/** Of values that are compared as wholes. */
function comparisons(schema: Json): number {
  if (Array.isArray(schema)) return schema.reduce<number>((sum, item) => sum + comparisons(item), 0)
  if (!isJsonObject(schema)) return 0
  return Object.entries(schema).reduce((sum, [keyword, value]) => sum + (
    keyword === 'enum' || keyword === 'const' ? wholes(value) * COMPARISON : comparisons(value)), 0)
}

const wholes = (value: Json): number => {
  const all = Array.isArray(value) ? value : [value]
  return all.some((one) => typeof one === 'object' && one !== null) ? canonicalJson(value).length : 0
}

/** Whether a value has so many characters at most, or about so. Stops as soon as it has more. */
export function isWithin(value: Json, chars: number): boolean {
  return remaining(value, chars) >= 0
}

function remaining(value: Json, left: number): number {
  if (left < 0) return left
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null) return left - 4
  let rest = left - 2
  for (const [key, member] of Object.entries(value)) {
    if (rest < 0) return rest
    rest = remaining(member, rest - (Array.isArray(value) ? 1 : key.length))
  }
  return rest
}
