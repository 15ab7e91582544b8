import { BulkheadError, CALL_LIMITS, copyJson, isJsonObject, type JsonLimits } from '@bulkhead/contract'
import { Refusal, type ResolvedCall, type ValidatedCall } from '../call.ts'

const LIMITS: JsonLimits = {
  maxDepth: CALL_LIMITS.argumentDepth, maxNodes: CALL_LIMITS.argumentNodes, maxChars: CALL_LIMITS.argumentChars,
}

/** Plain JSON within limits, then the tool's own schema. What passes is a copy that nobody can change after it was judged. */
export function validate(call: ResolvedCall, input: unknown = call.words.input): ValidatedCall | Refusal {
  const { tool } = call
  const copy = copyJson(input, LIMITS)
  if (!copy.ok) return invalid(tool.name, copy.fault.path, copy.fault.message, copy.fault.code)
  const { value: args, chars } = copy
  if (!isJsonObject(args)) return invalid(tool.name, '', 'must be an object', 'type')
  const violation = tool.check(args, chars)
  if (violation) return invalid(tool.name, violation.path, violation.message, violation.keyword)
  return call.fix(args, chars)
}

function invalid(tool: string, path: string, message: string, rule: string): Refusal {
  const where = path === '' ? 'The arguments' : `The argument at "${path}"`
  const text = `${where} of "${tool}" cannot be accepted: ${message}.`
  return new Refusal(new BulkheadError('InputInvalid', text, { data: { path, message, rule } }))
}
