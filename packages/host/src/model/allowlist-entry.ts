import { matchSegment } from '@bulkhead/kit/glob'

/** An entry of an allow-list: `TOOL` covers every key of a tool, `TOOL:KEY` the keys that match. */
export interface AllowlistEntry {
  /** A name such as `read`, a pattern such as `mem_*`, or where a tool comes from, such as `mcp:github:*`. */
  readonly tool: string
  readonly key: string | undefined
}

/** Names of tools have no colon. `mcp:github` is every tool of the server. */
const SOURCE_ENTRY = /^((?:mcp|openapi):[^:]+)(?::([^:]*)(?::(.*))?)?$/s
const ENTRY = /^([^:]*)(?::(.*))?$/s

export function readAllowlistEntry(entry: string): AllowlistEntry {
  const [, server, ofServer = '*', keyOfServer] = SOURCE_ENTRY.exec(entry) ?? []
  if (server !== undefined) return { tool: `${server}:${ofServer}`, key: keyOfServer }
  const [, tool = entry, key] = ENTRY.exec(entry) ?? []
  return { tool, key }
}

/** Whether an entry would cover every tool, as a mode does. It covers none. */
export const isEveryTool = ({ tool }: AllowlistEntry): boolean => /^\*+$/.test(tool)

/** Whether an entry covers a call with this key. */
export const isListed = (
  entry: string, tool: { readonly name: string; readonly source: string | undefined }, key: string,
): boolean => {
  const listed = readAllowlistEntry(entry)
  return !isEveryTool(listed)
    && [tool.name, tool.source].some((name) => name !== undefined && matchSegment(listed.tool, name))
    && (listed.key === undefined || matchSegment(listed.key, key))
}
