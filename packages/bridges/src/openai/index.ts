import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import { canonicalCall, noteOfCut, textOfContent, textOfData } from '@bulkhead/contract/dialects'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'

/** One call of a model, as OpenAI-shaped chat APIs send it. */
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

/** Arguments that are not a JSON object are passed on as they are, so that the host refuses them with its own message. */
export function fromToolCall(call: ModelToolCall, { strict = false, tools = [] }: ToolCallOptions = {}): HostCall {
  const text = call.function.arguments
  const parsed = parseJson(text === '' ? '{}' : text)
  const args = parsed.ok ? parsed.value : text
  const read = { id: call.id, name: call.function.name, arguments: strict && isJsonObject(args) ? withoutNulls(args) : args }
  return canonicalCall(read, (name) => tools.find((tool) => tool.name === name))
}

export interface ToolCallOptions {
  /** Undoes what a strict tool does to optional arguments: a null stands for one that was left out. */
  readonly strict?: boolean
  /** Those there are. A model that calls one of them as another agent taught it, such as `read_file` with a `file_path`, is understood. */
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
  return { role: 'tool', tool_call_id: outcome.metadata.call_id, content: note === undefined ? content : `${content}\n${note}` }
}

const contentOf = (outcome: Outcome): string =>
  outcome.type === 'error' ? outcome.error_text : textOfContent(outcome.content ?? []) ?? textOfData(outcome.data)

const withoutNulls = (args: JsonObject): Json =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))

/** A tool as OpenAI-shaped chat APIs want it. */
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
   * Ask for arguments that follow the schema exactly: the root is closed and every property required. Remote tools keep
   * their own schema, because it was made elsewhere.
   */
  readonly strict?: boolean
}

export function toFunctionTools(tools: readonly ToolDefinition[], options: FunctionToolOptions = {}): readonly FunctionTool[] {
  return tools.map((tool) => toFunctionTool(tool, options))
}

export function toFunctionTool(tool: ToolDefinition, options: FunctionToolOptions = {}): FunctionTool {
  const strict = options.strict === true && tool.executor === 'local'
  return {
    type: 'function',
    function: {
      name: tool.name,
      description: tool.description,
      // A copy: what an SDK does to it reaches no other tool list.
      parameters: structuredClone(strict ? closed(tool.inputSchema) : tool.inputSchema),
      ...(strict ? { strict: true as const } : {}),
    },
  }
}

/** A strict root: an optional property becomes one that may be null, so that leaving it out stays possible. */
function closed(schema: JsonObject): JsonObject {
  const properties = (schema['properties'] ?? {}) as JsonObject
  const required = new Set((schema['required'] ?? []) as readonly string[])
  const entries = Object.entries(properties).map(([name, property]) =>
    [name, required.has(name) ? property : { anyOf: [property, { type: 'null' }] }] as const)
  return { ...schema, properties: Object.fromEntries(entries), required: Object.keys(properties), additionalProperties: false }
}
