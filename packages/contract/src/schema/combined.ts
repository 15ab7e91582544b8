import type { Json, JsonObject } from '../json.ts'
import { allOf, fault, type Check, type Compiling, type KeywordGroup, type ValueFault } from './check.ts'
import { Evaluated } from './evaluated.ts'

/** Schemas that apply to the same value: `allOf`, `anyOf`, `oneOf`, `not`, `if`. */
export const combined: KeywordGroup = (schema, compiling) => {
  const each = (keyword: string): readonly Check[] => (schema[keyword] as readonly Json[] | undefined ?? []).map((one) => compiling.check(one))
  return allOf([...each('allOf'), anyOf(each('anyOf')), oneOf(each('oneOf')), not(schema, compiling), conditional(schema, compiling)])
}

function anyOf(checks: readonly Check[]): Check | undefined {
  if (checks.length === 0) return undefined
  return (value, scope, evaluated) => {
    let first: ValueFault | undefined
    let holds = false
    for (const check of checks) {
      const found = check(value, scope, evaluated)
      first ??= found
      holds ||= found === undefined
      // Each that holds adds to what was looked at.
      if (holds && evaluated === undefined) return undefined
    }
    return holds ? undefined : first
  }
}

const SEVERAL = fault('oneOf', 'must match exactly one schema in oneOf')

function oneOf(checks: readonly Check[]): Check | undefined {
  if (checks.length === 0) return undefined
  return (value, scope, evaluated) => {
    let first: ValueFault | undefined
    let holding = 0
    for (const check of checks) {
      const found = check(value, scope, evaluated)
      if (found !== undefined) first ??= found
      else if (++holding > 1) return SEVERAL
    }
    return holding === 1 ? undefined : first
  }
}

const NOT = fault('not', 'must NOT be valid')

const not: KeywordGroup = ({ not: schema }, compiling) => {
  if (schema === undefined) return undefined
  const check = compiling.check(schema)
  return (value, scope) => check(value, scope, undefined) === undefined ? NOT : undefined
}

function conditional({ if: condition, then, else: otherwise }: JsonObject, compiling: Compiling): Check | undefined {
  if (condition === undefined) return undefined
  const check = compiling.check(condition)
  const [positive, negative] = [then, otherwise].map((branch) => branch === undefined ? undefined : compiling.check(branch))
  return (value, scope, evaluated) => {
    const branch = check(value, scope, evaluated) === undefined ? positive : negative
    return branch?.(value, scope, evaluated)
  }
}

/** A schema as a whole. Its own `unevaluated…` see what its other keywords looked at, and nothing that schemas around it did. */
export function whole(keywords: Check | undefined, unevaluated: Check | undefined): Check {
  return (value, scope, around) => {
    const own = unevaluated !== undefined || around !== undefined ? new Evaluated() : undefined
    const found = keywords?.(value, scope, own) ?? unevaluated?.(value, scope, own)
    if (found === undefined && around !== undefined) around.add(own!)
    return found
  }
}
