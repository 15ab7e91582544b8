import { commandSafetyPatternSchema } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** It finds every command. */
const ANY: JsonObject = {
  id: 'unreadable', label: 'A pattern that cannot be read', description: 'What it was to find is not known.', pattern: '^', category: 'configuration',
  severity: 'critical', platform: 'all',
}

/** Whatever of a pattern of dangerous commands can be read; the rest is the strictest it can have been. A key that nobody knows may have widened it. */
export function strictestPattern(written: Json): JsonObject {
  const known = isJsonObject(written) ? written : {}
  const { shape } = commandSafetyPatternSchema
  const isForeign = Object.keys(known).some((name) => !Object.hasOwn(shape, name))
  const kept = Object.entries(shape).filter(([name, schema]) => Object.hasOwn(known, name) && schema.safeParse(known[name]).success)
  return { ...ANY, ...Object.fromEntries(kept.map(([name]) => [name, known[name]!])), ...(isForeign && { pattern: ANY['pattern']! }) }
}

/** Of a list that cannot be read. */
export const ANY_PATTERN: readonly Json[] = [ANY]
