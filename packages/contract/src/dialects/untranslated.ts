import type { BundledTool } from '../model/names.ts'
import { TOOL_ALIASES } from './aliases.ts'

/** Actions of other agents that none of our tools has: the tool that helps, and how. */
const ACTIONS: ReadonlyMap<string, readonly [tool: BundledTool, advice: string]> = new Map([
  ['diff_editor.create', ['git', 'Compare files of a repository with "git" and the action diff.']],
  ['git_manager.init', ['bash', 'Run "git init" with "bash".']],
  ['git_manager.push', ['bash', 'Run "git push" with "bash".']],
  ['lsp_manager.ruff_check', ['bash', 'Run "ruff check" with "bash".']],
])

/** Arguments of other agents that our tools do not have, by tool and name. */
const ARGUMENTS: ReadonlyMap<string, string> = new Map([
  ['web_search allowed_domains', 'Write "site:HOST" into the query instead, if the search provider supports it.'],
  ['web_search blocked_domains', 'Write "-site:HOST" into the query instead, if the search provider supports it.'],
])

/**
 * What to use instead of a tool of another agent, as a sentence. undefined for a name that is not known. `action`: the
 * argument of that name.
 */
export function adviceOnTool(name: string, action: unknown, has: (tool: string) => boolean): string | undefined {
  const full = typeof action === 'string' ? `${name}.${action}` : name
  const alias = TOOL_ALIASES.get(name) ?? TOOL_ALIASES.get(full)
  if (alias !== undefined && has(alias.tool)) return `Use "${alias.tool}" instead.`
  const [tool, advice] = ACTIONS.get(full) ?? []
  if (tool !== undefined && has(tool)) return advice
  const actions = [...TOOL_ALIASES.keys()].filter((key) => key.startsWith(`${name}.`))
    .map((key) => key.slice(name.length + 1))
  return actions.length === 0 ? undefined : `Calls of it are translated with one of these actions: ${actions.join(', ')}.`
}

/** What to do instead of passing an argument that a tool of ours does not have. undefined for other arguments. */
export const adviceOnArgument = (tool: string, argument: string): string | undefined =>
  ARGUMENTS.get(`${tool} ${argument}`)
