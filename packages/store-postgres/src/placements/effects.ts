import type { BegunEffect } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json } from '@bulkhead/kit/json'

/** A note that cannot be read counts, without words. */
export function effectIn(text: unknown): BegunEffect {
  const parsed = parseJson(String(text))
  const { what, at, attempt, step } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {} as Record<string, Json>
  return {
    what: typeof what === 'string' ? what : 'something', at: typeof at === 'number' ? at : 0,
    attempt: typeof attempt === 'number' ? attempt : 1, ...(typeof step === 'string' && { step }),
  }
}
