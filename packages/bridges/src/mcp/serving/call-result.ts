import type { CallToolResult } from '@modelcontextprotocol/server'
import { isJsonObject, type Json, type JsonObject, type Outcome } from '@bulkhead/contract'
import { toMcp } from '@bulkhead/contract/dialects'

/**
 * What a client is told of a call. Where the tool declares a form of its results, clients hold them against it, and a result
 * that was cut may have lost it: such a one is told as an error, with all that is left of it.
 */
export function callResult(outcome: Outcome, outputSchema: JsonObject | undefined): CallToolResult {
  const result = toMcp(outcome)
  const isFormed = outcome.type === 'output' && outputSchema !== undefined
  const isBroken = isFormed && outcome.metadata.truncated === true && !isWhole(outcome.data, outputSchema)
  const content = [...result.content, ...noteOf(outcome, isBroken)]
  if (isBroken) return { content, isError: true }
  return { ...result, content, ...(isFormed ? { structuredContent: outcome.data } : {}) } as CallToolResult
}

function noteOf({ metadata: { truncated, output_path: path } }: Outcome, isBroken: boolean): CallToolResult['content'] {
  if (!truncated) return []
  const what = `The result was too long and is cut here${isBroken ? ', and lacks what the tool declares' : ''}.`
  return [{ type: 'text', text: `[${what}${path === undefined ? '' : ` The whole is in ${path}`}]` }]
}

/** Whether what must be there still is; texts and lists that were cut keep their form. */
function isWhole(data: Json, { required }: JsonObject): boolean {
  if (!Array.isArray(required)) return true
  return isJsonObject(data) && required.every((name) => Object.hasOwn(data, String(name)))
}
