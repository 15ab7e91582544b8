import type { Placements, RemoteCode, RunsOn, VariableValues, WorkersFor } from '@bulkhead/contract'
import type { TrustedKey } from '../keys/fleet-file.ts'
import type { MachineKey } from '../keys/machine-key.ts'
import { majorOf, whyNotReady } from './no-worker.ts'

/** What a host needs to make calls on workers. */
export interface CallerOptions {
  readonly placements: Placements
  readonly key: MachineKey
  /** Read for each call: keys may be added while the host runs. Throws ConfigInvalid. */
  readonly workers: () => readonly TrustedKey[]
  /** The version of Bulkhead. */
  readonly version: string
  /** The values of the variables here. Their paths do not leave this machine. */
  readonly variables: VariableValues
  /** The files of a package as bytes that `admit` of a worker reads. */
  readonly packFiles: (files: ReadonlyMap<string, Uint8Array>) => Promise<Uint8Array>
}

/** The side of the caller: what its calls share. */
export class FleetCaller {
  readonly options: CallerOptions
  readonly major: number
  readonly #sent = new Map<string, Promise<void>>()

  constructor(options: CallerOptions) {
    this.options = options
    this.major = majorOf(options.version)
  }

  isTrustedWorker(key: string): boolean {
    const { placements: { tenant }, workers } = this.options
    return workers().some((worker) => worker.key === key && (worker.tenant === undefined || worker.tenant === tenant))
  }

  /** Puts the package where workers find it. Rejects with StoreUnavailable. */
  send({ digests, readPackage }: RemoteCode): Promise<void> {
    const digest = digests.package
    const known = this.#sent.get(digest)
    if (known) return known
    const sending = this.#send(digest, readPackage)
    this.#sent.set(digest, sending)
    sending.catch(() => this.#sent.delete(digest))
    return sending
  }

  async #send(digest: string, read: RemoteCode['readPackage']): Promise<void> {
    const { placements, packFiles } = this.options
    if (await placements.hasPackage(digest)) return
    await placements.writePackage(digest, await packFiles(await read()))
  }

  async workersFor(runsOn: RunsOn): Promise<WorkersFor> {
    const demand = { labels: runsOn.labels, ...(runsOn.workspace !== undefined && { workspace: runsOn.workspace }), major: this.major }
    const workers = await this.options.placements.workers()
    const judged = workers.map((worker) => ({ worker, why: whyNotReady(worker, demand) }))
    return {
      ready: judged.filter(({ why }) => why === undefined).map(({ worker }) => `${worker.machine} (${worker.id})`),
      reasons: workers.length === 0 ? ['No worker uses the store.']
        : judged.flatMap(({ why }) => why === undefined ? [] : [why]),
    }
  }
}
