import type { CallToolResult } from '@modelcontextprotocol/server'
import { isJsonObject, type Json, type JsonObject, type Outcome } from '@bulkhead/contract'
import { toMcp } from '@bulkhead/contract/dialects'

/**
 * What a client is told of a call. Where the tool declares a form of its results, clients hold them against it, and a result
 * that was cut may have lost it: such a one is told as an error, with all that is left of it.
 */
export function callResult(outcome: Outcome, outputSchema: JsonObject | undefined): CallToolResult {
  const result = toMcp(outcome)
  const content = [...result.content, ...noteOf(outcome)]
  if (outcome.type === 'error') return { ...result, content } as CallToolResult
  if (outputSchema === undefined) return { ...result, content } as CallToolResult
  if (outcome.metadata.truncated && !isWhole(outcome.data, outputSchema)) return { content, isError: true } as CallToolResult
  return { ...result, content, structuredContent: outcome.data } as CallToolResult
}

function noteOf({ metadata: { truncated, output_path: path } }: Outcome): CallToolResult['content'] {
  if (!truncated) return []
  return [{ type: 'text', text: `[The result was too long and is cut here.${path === undefined ? '' : ` The whole is in ${path}`}]` }]
}

/** Whether what must be there still is; texts and lists that were cut keep their form. */
function isWhole(data: Json, { required }: JsonObject): boolean {
  if (!Array.isArray(required)) return true
  return isJsonObject(data) && required.every((name) => Object.hasOwn(data, String(name)))
}
