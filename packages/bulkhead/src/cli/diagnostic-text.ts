import { styleText } from 'node:util'
import type { McpServerStatus } from '@bulkhead/bridges/mcp'
import type { Diagnostic, ErrorCode } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { Host } from '../facade/create-host.ts'
import { table } from './output.ts'

/** Errors of a call to a tool that could not be loaded. */
const UNLOADED: ReadonlySet<ErrorCode> = new Set(['ToolNotRegistered', 'ToolsDisabled'])

/** If a call failed because the tool is missing, prints possible reasons on standard error. */
export function tellFaults(
  refusedWith: ErrorCode | undefined, name: string, { diagnostics: found, tools, mcp }: Pick<Host, 'diagnostics' | 'tools' | 'mcp'>,
): void {
  if (refusedWith === undefined || !UNLOADED.has(refusedWith)) return
  const offered = tools().filter(({ extension }) => extension === name).map((tool) => tool.name)
  if (offered.length > 0) process.stderr.write(`"${visibleText(name)}" is an extension. It offers ${offered.join(', ')}.\n`)
  const servers = mcp.servers().filter((server) => serverMeant(name, server))
  process.stderr.write(serverFaults(servers))
  const faults = found.filter(({ severity, code }) => severity === 'error' || code === 'ProjectTrustRequired')
  process.stderr.write(faults.map((fault) => diagnosticText(fault, process.stderr)).join(''))
}

/** A diagnostic as text: problem, location and fix. */
export function diagnosticText(found: Diagnostic, stream: NodeJS.WriteStream = process.stdout): string {
  const colour = found.severity === 'error' ? 'red' : 'yellow'
  const place = found.path === '' ? found.location : `${found.location} at ${found.path}`
  const fallback = found.fallbackTo === undefined ? '' : ` The version in the ${found.fallbackTo} layer is used instead.`
  return [
    '',
    `${styleText(colour, found.severity, { stream })} ${found.code} (${found.stage})${found.extensionId === null ? '' : ` in ${visibleText(found.extensionId)}`}`,
    `  ${visibleText(found.message)}${fallback}`,
    `  where: ${visibleText(place)}`,
    `  cure:  ${visibleText(found.cure)}`,
    '',
  ].join('\n')
}

const HEADINGS = ['SERVER', 'TYPE', 'LAYER', 'STATE', 'TOOLS', 'ADDRESS']

/** The table of MCP servers. Empty if there are none. */
export function serverTable(servers: readonly McpServerStatus[]): string {
  if (servers.length === 0) return ''
  const rows = servers.map(({ name, type, layer, state, tools, address }) =>
    [name, type === 'local' ? 'local, not confined' : type, layer, state, tools === undefined ? '-' : String(tools), address])
  const isUnknown = servers.some(({ state }) => state === 'unknown')
  const hint = isUnknown ? 'Run "bulkhead tools --connect" to connect to the servers and list their tools.\n' : ''
  return `\n${table(HEADINGS, rows)}${serverFaults(servers)}${hint}`
}

/** One line for each server that failed. */
export const serverFaults = (servers: readonly McpServerStatus[]): string =>
  servers.map(({ name, error }) => error ? `${name}: ${error.code} ${visibleText(error.message)}\n` : '').join('')

/** The servers as JSON, with each error reduced to code and message. */
export const serverJson = (servers: readonly McpServerStatus[]) =>
  servers.map(({ error, ...status }) => ({ ...status, ...(error && { error: { code: error.code, message: error.message } }) }))

/** Whether a tool name could belong to this server. */
export function serverMeant(tool: string, { name }: Pick<McpServerStatus, 'name'>): boolean {
  const flat = (text: string) => text.replaceAll(/[^A-Za-z0-9_]/g, '_')
  return flat(tool).replace(/^mcp_+/, '').startsWith(`${flat(name)}_`)
}
