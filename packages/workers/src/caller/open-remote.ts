import { NO_GRANT, type CompartmentRequest, type CompartmentSession, type RemoteCode, type Sandbox } from '@bulkhead/contract'
import type { FleetCaller } from './fleet-caller.ts'
import { RemoteSession } from './remote-session.ts'

/**
 * Opens an extension whose calls run on workers: all of them, or those that a rule names. `sandbox`: of this machine.
 * Rejects as `connect` does if no call runs here.
 */
export async function openRemote(
  { remote, ...request }: CompartmentRequest & { readonly remote: RemoteCode }, connect: () => Promise<FleetCaller>,
  sandbox: Pick<Sandbox, 'open'>,
): Promise<CompartmentSession> {
  const isElsewhere = remote.runsOn !== undefined
  if (isElsewhere) await connect()
  const local = await sandbox.open(isElsewhere ? withoutPowers(request) : request)
  return new RemoteSession({ connect, request, remote }, local)
}

/** The code answers questions about arguments and state. `describes`: it may import what it does not get here. */
function withoutPowers(request: CompartmentRequest): CompartmentRequest {
  const { services } = request
  return {
    ...request, placement: 'process', concurrency: 1, describes: true,
    tools: request.tools.map((tool) => ({ ...tool, grant: NO_GRANT })),
    services: { log: services.log, env: new Map(), envDeclared: new Set() },
  }
}
