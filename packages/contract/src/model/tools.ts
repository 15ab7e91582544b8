import type { JsonObject } from '@bulkhead/kit/json'

/** Flat names, which every model API accepts. */
export const TOOL_NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** Models have learned these names. A tool of another layer may take one only with the same schema and no more powers. */
export const LOCKED_TOOLS = [
  'read', 'write', 'edit', 'glob', 'grep', 'bash', 'todo', 'task', 'question', 'web_search', 'web_fetch', 'skill', 'tool_search',
] as const
export type LockedTool = (typeof LOCKED_TOOLS)[number]

/** The bundled tool that starts sub-agents. */
export const AGENT_TOOL: LockedTool = 'task'

const locked: ReadonlySet<string> = new Set(LOCKED_TOOLS)
export const isLockedTool = (name: string): name is LockedTool => locked.has(name)

export const TOOL_MODES = ['read', 'safe_write', 'destructive', 'local', 'external'] as const
/** read: only reads. safe_write: a bounded change. destructive: cannot be undone. local: the user's machine. external: other services. */
export type ToolMode = (typeof TOOL_MODES)[number]

export const TOOL_KINDS = ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'switch_mode', 'other'] as const
/** How an editor that speaks ACP draws the call. */
export type ToolKind = (typeof TOOL_KINDS)[number]

/** Keys that every tool configuration accepts besides its own. */
const COMMON_CONFIG_PROPERTIES: JsonObject = {
  enabled: { type: 'boolean', description: 'Whether the tool is offered.' },
  timeoutMs: { type: 'integer', minimum: 1, description: 'Deadline of a call, in milliseconds.' },
}

/** Adds the common keys to a configSchema, except those that it defines itself. */
export function withCommonConfig(schema: JsonObject): JsonObject {
  const properties = typeof schema['properties'] === 'object' && schema['properties'] !== null ? (schema['properties'] as JsonObject) : {}
  return { ...schema, properties: { ...COMMON_CONFIG_PROPERTIES, ...properties } }
}
