import { pointerStep, type Json, type JsonObject } from '../json.ts'
import type { Evaluated } from './evaluated.ts'
import type { Resource } from './places.ts'

/** The first fault of a value. */
export interface ValueFault {
  /** JSON Pointer to the value. */
  readonly path: string
  readonly keyword: string
  /** What the schema wants there, as the end of a sentence. */
  readonly message: string
  /** The name of a property that is missing, or that may not be there. */
  readonly member?: string
}

/** The resources on the way to a schema, the innermost first. Kept only where a `$dynamicRef` depends on it. */
export interface Scope {
  readonly resource: Resource
  readonly outer: Scope | undefined
}

/** `evaluated` collects which members were looked at, where that matters. */
export type Check = (value: Json, scope: Scope | undefined, evaluated: Evaluated | undefined) => ValueFault | undefined

/** A pattern that is ready to run. */
export interface Pattern {
  test(text: string): boolean
}

/** What the keywords of a schema are compiled with. */
export interface Compiling {
  /** A subschema: an object of the reviewed schema, or a boolean. */
  check(schema: Json): Check
  /** undefined for a pattern that cannot run, and says nothing then. */
  pattern(source: string): Pattern | undefined
}

/** Keywords that belong together. undefined where the schema has none of them. Contract: the values of the keywords are reviewed. */
export type KeywordGroup = (schema: JsonObject, compiling: Compiling) => Check | undefined

export const fault = (keyword: string, message: string, member?: string): ValueFault =>
  ({ path: '', keyword, message, ...(member !== undefined && { member }) })

/** The fault of a member, told from the value around it. */
export const below = (key: string | number, inner: ValueFault): ValueFault => ({ ...inner, path: pointerStep(key) + inner.path })

/** Each in turn up to the first fault. undefined for none. */
export function allOf(checks: readonly (Check | undefined)[]): Check | undefined {
  const some = checks.filter((check) => check !== undefined)
  const [first, second] = some
  if (second === undefined) return first
  return (value, scope, evaluated) => {
    for (const check of some) {
      const found = check(value, scope, evaluated)
      if (found !== undefined) return found
    }
    return undefined
  }
}
