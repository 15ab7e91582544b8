import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { LockedTool } from '../model/names.ts'

/** A tool of another agent: our tool, and our arguments for its arguments if their shape differs. */
export interface ToolAlias {
  readonly tool: LockedTool
  readonly shape?: (args: JsonObject) => JsonObject
}

const withoutAction = ({ action: _, ...args }: JsonObject): JsonObject => args

/** One question with the labels of its options. */
function asQuestions(args: JsonObject): JsonObject {
  const { question, options, ...others } = args
  if (typeof question !== 'string' || Object.hasOwn(args, 'questions')) return args
  const labels: readonly Json[] = Array.isArray(options) ? options : []
  const asked: JsonObject = labels.length > 0 ? { question, options: labels.map(asOption) } : { question }
  return { questions: [asked], ...others }
}

const asOption = (option: Json): Json => isJsonObject(option) ? option : { label: String(option) }

/** A listing without a pattern is of every file below the folder, and a pattern is of names at any depth. */
function asGlob({ pattern, ...args }: JsonObject): JsonObject {
  if (typeof pattern !== 'string') return { pattern: '**/*', ...args }
  return { pattern: pattern.includes('/') ? pattern : `**/${pattern}`, ...args }
}

/** `include` filters by file name. `max_results` is dropped: `grep` has a limit of its own. */
function asGrep({ include, max_results: _, ...args }: JsonObject): JsonObject {
  return typeof include === 'string' ? { ...args, glob: include } : args
}

/** Tool names of other agents. They are aliases and are never registered. */
export const TOOL_ALIASES: ReadonlyMap<string, ToolAlias> = new Map<string, ToolAlias>([
  ['read_file', { tool: 'read' }],
  ['write_file', { tool: 'write' }],
  ['edit_file', { tool: 'edit' }],
  ['list_files', { tool: 'glob', shape: asGlob }],
  ['search', { tool: 'grep' }],
  ['code_search', { tool: 'grep', shape: asGrep }],
  ['bash_manager', { tool: 'bash' }],
  // One tool with an action. Its other actions (append, delete) are not what any of our tools does.
  ['file_manager.read', { tool: 'read', shape: withoutAction }],
  ['file_manager.write', { tool: 'write', shape: withoutAction }],
  ['file_manager.edit', { tool: 'edit', shape: withoutAction }],
  ['file_manager.list', { tool: 'glob', shape: (args) => asGlob(withoutAction(args)) }],
  ['ask-user', { tool: 'question', shape: asQuestions }],
  ['ask_user', { tool: 'question', shape: asQuestions }],
  ['ask_clarification', { tool: 'question', shape: asQuestions }],
  ['web-fetch', { tool: 'web_fetch' }],
  ['web-search', { tool: 'web_search' }],
  ['tool-search', { tool: 'tool_search' }],
])

/** Argument names of other agents. */
export const ARGUMENT_ALIASES: ReadonlyMap<string, string> = new Map([
  ['file_path', 'path'],
  ['filepath', 'path'],
  ['cmd', 'command'],
  ['timeout', 'timeout_ms'],
  ['old_text', 'old_string'],
  ['old_str', 'old_string'],
  ['new_text', 'new_string'],
  ['new_str', 'new_string'],
  ['num', 'max_results'],
  ['-i', 'ignore_case'],
  ['-C', 'context'],
])

/** A tool with an action is named with it: `file_manager` with `{ action: 'read' }` is `file_manager.read`. */
export function aliasOf(name: string, args?: Json): ToolAlias | undefined {
  const { action } = isJsonObject(args) ? args : {}
  return TOOL_ALIASES.get(name) ?? (typeof action === 'string' ? TOOL_ALIASES.get(`${name}.${action}`) : undefined)
}
