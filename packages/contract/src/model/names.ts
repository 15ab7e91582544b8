/** Flat, so that every model API takes them. */
export const TOOL_NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
/** Extension ids name folders too, so they are lower-case and cannot collide on a file system that folds case. */
export const EXTENSION_ID_PATTERN = /^[a-z][a-z0-9-]{0,63}$/
export const ENV_NAME_PATTERN = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
/** A token of HTTP, and no longer than anybody would write one. */
export const HEADER_NAME_PATTERN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/

/** Models have learned these names. A tool of another layer may take one only with the same schema and no more powers. */
export const LOCKED_TOOLS = [
  'read', 'write', 'edit', 'glob', 'grep', 'bash', 'todo', 'task', 'question', 'web_search', 'web_fetch', 'skill', 'tool_search',
] as const
export type LockedTool = (typeof LOCKED_TOOLS)[number]

/** The tool that starts sub-agents, where it ships with the host. */
export const AGENT_TOOL: LockedTool = 'task'

const locked: ReadonlySet<string> = new Set(LOCKED_TOOLS)
export const isLockedTool = (name: string): name is LockedTool => locked.has(name)

export const LAYERS = ['bundled', 'global', 'project'] as const
/** Later layers shadow earlier ones by name. */
export type Layer = (typeof LAYERS)[number]
export const layerRank = (layer: Layer): number => LAYERS.indexOf(layer)
