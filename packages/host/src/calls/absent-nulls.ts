import { isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { SchemaCheck, SchemaFault } from '../extensions/schema-checks.ts'

/** As many members as a model leaves open in one call, at most. Each costs another check. */
const MOST_ABSENT = 64

export type Checked =
  | { readonly args: JsonObject }
  | { readonly fault: SchemaFault }

/**
 * Arguments as the schema takes them. Many models write null for an optional member that they leave out: where the schema has no
 * place for that null, and does without the member, it is absent. Ordinary arguments are checked once.
 */
export function checkArguments(written: JsonObject, check: SchemaCheck, chars: number): Checked {
  let args = written
  for (let absent = 0; ; absent++) {
    const fault = check(args, chars)
    if (fault === undefined) return { args }
    const without = absent < MOST_ABSENT ? withoutNull(args, fault.path) : undefined
    if (without === undefined) return { fault }
    // A member that must be there is not missing: it is null.
    const next = check(without, chars)
    if (next?.keyword === 'required' && next.path === parentOf(fault.path) && isAbout(next, fault.path)) return { fault }
    args = without
  }
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

const isAbout = ({ member }: SchemaFault, path: string): boolean => member !== undefined && path.endsWith(pointerStep(member))

/** undefined where no member of an object that is null stands at the path. */
function withoutNull(value: Json, path: string): JsonObject | undefined {
  if (path === '') return undefined
  const [, first, ...rest] = path.split('/')
  return removed(value, [first!, ...rest].map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))) as JsonObject | undefined
}

function removed(value: Json | undefined, [key, ...rest]: readonly string[]): Json | undefined {
  if (key === undefined || typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    const item = removed((value as readonly Json[])[Number(key)], rest)
    return item === undefined ? undefined : Object.freeze((value as readonly Json[]).with(Number(key), item))
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined
  if (rest.length > 0) {
    const member = removed(value[key], rest)
    return member === undefined ? undefined : Object.freeze({ ...value, [key]: member })
  }
  const { [key]: last, ...others } = value
  return last === null ? Object.freeze(others) : undefined
}
