import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { BundledTool } from '../model/names.ts'

/** A tool of another agent: our tool, and our arguments for its arguments if their shape differs. */
export interface ToolAlias {
  readonly tool: BundledTool
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

/** Some models pass null for a pattern that they leave out. */
function asList({ pattern, ...args }: JsonObject): JsonObject {
  return pattern === undefined || pattern === null ? args : { pattern, ...args }
}

/** A pattern is of names at any depth. `glob` goes as deep as there are folders. */
function asGlob({ pattern, max_depth: _, action: __, ...args }: JsonObject): JsonObject {
  const text = String(pattern)
  return { pattern: text.includes('/') ? text : `**/${text}`, ...args }
}

/** A listing with a pattern, which `list` does not take. */
const PATTERN_LISTING: ToolAlias = { tool: 'glob', shape: asGlob }

/** `include` filters by file name. `max_results` is dropped: `grep` has a limit of its own. */
function asGrep({ include, max_results: _, ...args }: JsonObject): JsonObject {
  return typeof include === 'string' ? { ...args, glob: include } : args
}

/** A path with a line break cannot be part of a patch. The arguments stay as they are, and validation refuses them. */
function asDeletion(args: JsonObject): JsonObject {
  const { path = args['file_path'] } = args
  return typeof path === 'string' && !/[\r\n]/.test(path)
    ? { patch: `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch\n` } : args
}

/** Adds whole lines: the patch begins a new line, and ends the last one. */
function asAddition(args: JsonObject): JsonObject {
  const { path = args['file_path'], content } = args
  if (typeof path !== 'string' || /[\r\n]/.test(path) || typeof content !== 'string' || content === '') return args
  const lines = content.replace(/\n$/, '').split('\n').map((line) => `+${line}\n`)
  return { patch: `*** Begin Patch\n*** Update File: ${path}\n@@\n${lines.join('')}*** End Patch\n` }
}

/** A diff of one file may lack its name, which is then an argument of its own. */
function asPatch(args: JsonObject): JsonObject {
  const { patch = args['diff'], path = args['file_path'] } = args
  if (typeof patch !== 'string') return args
  const isNamed = /^(?:diff --git|---|\*\*\*) /m.test(patch) || typeof path !== 'string' || /[\r\n]/.test(path)
  return { patch: isNamed ? patch : `--- a/${path}\n+++ b/${path}\n${patch}` }
}

/** Actions that a tool of ours has under the same names. */
const actions = (name: string, tool: BundledTool, ...shared: readonly string[]): readonly [string, ToolAlias][] =>
  shared.map((action) => [`${name}.${action}`, { tool, shape: (args) => ({ ...args, action }) }])

/** Tool names of other agents. They are aliases and are never registered. */
export const TOOL_ALIASES: ReadonlyMap<string, ToolAlias> = new Map<string, ToolAlias>([
  ['read_file', { tool: 'read' }],
  ['write_file', { tool: 'write' }],
  ['edit_file', { tool: 'edit' }],
  ['list_files', { tool: 'list', shape: asList }],
  ['search', { tool: 'grep' }],
  ['code_search', { tool: 'grep', shape: asGrep }],
  ['bash_manager', { tool: 'bash' }],
  // One tool with an action.
  ['file_manager.read', { tool: 'read', shape: withoutAction }],
  ['file_manager.write', { tool: 'write', shape: withoutAction }],
  ['file_manager.edit', { tool: 'edit', shape: withoutAction }],
  ['file_manager.list', { tool: 'list', shape: (args) => asList(withoutAction(args)) }],
  ['file_manager.append', { tool: 'apply_patch', shape: asAddition }],
  ['file_manager.delete', { tool: 'apply_patch', shape: asDeletion }],
  ['diff_editor.apply', { tool: 'apply_patch', shape: asPatch }],
  // For other actions, see untranslated.ts. They are no aliases of `bash`: a list of tools that names `git_manager`
  // would then allow every command.
  ...actions('git_manager', 'git', 'status', 'diff', 'log', 'add', 'commit'),
  ...actions('lsp_manager', 'lsp', 'definition', 'references', 'hover', 'diagnostics'),
  ['ask-user', { tool: 'question', shape: asQuestions }],
  ['ask_user', { tool: 'question', shape: asQuestions }],
  ['ask_clarification', { tool: 'question', shape: asQuestions }],
  ['web-fetch', { tool: 'web_fetch' }],
  ['web-search', { tool: 'web_search' }],
  ['tool-search', { tool: 'tool_search' }],
  ['http-request', { tool: 'http_request' }],
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
  ['diff', 'patch'],
  ['input', 'patch'],
  ['files', 'paths'],
  ['max_depth', 'depth'],
  ['num', 'max_results'],
  ['-i', 'ignore_case'],
  ['-C', 'context'],
])

/** A tool with an action is named with it: `file_manager` with `{ action: 'read' }` is `file_manager.read`. */
export function aliasOf(name: string, args?: Json): ToolAlias | undefined {
  const { action, pattern } = isJsonObject(args) ? args : {}
  const isListing = name === 'list_files' || (name === 'file_manager' && action === 'list')
  if (isListing && typeof pattern === 'string') return PATTERN_LISTING
  return TOOL_ALIASES.get(name) ?? (typeof action === 'string' ? TOOL_ALIASES.get(`${name}.${action}`) : undefined)
}
