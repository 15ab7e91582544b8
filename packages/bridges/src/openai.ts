import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import { canonicalCall, noteOfCut, textOfContent, textOfData } from '@bulkhead/contract/dialects'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'

/** A tool call of an OpenAI-compatible chat API. */
export interface ModelToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface ModelToolMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

/** Invalid arguments are passed on unchanged. The host rejects them with an error for the model. */
export function fromToolCall(call: ModelToolCall, { strict = false, tools = [] }: ToolCallOptions = {}): HostCall {
  const text = call.function.arguments
  const parsed = parseJson(text === '' ? '{}' : text)
  const args = parsed.ok ? parsed.value : text
  const read = {
    id: call.id, name: call.function.name, arguments: strict && isJsonObject(args) ? withoutNulls(args) : args,
  }
  return canonicalCall(read, (name) => tools.find((tool) => tool.name === name))
}

export interface ToolCallOptions {
  /** Removes null arguments: a model sends them for optional arguments of a strict tool. */
  readonly strict?: boolean
  /** The available tools. With them, calls in the notation of other agents, such as `read_file`, are translated. */
  readonly tools?: readonly ToolDefinition[]
}

export interface HostCall {
  readonly id: string
  readonly name: string
  readonly arguments: Json
}

export function toToolMessage(outcome: Outcome): ModelToolMessage {
  const note = noteOfCut(outcome.metadata)
  const content = contentOf(outcome)
  return {
    role: 'tool', tool_call_id: outcome.metadata.call_id, content: note === undefined ? content : `${content}\n${note}`,
  }
}

const contentOf = (outcome: Outcome): string =>
  outcome.type === 'error' ? outcome.error_text : textOfContent(outcome.content ?? []) ?? textOfData(outcome.data)

const withoutNulls = (args: JsonObject): Json =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))

/** A tool in the format of OpenAI-compatible chat APIs. */
export interface FunctionTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description: string
    readonly parameters: JsonObject
    readonly strict?: true
  }
}

export interface FunctionToolOptions {
  /**
   * Requests arguments that match the schema exactly: every property is required, and no other is allowed. Remote tools
   * keep their own schema.
   */
  readonly strict?: boolean
}

export function toFunctionTools(
  tools: readonly ToolDefinition[], options: FunctionToolOptions = {},
): readonly FunctionTool[] {
  return tools.map((tool) => toFunctionTool(tool, options))
}

export function toFunctionTool(tool: ToolDefinition, options: FunctionToolOptions = {}): FunctionTool {
  const strict = options.strict === true && tool.executor === 'local'
  return {
    type: 'function',
    function: {
      name: tool.name,
      description: tool.description,
      // A copy, so that an SDK can change it.
      parameters: structuredClone(strict ? closed(tool.inputSchema) : tool.inputSchema),
      ...(strict ? { strict: true as const } : {}),
    },
  }
}

/**
 * Closes the root of a schema. Optional properties become nullable, because a strict schema requires every property.
 */
function closed(schema: JsonObject): JsonObject {
  const properties = (schema['properties'] ?? {}) as JsonObject
  const required = new Set((schema['required'] ?? []) as readonly string[])
  const entries = Object.entries(properties).map(([name, property]) =>
    [name, required.has(name) ? property : { anyOf: [property, { type: 'null' }] }] as const)
  return {
    ...schema, properties: Object.fromEntries(entries), required: Object.keys(properties), additionalProperties: false,
  }
}
