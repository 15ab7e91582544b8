import { isLockedTool, type LockedTool } from '../model/names.ts'
import { hasEffects, type RequirementSet } from './requirements.ts'

export const TOOL_MODES = ['read', 'safe_write', 'destructive', 'local', 'external'] as const
/** read: looks only. safe_write: bounded change. destructive: cannot be undone. local: the user's machine. external: others' services. */
export type ToolMode = (typeof TOOL_MODES)[number]

const LOCKED_MODES: Readonly<Record<LockedTool, ToolMode>> = {
  read: 'read', glob: 'read', grep: 'read', skill: 'read', tool_search: 'read', question: 'read',
  write: 'safe_write', edit: 'safe_write', todo: 'safe_write',
  bash: 'local', task: 'local',
  web_search: 'external', web_fetch: 'external',
}

const NAME_PATTERNS: readonly (readonly [RegExp, ToolMode])[] = [
  [/^(?:get|list|read|search)_/, 'read'],
  [/^(?:create|update|add|set)_/, 'safe_write'],
  [/^(?:delete|remove|archive|drop)_/, 'destructive'],
  [/^(?:local|shell|exec)_/, 'local'],
]

/**
 * Explicit, else by name, else from the requirements, else `local`, which asks. A name cannot talk a tool's powers
 * down: `read_` on a tool that may write or run is judged by what it may do.
 */
export function classifyToolMode(tool: { readonly name: string; readonly mode?: ToolMode | undefined; readonly requires?: RequirementSet | undefined }): ToolMode {
  if (tool.mode) return tool.mode
  if (isLockedTool(tool.name)) return LOCKED_MODES[tool.name]
  const requires = tool.requires ?? {}
  const named = NAME_PATTERNS.find(([pattern]) => pattern.test(tool.name))?.[1]
  if (named && !(named === 'read' && hasEffects(requires))) return named
  if (requires.shell?.length || requires.fs?.write?.length || requires.capabilities?.includes('tools.call')) return 'local'
  if (requires.net?.hosts?.length) return 'external'
  return requires.fs?.read?.length ? 'read' : 'local'
}

export const TOOL_KINDS = ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'switch_mode', 'other'] as const
/** How an editor that speaks ACP draws the call. */
export type ToolKind = (typeof TOOL_KINDS)[number]
