import type { ToolDefinition } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'

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
