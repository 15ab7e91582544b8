import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json, type JsonLimits } from '@bulkhead/kit/json'
import { copyJson } from '@bulkhead/kit/json-copy'
import { checkArguments } from './absent-nulls.ts'
import { Refusal, type ResolvedCall, type ValidatedCall } from '../policy/call.ts'

const LIMITS: JsonLimits = {
  maxDepth: CALL_LIMITS.argumentDepth, maxNodes: CALL_LIMITS.argumentNodes, maxChars: CALL_LIMITS.argumentChars,
}

/** Plain JSON within limits, then the tool's own schema. What passes is a copy that nobody can change after it was judged. */
export function validate(call: ResolvedCall, input: unknown = call.words.input): ValidatedCall | Refusal {
  const { tool } = call
  const copy = copyJson(input, LIMITS)
  if (!copy.ok) return invalid(tool.name, copy.fault.path, copy.fault.message, copy.fault.code)
  const { value: args, chars } = copy
  if (!isJsonObject(args)) return invalid(tool.name, '', insteadOfObject(args), 'type')
  const checked = checkArguments(args, tool.check, chars)
  if ('fault' in checked) return invalid(tool.name, checked.fault.path, checked.fault.message, checked.fault.keyword)
  return call.fix(checked.args, chars)
}

/** A model that breaks off in the middle of its arguments, and a program that hands them on unread, both leave a text. */
function insteadOfObject(args: Json): string {
  if (typeof args !== 'string') return 'must be an object'
  const parsed = parseJson(args)
  if (!parsed.ok) return `they are a text that ${parsed.fault.message}`
  return isJsonObject(parsed.value) ? 'they are a text; hand over the object that it is the JSON of' : 'must be an object'
}

function invalid(tool: string, path: string, message: string, rule: string): Refusal {
  const where = path === '' ? 'The arguments' : `The argument at "${path}"`
  const text = `${where} of "${tool}" cannot be accepted: ${message}.`
  return new Refusal(new BulkheadError('InputInvalid', text, { data: { path, message, rule } }))
}
