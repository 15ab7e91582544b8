import { NO_GRANT, type CompartmentRequest, type CompartmentSession, type RemoteCode, type Sandbox } from '@bulkhead/contract'
import type { FleetCaller } from './fleet-caller.ts'
import { RemoteSession } from './remote-session.ts'

/** Opens an extension whose calls run on workers. `sandbox`: of this machine, for what only decides. */
export async function openRemote(
  request: CompartmentRequest & { readonly remote: RemoteCode }, caller: FleetCaller, sandbox: Pick<Sandbox, 'open'>,
): Promise<CompartmentSession> {
  return new RemoteSession({ caller, request, remote: request.remote }, await sandbox.open(withoutPowers(request)))
}

/** The code answers questions about arguments and state. `describes`: it may import what it does not get here. */
function withoutPowers({ remote: _remote, ...request }: CompartmentRequest): CompartmentRequest {
  const { services } = request
  return {
    ...request, placement: 'process', concurrency: 1, describes: true,
    tools: request.tools.map((tool) => ({ ...tool, grant: NO_GRANT })),
    services: { log: services.log, env: new Map(), envDeclared: new Set() },
  }
}
