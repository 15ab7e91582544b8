import type { McpServerStatus } from '@bulkhead/bridges/mcp'
import { SECURITY_MODES, type SecurityMode } from '@bulkhead/contract'
import { canonicalCall } from '@bulkhead/contract/dialects'
import { type Json, parseJson } from '@bulkhead/kit/json'
import type { Host } from '../facade/create-host.ts'
import { UsageError } from './command.ts'
import { serverMeant } from './diagnostic-text.ts'

export function readArguments(text = '{}'): Json {
  const parsed = parseJson(text)
  if (!parsed.ok) throw new UsageError(`--args ${parsed.fault.path === '' ? '' : `at ${parsed.fault.path} `}${parsed.fault.message}.`)
  return parsed.value
}

export function readMode(text: string | undefined): SecurityMode | undefined {
  const mode = SECURITY_MODES.find((known) => known === text)
  if (text !== undefined && mode === undefined) throw new UsageError(`--mode must be one of ${SECURITY_MODES.join(', ')}, not "${text}".`)
  return mode
}

/**
 * Resolves tool names in the notation of other hosts, such as mcp:server.tool. With `connecting`, connects first to matching
 * servers whose tools are not known yet.
 */
export async function meantCall<Call extends { readonly name: string; readonly arguments: Json }>(
  host: Pick<Host, 'mcp' | 'tool'>, call: Call, connecting: boolean,
): Promise<Call> {
  const meant = connecting ? serversMeant(call.name, host.mcp.servers()) : []
  if (meant.length > 0) await host.mcp.connect(meant)
  return canonicalCall(call, (name) => host.tool(name))
}

const serversMeant = (tool: string, servers: readonly McpServerStatus[]): readonly string[] =>
  servers.filter((server) => server.tools === undefined && server.state !== 'disabled' && serverMeant(tool, server)).map(({ name }) => name)
