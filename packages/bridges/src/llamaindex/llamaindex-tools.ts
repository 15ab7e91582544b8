import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { JSONValue } from '@llamaindex/core/global'
import type { BaseToolWithCall } from '@llamaindex/core/llms'
import { runCall } from '../models/call-approvals.ts'
import { OPENAI } from '../models/profiles.ts'
import { isData, resultText } from '../models/result-parts.ts'
import { sessionTools, type AgentSession, type AgentToolsOptions } from '../models/session-tools.ts'

/** The part of a session that the tools need. */
export type LlamaIndexSession = AgentSession

export interface LlamaIndexToolsOptions extends AgentToolsOptions {
  /** Cancels the calls. LlamaIndex itself gives a tool no signal, and no id of its call. */
  readonly signal?: AbortSignal
}

/**
 * The tools of a session for agents and workflows. LlamaIndex takes JSON from a tool: images and files are named in the
 * text. A call that fails rejects, and the result of the tool is an error. Throws ConfigInvalid in code mode without
 * `tools`.
 */
export const toLlamaIndexTools = (
  session: LlamaIndexSession, { signal, ...options }: LlamaIndexToolsOptions = {},
): BaseToolWithCall[] => sessionTools(session, options, OPENAI).map(({ tool, name, schema, callOf }) => ({
  metadata: { name, description: tool.description, parameters: schema as Record<string, unknown> },
  call: async (input: unknown) =>
    resultOf(await runCall(session, callOf(input, crypto.randomUUID()), signal ? { signal } : {})),
}))

function resultOf(outcome: Outcome): JSONValue {
  if (outcome.type === 'output') return legible(isData(outcome) ? outcome.data : resultText(outcome))
  throw new BulkheadError(outcome.error.code, resultText(outcome), { data: outcome.error.data ?? null })
}

/**
 * LlamaIndex rejects a result with null in it, and removes every quotation mark from what the model gets. So the model
 * reads null, and quotation marks in texts as `\\u0022`.
 */
function legible(value: Json): JSONValue {
  if (value === null) return 'null'
  if (typeof value === 'string') return value.replaceAll('"', String.raw`\u0022`)
  if (Array.isArray(value)) return value.map(legible)
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, legible(each)])) : value as JSONValue
}
