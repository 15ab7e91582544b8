import {
  BulkheadError, CALL_LIMITS, findJsonFault, isJsonObject, type Json, type JsonLimits, type JsonObject,
} from '@bulkhead/contract'
import { Refusal, type ResolvedCall, type ValidatedCall } from '../call.ts'

const LIMITS: JsonLimits = {
  maxDepth: CALL_LIMITS.argumentDepth, maxNodes: CALL_LIMITS.argumentNodes, maxChars: CALL_LIMITS.argumentChars,
}

/** Plain JSON within limits, then the tool's own schema. What passes is a copy that nobody can change after it was judged. */
export function validate(call: ResolvedCall): ValidatedCall | Refusal {
  const { input, tool } = call
  const fault = findJsonFault(input, LIMITS)
  if (fault) return invalid(tool.name, fault.path, fault.message, fault.code)
  if (!isJsonObject(input)) return invalid(tool.name, '', 'must be an object', 'type')
  const argsText = JSON.stringify(input)
  const args = freeze(JSON.parse(argsText) as JsonObject)
  const violation = tool.check(args)
  if (violation) return invalid(tool.name, violation.path, violation.message, violation.keyword)
  return { ...call, args, argsText }
}

function invalid(tool: string, path: string, message: string, rule: string): Refusal {
  const where = path === '' ? 'The arguments' : `The argument at "${path}"`
  const text = `${where} of "${tool}" cannot be accepted: ${message}.`
  return new Refusal(new BulkheadError('InputInvalid', text, { data: { path, message, rule } }))
}

function freeze<Value extends Json>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) freeze(member as Json)
  return Object.freeze(value)
}
