import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Outcome } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { noteOfCut, toMcp } from '@bulkhead/contract/dialects'

/**
 * What a client is told of a call. Where the tool declares a form of its results, clients hold them against it, and a result
 * that was cut may have lost it: such a one is told as an error, with all that is left of it.
 */
export function callResult(outcome: Outcome, outputSchema: JsonObject | undefined): CallToolResult {
  const result = toMcp(outcome)
  const isFormed = outcome.type === 'output' && outputSchema !== undefined
  const isBroken = isFormed && outcome.metadata.truncated === true && !isWhole(outcome.data, outputSchema)
  const note = noteOfCut(outcome.metadata, isBroken ? ', and lacks what the tool declares' : '')
  const content: CallToolResult['content'] = [...result.content, ...(note === undefined ? [] : [{ type: 'text', text: note } as const])]
  if (isBroken) return { content, isError: true }
  return { ...result, content, ...(isFormed ? { structuredContent: outcome.data } : {}) } as CallToolResult
}

/** Whether what must be there still is; texts and lists that were cut keep their form. */
function isWhole(data: Json, { required }: JsonObject): boolean {
  if (!Array.isArray(required)) return true
  return isJsonObject(data) && required.every((name) => Object.hasOwn(data, String(name)))
}
