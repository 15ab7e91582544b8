import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  BulkheadError, ceilingsOf, type Ceiling, requireOptions, type Store, WORKER_LABEL_PATTERN, WORKER_LIMITS, WORKSPACE_NAME_PATTERN,
} from '@bulkhead/contract'
import { ceilingSet, firstFault } from '@bulkhead/contract/validation'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { admitPackage, createLoader } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import {
  type EndedCall, openMachineKey, readFleet, serveHealth, serveWorker, type Worker, type WorkerPlace,
} from '@bulkhead/workers'
import { commandEnvironment } from './command-environment.ts'
import {
  cacheFolder, changesFolder, fleetFile, homeFolder, keptFolders, machineKeyFile, ownCode,
} from './folders.ts'
import { canonicalFolder, type LayerFolders, loaderOptions, userFolder } from './loader-options.ts'
import { givenStore } from './store-choice.ts'
import { CORE_VERSION } from './version.ts'

export interface CreateWorkerOptions extends Pick<LayerFolders, 'cache' | 'machinePolicy'> {
  /** The URL of the store, or an open one, which the worker does not close. Default: as for a host. */
  readonly store?: Store | string
  /** The folder of the global layer: installed packages, configuration, the key and the trusted keys. */
  readonly home?: string
  /** The most that any call may do on this machine. */
  readonly ceiling: Ceiling
  /** What this worker has, such as `gpu` or `region=eu`. */
  readonly labels: readonly string[]
  /** Folders that calls may work on, by the name that callers use. Default: none. */
  readonly workspaces?: Readonly<Record<string, string>>
  /** How many calls run at once. Default: 8. */
  readonly capacity?: number
  /** A port of the loopback interface that answers `GET /health`. 0: any. Default: none. */
  readonly health?: number
  /** Source of declared environment variables and secrets. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Called for each call that ended. It must not throw. */
  readonly onCall?: (ended: EndedCall) => void
}

/** A worker that serves calls. */
export interface RunningWorker extends Pick<Worker, 'info' | 'load' | 'isDraining' | 'drain'> {
  /** Others trust this worker by it. */
  readonly publicKey: string
  /** The port of the health endpoint, if there is one. */
  readonly healthPort: number | undefined
  /** Gives up running calls; `drain` first waits for them. Never rejects. Idempotent. */
  close(): Promise<void>
}

const CAPACITY = WORKER_LIMITS.capacity
const OPTIONS: OptionForms<CreateWorkerOptions> = {
  store: forms.either(forms.text, forms.having('read', 'write', 'close')), home: forms.text, ceiling: forms.object,
  labels: forms.list(forms.text), workspaces: forms.values(forms.text), capacity: forms.count(1, 1_000),
  health: forms.count(0, 65_535), env: forms.object, onCall: forms.method, cache: forms.text, machinePolicy: forms.text,
}

/** Serves calls of hosts on the same store. Rejects with ConfigInvalid, ProjectPathInvalid and StoreUnavailable. */
export async function createWorker(options: CreateWorkerOptions): Promise<RunningWorker> {
  requireOptions('createWorker', options, OPTIONS, 'ceiling', 'labels')
  refuseNames(options)
  const home = homeFolder(options.home)
  const store = await givenStore(options)
  const closing: (() => unknown)[] = store === options.store ? [] : [() => store.close()]
  const close = async () => {
    for (const one of closing.splice(0).toReversed()) await Promise.resolve(one()).catch(() => undefined)
  }
  try {
    if (store.placements === undefined) {
      throw new BulkheadError('ConfigInvalid', 'Workers need a store in PostgreSQL. Name one with `store` or --store.')
    }
    const { placements } = store
    const layers = loaderOptions(home, options, [])
    const bare = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-worker-')))
    closing.push(() => rmSync(bare, { recursive: true, force: true }))
    const report = await createLoader(layers).load({ workspace: bare, trust: 'declined', projectDigest: 'any' })
    const installed = new Map(report.extensions.map((extension) => [extension.digests.package, extension]))
    const { merged } = report.config
    const places = await Promise.all([
      placeAt(bare, false), ...Object.values(options.workspaces ?? {}).map((folder) => placeAt(folder, true)),
    ])
    closing.push(...places.map(({ sandbox }) => () => sandbox.close()))
    const key = openMachineKey(machineKeyFile(home))
    const fleet = () => readFleet(fleetFile(home))
    fleet()
    const worker = await serveWorker({
      placements, key, fleet, version: CORE_VERSION, labels: options.labels, capacity: options.capacity ?? CAPACITY,
      bare: places[0]!,
      workspaces: new Map(Object.keys(options.workspaces ?? {}).map((name, index) => [name, places[index + 1]!])),
      ceilings: [...ceilingsOf(report.config).map(({ ceiling }) => ceiling), options.ceiling],
      limits: merged.limits ?? {}, env: (name) => (options.env ?? process.env)[name],
      async admit(digest, read) {
        const own = installed.get(digest)
        if (own) return own
        const bytes = await read()
        if (bytes === undefined) throw new BulkheadError('NotFound', 'the store does not have it.')
        return admitPackage(bytes, digest, layers, (one) => fleet().packages.some((entry) => entry.digest === one))
      },
      ...(options.onCall && { onCall: options.onCall }),
    })
    closing.push(() => worker.close())
    const health = options.health === undefined ? undefined : await serveHealth(worker, options.health)
    if (health) closing.push(() => health.close())
    return {
      info: worker.info, publicKey: key.publicKey, healthPort: health?.port, drain: () => worker.drain(), close,
      get load() {
        return worker.load
      },
      get isDraining() {
        return worker.isDraining
      },
    }

    async function placeAt(folder: string, isWorkspace: boolean): Promise<WorkerPlace> {
      const workspace = await canonicalFolder(folder)
      const [kept, code] = await Promise.all([keptFolders(home), ownCode()])
      const userData = userFolder(home)
      mkdirSync(userData, { recursive: true })
      return {
        variables: { 'workspace': isWorkspace ? [workspace] : [], 'user-data': [userData] },
        sandbox: createSandbox({
          workspace, cache: cacheFolder(home, options), kept, ownCode: code, journal: changesFolder(home),
          operator: commandEnvironment(options.env ?? process.env, merged.commands), ...merged.sandbox,
        }),
      }
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Throws ConfigInvalid. */
function refuseNames({ labels, workspaces = {}, ceiling }: CreateWorkerOptions): void {
  const label = labels.find((one) => !WORKER_LABEL_PATTERN.test(one))
  if (label !== undefined) throw wrong(`"${label}" is not a label such as gpu or region=eu.`)
  const name = Object.keys(workspaces).find((one) => !WORKSPACE_NAME_PATTERN.test(one))
  if (name !== undefined) throw wrong(`"${name}" is not the name of a workspace, of letters, digits, . _ or -.`)
  const parsed = ceilingSet.safeParse(ceiling)
  if (!parsed.success) {
    throw wrong(`The ceiling is not understood: ${firstFault(parsed.error.issues, ceilingSet, 'it').message}`)
  }
}

const wrong = (message: string): BulkheadError => new BulkheadError('ConfigInvalid', message)
