import { randomUUID } from 'node:crypto'
import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { toHostCall, type HostCall } from '../models/host-call.ts'
import { GEMINI } from '../models/profiles.ts'
import { project, type MutableSchema } from '../models/project.ts'
import { resultParts, resultText } from '../models/result-parts.ts'
import { providerTools, toolReports, type ToolReport } from '../models/tool-reports.ts'

/** A tool in the format of the Gemini API. */
export interface FunctionDeclaration {
  readonly name: string
  readonly description: string
  readonly parametersJsonSchema: MutableSchema
  /** Of the `response` of a call. */
  readonly responseJsonSchema?: MutableSchema
}

/** The list and its schemas are copies, so that an SDK can change them. The API takes 512 at most. */
export const toFunctionDeclarations = (tools: readonly ToolDefinition[]): FunctionDeclaration[] =>
  providerTools(tools, GEMINI, false).map(({ tool, name, schema }) => ({
    name, description: tool.description, parametersJsonSchema: schema, ...responseOf(tool),
  }))

/** A result is the member `output` of a response. A schema that refers to itself as a whole cannot be moved there. */
function responseOf({ outputSchema }: ToolDefinition): Pick<FunctionDeclaration, 'responseJsonSchema'> {
  if (outputSchema === undefined || /"\$ref":"#"/.test(JSON.stringify(outputSchema))) return {}
  const { $defs, definitions, ...output } = outputSchema
  const whole: JsonObject = {
    type: 'object', properties: { output, error: { type: 'string' } },
    ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }),
  }
  return { responseJsonSchema: project(whole, GEMINI).schema }
}

/** What the API does not read of the schemas of tools. Sends nothing. */
export const reportTools = (tools: readonly ToolDefinition[]): readonly ToolReport[] =>
  toolReports(tools, GEMINI, false)

/** A tool call: a part of a model's content. */
export interface FunctionCall {
  /** The API omits it in most calls. */
  readonly id?: string
  readonly name?: string
  readonly args?: Readonly<Record<string, unknown>>
}

export interface FunctionCallOptions {
  /** The available tools. With them, calls in the notation of other agents, such as `read_file`, are translated. */
  readonly tools?: readonly ToolDefinition[]
}

/** A call without an id gets a random one. Invalid arguments are passed on, and the host rejects them. */
export const fromFunctionCall = (
  { id, name = '', args = {} }: FunctionCall, options: FunctionCallOptions = {},
): HostCall => toHostCall({ id: id || randomUUID(), name, arguments: args as Json }, options, GEMINI)

/** The result of a call: the `functionResponse` of a part of the next user content. */
export interface FunctionResponse {
  readonly id?: string
  readonly name: string
  readonly response: { readonly output: Json } | { readonly error: string }
  readonly parts?: {
    readonly inlineData: { readonly mimeType: string; readonly data: string; readonly displayName: string }
  }[]
}

const CARRIED: ReadonlySet<string> = new Set([
  'image/png', 'image/jpeg', 'image/webp', 'application/pdf', 'text/plain',
])

/** Answers a call. Images, PDF files and plain text files are parts of their own. Other bytes are named in the output. */
export function toFunctionResponse({ id, name = '' }: FunctionCall, outcome: Outcome): FunctionResponse {
  const head = { ...(id ? { id } : {}), name }
  if (outcome.type === 'error') return { ...head, response: { error: resultText(outcome) } }
  if ((outcome.content ?? []).length === 0 && !outcome.metadata.truncated) {
    return { ...head, response: { output: outcome.data } }
  }
  const parts = resultParts(outcome, (mimeType) => CARRIED.has(mimeType))
  const media = parts.filter((part) => part.type === 'media')
  const text = parts.flatMap((part) => part.type === 'text' ? [part.text] : []).join('\n')
  return {
    ...head, response: { output: text },
    ...(media.length > 0 && {
      parts: media.map(({ mimeType, data, name: displayName }) => ({ inlineData: { mimeType, data, displayName } })),
    }),
  }
}
