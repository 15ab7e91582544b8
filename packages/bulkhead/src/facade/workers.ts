import { BulkheadError, type Placements, type RunsOn, type Sandbox, type VariableValues, type WorkersFor } from '@bulkhead/contract'
import { fleetFile, machineKeyFile } from './folders.ts'
import { CORE_VERSION } from './version.ts'

interface WorkersSource {
  /** Of the store. Absent: it is on this machine. */
  readonly placements: Placements | undefined
  readonly home: string
  /** The values of the variables here. */
  readonly variables: VariableValues
}

/** A sandbox that runs the calls of extensions with `runsOn` on workers. The code for it is loaded by the first one. */
export function withWorkers(sandbox: Sandbox, { placements, home, variables }: WorkersSource): Sandbox {
  const connect = async (what: string) => {
    if (placements === undefined) throw withoutServer(what)
    const [{ FleetCaller, openMachineKey, readFleet }, { packFiles }] = await Promise.all([
      import('@bulkhead/workers'), import('@bulkhead/loader'),
    ])
    return new FleetCaller({
      placements, variables, version: CORE_VERSION, packFiles, key: openMachineKey(machineKeyFile(home)),
      workers: () => readFleet(fleetFile(home)).workers,
    })
  }
  let caller: ReturnType<typeof connect> | undefined
  const connected = (what: string) => {
    caller ??= connect(what).catch((thrown: unknown) => {
      caller = undefined
      throw thrown
    })
    return caller
  }
  return {
    ...sandbox,
    async open(request) {
      const { remote, extension: { id } } = request
      if (remote === undefined) return sandbox.open(request)
      const { openRemote } = await import('@bulkhead/workers')
      return openRemote({ ...request, remote }, () => connected(`"${id}" is`), sandbox)
    },
    async workersFor(runsOn: RunsOn): Promise<WorkersFor> {
      try {
        return await (await connected('The extension is')).workersFor(runsOn)
      } catch (thrown) {
        return { ready: [], reasons: [BulkheadError.from(thrown).message] }
      }
    },
  }
}

const withoutServer = (what: string): BulkheadError => new BulkheadError(
  'CapabilityUnavailable', `${what} configured to run on workers, which need a store in PostgreSQL. Name one with store.url `
    + 'or BULKHEAD_STORE, or remove runsOn.',
)
