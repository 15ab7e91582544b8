import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'
import { isJsonObject, parseJson, pointerStep, type Json, type JsonLimits, type JsonObject } from '@bulkhead/kit/json'
import { copyJson } from '@bulkhead/kit/json-copy'
import type { SchemaCheck, SchemaFault } from '../extensions/schema-checks.ts'
import type { ResolvedCall, ValidatedCall } from '../policy/call.ts'

const LIMITS: JsonLimits = {
  maxDepth: CALL_LIMITS.argumentDepth, maxNodes: CALL_LIMITS.argumentNodes, maxChars: CALL_LIMITS.argumentChars,
}

/** Checks limits, then the schema of the tool. The arguments become a frozen copy: what was checked is what runs. Throws InputInvalid. */
export function validate(call: ResolvedCall, wanted: unknown = call.request.args): ValidatedCall {
  const { tool } = call
  const copy = copyJson(wanted, LIMITS)
  if (!copy.ok) throw invalid(tool.name, copy.fault.path, copy.fault.message, copy.fault.code)
  const { value: args, chars } = copy
  if (!isJsonObject(args)) throw invalid(tool.name, '', notAnObject(args), 'type')
  const checked = checkArguments(args, tool.check, chars)
  if ('fault' in checked) throw invalid(tool.name, checked.fault.path, checked.fault.message, checked.fault.keyword)
  return call.fix(checked.args, chars)
}

/** A model that stops in the middle of its arguments, and a program that does not parse them, both send a string. */
function notAnObject(args: Json): string {
  if (typeof args !== 'string') return 'must be an object'
  const parsed = parseJson(args)
  if (!parsed.ok) return `they are a string that ${parsed.fault.message}`
  return isJsonObject(parsed.value) ? 'they are a JSON string; pass the parsed object instead' : 'must be an object'
}

function invalid(tool: string, path: string, message: string, rule: string): BulkheadError {
  const where = path === '' ? 'The arguments' : `The argument at "${path}"`
  const text = `${where} of "${tool}" cannot be accepted: ${message}.`
  return new BulkheadError('InputInvalid', text, { data: { path, message, rule } })
}

/** Each removed null costs another check. */
const MAX_REMOVED = 64

export type Checked =
  | { readonly args: JsonObject }
  | { readonly fault: SchemaFault }

/**
 * Many models send null for an optional member that they leave out. A null that the schema does not accept is removed, if
 * the member is optional. Other arguments are checked once.
 */
export function checkArguments(sent: JsonObject, check: SchemaCheck, chars: number): Checked {
  let args = sent
  for (let removals = 0; ; removals++) {
    const fault = check(args, chars)
    if (fault === undefined) return { args }
    const without = removals < MAX_REMOVED ? withoutNull(args, fault.path) : undefined
    if (without === undefined) return { fault }
    // A required member is not missing: it is null.
    const next = check(without, chars)
    if (next?.keyword === 'required' && next.path === parentOf(fault.path) && isAbout(next, fault.path)) return { fault }
    args = without
  }
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

const isAbout = ({ member }: SchemaFault, path: string): boolean => member !== undefined && path.endsWith(pointerStep(member))

/** Returns undefined if the path does not lead to a member that is null. */
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
