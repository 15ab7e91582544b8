import type { McpServerStatus } from '@bulkhead/bridges/mcp'
import type { Json } from '@bulkhead/kit/json'
import { canonicalCall } from '@bulkhead/contract/dialects'
import type { Host } from '../facade/create-host.ts'
import { serverMeant } from './server-rows.ts'

/**
 * The call that a person means who names a tool and its arguments as other hosts do, such as mcp:server.tool. `connecting` starts or
 * reaches servers it could be of and that nobody has heard of yet.
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
