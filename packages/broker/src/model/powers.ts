import type { CompartmentServices, CompartmentTool, RuntimePart } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'

/**
 * The parts of `runtime` a tool gets: those it declared, even if the grant is empty. A denial explains more than a
 * missing object.
 */
export function powersOf({ grant, requires }: CompartmentTool, services: CompartmentServices): ReadonlySet<RuntimePart> {
  const fs = isJsonObject(requires['fs']) ? requires['fs'] : ({} satisfies JsonObject as JsonObject)
  const powers = new Set<RuntimePart>()
  if (grant.fs.read.length > 0 || Array.isArray(fs['read'])) powers.add('fs.read')
  if (grant.fs.write.length > 0 || Array.isArray(fs['write'])) powers.add('fs.write')
  if (grant.net.hosts.length > 0 || requires['net'] !== undefined) powers.add('net')
  if (grant.shell.length > 0 || Array.isArray(requires['shell'])) powers.add('shell')
  if (grant.capabilities.includes('interact')) powers.add('interact')
  if (grant.capabilities.includes('tools.call')) powers.add('tools')
  if (grant.capabilities.includes('session')) powers.add('session')
  if (services.envDeclared.size > 0) powers.add('env')
  if (services.secrets !== undefined && services.secrets.size > 0) powers.add('secrets')
  if (services.state !== undefined) powers.add('state')
  return powers
}

/** A declared power that this platform cannot enforce is an error, never a warning. */
export function refuseUnenforceable({ name, grant }: CompartmentTool, services: CompartmentServices): void {
  const missing = [
    // Without process groups a command cannot be ended together with what it started.
    ...(grant.shell.length > 0 && process.platform === 'win32' ? ['shell'] : []),
    ...(grant.capabilities.includes('tools.call') && services.callTool === undefined ? ['tools.call'] : []),
  ]
  if (missing.length === 0) return
  throw new BulkheadError(
    'CapabilityUnavailable',
    `The tool ${name} declares ${missing.join(', ')}, which this host cannot enforce, so its compartment was not opened. `
      + 'Drop the declaration, or use a host that enforces it.',
    { data: { tool: name, missing } },
  )
}
