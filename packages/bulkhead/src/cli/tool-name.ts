import type { McpServerStatus } from '@bulkhead/bridges/mcp'
import { canonicalToolName } from '@bulkhead/contract/dialects'
import type { Host } from '../create-host.ts'

/**
 * The name under which the host knows a tool that a person may call as other hosts do, such as mcp:server.tool. `connecting` starts
 * or reaches servers it could be of and that nobody has heard of yet.
 */
export async function nameOfTool(host: Pick<Host, 'mcp' | 'tool'>, name: string, connecting: boolean): Promise<string> {
  const meant = connecting ? serversMeant(name, host.mcp.servers()) : []
  if (meant.length > 0) await host.mcp.connect(meant)
  return canonicalToolName(name, (known) => host.tool(known) !== undefined)
}

function serversMeant(tool: string, servers: readonly McpServerStatus[]): readonly string[] {
  const flat = (text: string) => text.replaceAll(/[^A-Za-z0-9_]/g, '_')
  const wanted = flat(tool).replace(/^mcp_+/, '')
  return servers.filter(({ name, tools, state }) => tools === undefined && state !== 'disabled' && wanted.startsWith(`${flat(name)}_`))
    .map(({ name }) => name)
}
