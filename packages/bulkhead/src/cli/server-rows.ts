import type { McpServerStatus } from '@bulkhead/bridges/mcp'
import { visibleText } from '@bulkhead/kit/text'
import { table } from './table.ts'

const HEADINGS = ['SERVER', 'TYPE', 'LAYER', 'STATE', 'TOOLS', 'ADDRESS']

/** The MCP servers for people; nothing where there are none. */
export function serverTable(servers: readonly McpServerStatus[]): string {
  if (servers.length === 0) return ''
  const rows = servers.map(({ name, type, layer, state, tools, address }) =>
    [name, type === 'local' ? 'local, not confined' : type, layer, state, tools === undefined ? '-' : String(tools), address])
  const isUnknown = servers.some(({ state }) => state === 'unknown')
  const hint = isUnknown ? '"bulkhead tools --connect" starts or reaches servers, and lists what they offer.\n' : ''
  return `\n${table(HEADINGS, rows)}${serverFaults(servers)}${hint}`
}

/** What is wrong with those of them that are of no use, a line each. */
export const serverFaults = (servers: readonly McpServerStatus[]): string =>
  servers.map(({ name, error }) => error ? `${name}: ${error.code} ${visibleText(error.message)}\n` : '').join('')

/** For scripts: an error as its code and words. */
export const serverJson = (servers: readonly McpServerStatus[]) =>
  servers.map(({ error, ...status }) => ({ ...status, ...(error && { error: { code: error.code, message: error.message } }) }))

/** Whether the name of a tool is one that this server could have given it. */
export function serverMeant(tool: string, { name }: Pick<McpServerStatus, 'name'>): boolean {
  const flat = (text: string) => text.replaceAll(/[^A-Za-z0-9_]/g, '_')
  return flat(tool).replace(/^mcp_+/, '').startsWith(`${flat(name)}_`)
}
