import { matchSegment } from '@bulkhead/kit/glob'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { ToolDefinition } from '../ports/embedder.ts'
import { aliasOf, ARGUMENT_ALIASES, TOOL_ALIASES } from './aliases.ts'

/**
 * Resolves an alias to a registered name. A registered name always means itself. An unknown name is returned unchanged,
 * for the error.
 */
export function canonicalToolName(name: string, has: (name: string) => boolean): string {
  if (has(name)) return name
  return candidates(name).find(has) ?? name
}

const MCP_FORMS = [/^mcp:([^.:]+)[.:](.+)$/s, /^(?:mcp__)?(.+?)__(.+)$/s, /^mcp_([^_]+)_(.+)$/s]

/** `mcp:server.tool`, `mcp:server:tool`, `mcp_server_tool`, `server__tool` and `mcp__server__tool` are `server_tool`. */
function candidates(name: string): readonly string[] {
  const alias = TOOL_ALIASES.get(name)
  if (alias !== undefined) return [alias.tool]
  const match = MCP_FORMS.map((form) => form.exec(name)).find((found) => found !== null)
  if (!match) return []
  return spellings(`${match[1]}_${match[2]}`)
}

/** As it is written, and as tools of servers are named: with characters that every model API accepts. */
export function spellings(name: string): readonly string[] {
  const plain = name.replaceAll(/[^A-Za-z0-9_*]/g, '_')
  return [...new Set([name, plain, ...(/^[A-Za-z*]/.test(plain) ? [] : [`op_${plain}`])])]
}

/**
 * The tools that an entry of a list selects: the tool of that name or alias; or, with `*`, every name that matches; or
 * every name that begins with the entry and a separator. `git` selects `git_log` and not `github_search`, and
 * `file_manager`, whose actions are several tools of ours, selects those.
 */
export function toolsSelectedBy(entry: string, names: ReadonlySet<string>): readonly string[] {
  const named = canonicalToolName(entry, (name) => names.has(name))
  if (names.has(named)) return [named]
  const patterns = [entry, ...candidates(entry)]
  if (entry.includes('*')) return [...names].filter((name) => patterns.some((each) => matchSegment(each, name)))
  const actions = [...TOOL_ALIASES].flatMap(([alias, { tool }]) => alias.startsWith(`${entry}.`) ? [tool] : [])
  const meant = new Set(actions.filter((name) => names.has(name)))
  if (meant.size > 0) return [...meant]
  const stem = entry.replace(SERVER_MARK, '').replace(/[_-]$/, '')
  if (stem === '') return []
  const stems = spellings(stem).flatMap((each) => [`${each}_`, `${each}-`])
  return [...names].filter((name) => stems.some((each) => name.startsWith(each)))
}

/** `mcp:git`, `mcp_git` and `mcp__git` name the server `git`. */
const SERVER_MARK = /^mcp(?::|__?)/

/** The tools that a list selects. An entry may match nothing now, and select a tool that is registered later. */
export const expandToolNames = (entries: readonly string[], names: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) => toolsSelectedBy(entry, names)))

/**
 * Renames arguments to the names that the schema has. An argument is renamed only if the schema has our name and not
 * the alias, and our name was not given. Validation handles the rest.
 */
export function renameArguments(args: JsonObject, inputSchema: JsonObject): JsonObject {
  const known: Json | undefined = inputSchema['properties']
  if (!isJsonObject(known)) return args
  const taken = new Set(Object.keys(args))
  const renamed = Object.entries(args).map(([name, value]): readonly [string, Json] => {
    const ours = ARGUMENT_ALIASES.get(name)
    if (ours === undefined || taken.has(ours)) return [name, value]
    if (Object.hasOwn(known, name) || !Object.hasOwn(known, ours)) return [name, value]
    taken.add(ours)
    return [ours, value]
  })
  return renamed.every(([name]) => Object.hasOwn(args, name)) ? args : Object.fromEntries(renamed)
}

/** Translates a call with tool names, argument names and argument shapes of other agents. */
export function canonicalCall<Call extends { readonly name: string; readonly arguments: Json }>(
  call: Call, toolNamed: (name: string) => Pick<ToolDefinition, 'inputSchema'> | undefined,
): Call {
  const isKnown = (known: string) => toolNamed(known) !== undefined
  const alias = isKnown(call.name) ? undefined : aliasOf(call.name, call.arguments)
  const name = alias && isKnown(alias.tool) ? alias.tool : canonicalToolName(call.name, isKnown)
  const tool = toolNamed(name)
  if (!tool || !isJsonObject(call.arguments)) return { ...call, name }
  const args = alias?.tool === name ? alias.shape?.(call.arguments) ?? call.arguments : call.arguments
  return { ...call, name, arguments: renameArguments(args, tool.inputSchema) }
}
