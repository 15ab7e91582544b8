import { isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'

/** Where two values differ first. A member that is missing is undefined. */
export interface ValueDifference {
  /** JSON Pointer. */
  readonly path: string
  readonly recorded: Json | undefined
  readonly now: Json | undefined
}

/** The first difference of two values, or undefined. The order of members does not count. */
export function firstDifference(recorded: Json | undefined, now: Json | undefined, path = ''): ValueDifference | undefined {
  if (Object.is(recorded, now)) return undefined
  const both = membersOf(recorded, now)
  if (both === undefined) return { path, recorded, now }
  for (const [key, before, after] of both) {
    const found = firstDifference(before, after, path + pointerStep(key))
    if (found) return found
  }
  return undefined
}

type Pair = readonly [key: string | number, recorded: Json | undefined, now: Json | undefined]

/** undefined unless both are lists, or both are objects. */
function membersOf(recorded: Json | undefined, now: Json | undefined): readonly Pair[] | undefined {
  if (Array.isArray(recorded) && Array.isArray(now)) {
    const [before, after] = [recorded as readonly Json[], now as readonly Json[]]
    return Array.from({ length: Math.max(before.length, after.length) }, (_, index): Pair => [index, before[index], after[index]])
  }
  if (recorded === undefined || now === undefined || !isJsonObject(recorded) || !isJsonObject(now)) return undefined
  const keys = new Set([...Object.keys(recorded), ...Object.keys(now)])
  return [...keys].toSorted().map((key): Pair => [key, own(recorded, key), own(now, key)])
}

const own = (value: Readonly<Record<string, Json>>, key: string): Json | undefined =>
  Object.hasOwn(value, key) ? value[key] : undefined
