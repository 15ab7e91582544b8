import {
  BulkheadError, DEFAULT_LIMITS, mayChangeDisk, NO_COMMAND_WALLS, POOL_LIMITS, requireOptions, type CompartmentLimits, type CompartmentRequest,
  type CapabilityUse, type CommandWalls, type CompartmentSession, type DryRun, type Sandbox,
} from '@bulkhead/contract'
import { requireNodeVersion } from '@bulkhead/kit/node-version'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { messageOf } from '@bulkhead/kit/error-message'
import {
  commandRefusals, commandWalls, foldersOf, mentionsResourceShortage, preloadCode, previewDiff, SpareLauncher, UsedSecrets, whyUnrecorded,
  type OperatorEnvironment,
} from '@bulkhead/broker'
import { jailState } from './jail/server-jail.ts'
import { loadImage, warmImage } from './process/image.ts'
import { threadStarter } from './process/thread-hull.ts'
import { walledHulls } from './process/walled-hulls.ts'
import { openCompartment } from './session/open.ts'
import { detectOsLayers, osLayersFor, type OsMode, withoutLayers } from './os/os-layers.ts'
import { MissingLayers, wallsOf } from './os/walls.ts'
import { inspectedPool, isInspected, patiently, type Inspection } from './pool/inspected.ts'
import { HullPool, type PoolUsage, type PooledPlacement, type Pools } from './pool/hull-pool.ts'
import { EvictableSession } from './session/evictable-session.ts'
import type { FailureListener } from './session/failures.ts'
import { Residency, type SessionOpener } from './session/residency.ts'
import { SessionPool } from './session/session-pool.ts'

interface PoolOptions {
  /** Spares of each placement, started after its first opening. Default: one. */
  readonly spares?: { readonly process?: number; readonly thread?: number }
  /** Hulls and threads at once, spares included. Further openings wait. Default: 64 each. */
  readonly most?: { readonly hulls?: number; readonly threads?: number }
  /** Layers of the operating system around child processes: those that work, all of them as a requirement, or none. */
  readonly os?: OsMode
  /**
   * A folder of the host where the results of trials of the layers are kept until the system starts again. Absolute.
   * Absent: each process tries them.
   */
  readonly cache?: string
}

export interface SandboxOptions extends PoolOptions {
  /** The folder that relative paths of tools refer to. Absolute. */
  readonly workspace: string
  /**
   * After how many idle ms a compartment is closed; the next call opens it again. The session stays the same, and the
   * phases run as at any end and start. Default: five minutes. `Infinity`: only when other openings wait.
   */
  readonly idleMs?: number
  /** Search path and environment for tools that may run any command. Absent: the same as for other tools. */
  readonly operator?: OperatorEnvironment
  /**
   * Folders of the host, canonical: no tool reaches into them, whatever pattern covers them, unless the pattern starts
   * there.
   */
  readonly kept?: readonly string[]
  /** Folders with the host's code, canonical: no tool writes there, whatever pattern covers them. Commands may. */
  readonly ownCode?: readonly string[]
  /** The folder of the project layer, canonical, even if missing: no tool writes there, nor a sandboxed command. */
  readonly projectLayer?: string
  /** The files of the store, canonical, as `ProtectedPlaces` takes them. No tool or sandboxed command writes them. */
  readonly storeFiles?: readonly string[]
  /**
   * Where changes of several files are noted until they are complete, so that `recoverUpdates` can finish them after a
   * kill. Absolute, and out of reach for tools. Absent: a kill may leave only some of them.
   */
  readonly journal?: string
  readonly dryRun?: DryRun
  /** Called after each use of a power, unless there is a dry run, which records them. Contract: must not throw. */
  readonly onUse?: (use: CapabilityUse) => void
  /** Called for each error that the code of an extension threw. Contract: must not throw. */
  readonly onFailure?: FailureListener
  /** Opens debuggers. Absent: none can be opened. */
  readonly inspect?: Inspection
}

export interface PooledSandbox extends Required<Omit<Sandbox, 'workersFor'>> {
  /**
   * Starts the spares of a placement now, instead of after its first opening. Resolves when they are ready for
   * extensions with these limits. Default: the default limits.
   */
  warm(placement: PooledPlacement, limits?: CompartmentLimits): Promise<void>
  /** How many hulls of each placement are in use, how many are spare, and how many openings wait. */
  usage(): Readonly<Record<PooledPlacement, PoolUsage>>
  /** @deprecated Use `usage`. */
  census(): Readonly<Record<PooledPlacement, PoolUsage>>
}

/** A tool in use is called again sooner; an unused one costs a thread or a process. */
const IDLE_MS = 300_000

/** A compartment that was just called will soon be called again, and is not evicted. */
const MIN_IDLE_MS = 250

const SPARE = forms.count(0, POOL_LIMITS.spares)
const AT_ONCE = forms.count(1, POOL_LIMITS.most)

const OPTIONS: OptionForms<SandboxOptions> = {
  workspace: forms.text, cache: forms.text, idleMs: forms.above(0),
  dryRun: forms.having('used'), onUse: forms.method, onFailure: forms.method,
  inspect: forms.having('onListening'),
  kept: forms.list(forms.text), ownCode: forms.list(forms.text), projectLayer: forms.text,
  storeFiles: forms.list(forms.text), journal: forms.text,
  operator: forms.fields({
    path: forms.list(forms.text), env: forms.values(forms.text), guarded: forms.values(forms.text),
    read: forms.list(forms.text), keys: forms.list(forms.object), outputBytes: forms.above(0),
  }),
  spares: forms.fields({ process: SPARE, thread: SPARE }), most: forms.fields({ hulls: AT_ONCE, threads: AT_ONCE }),
  os: forms.oneOf('auto', 'require', 'off'),
}

/** Creates a sandbox. `close` ends all its compartments. Throws ConfigInvalid for invalid options. */
export function createSandbox(given: SandboxOptions): PooledSandbox {
  requireNodeVersion()
  requireOptions('createSandbox', given, OPTIONS, 'workspace')
  const { workspace, idleMs = IDLE_MS, operator, dryRun, onUse, onFailure, inspect, ...places } = given
  const { kept, ownCode, projectLayer, storeFiles, journal, ...options } = places
  const usedSecrets = new UsedSecrets()
  const sessions = new Set<CompartmentSession>()
  const { os = 'auto' } = options
  const missing = new MissingLayers()
  const spares = new SpareLauncher()
  const pools = createPools(options, missing, (placement) => makeRoom(placement))
  const inspected = inspect && { ...pools, process: inspectedPool(inspect, os, options.most?.hulls ?? MOST) }
  const opening = new Set<Promise<unknown>>()
  const closed = new AbortController()

  let found: Promise<CommandWalls> | undefined
  /** A command that ran without its wall since then proves the opposite. */
  const wallsAroundCommands = async (): Promise<CommandWalls> => {
    found ??= commandWalls(workspace, operator?.env.HOME).catch((error: unknown) => {
      found = undefined
      throw error
    })
    const walls = await found
    return missing.lacksCommandWall ? NO_COMMAND_WALLS : walls
  }
  const folders = foldersOf({ reserved: kept, ownCode, projectLayer, storeFiles })
  const whyNotStarted = commandRefusals(
    { workspace, operator, projectLayer, requiresSandbox: os === 'require', ...folders }, spares,
  )
  const openOne: SessionOpener = (request, residency) => {
    const signal = request.signal === undefined ? closed.signal : AbortSignal.any([closed.signal, request.signal])
    const broker = {
      operator, reserved: kept, ownCode, projectLayer, storeFiles, usedSecrets, journal, dryRun, onUse, onFailure,
      missingSandbox: missing, requiresSandbox: os === 'require', spares,
    }
    const from = isInspected(inspect, request) ? inspected! : pools
    return openCompartment({ ...request, signal }, residency, workspace, from, broker)
  }
  const openAll: SessionOpener = (request, residency) =>
    (request.concurrency ?? 1) === 1 ? openOne(request, residency) : SessionPool.open(request, openOne, residency)
  const open = async (asked: CompartmentRequest): Promise<CompartmentSession> => {
    const stays = isInspected(inspect, asked)
    const request = stays ? patiently(asked) : asked
    const session = request.placement === 'inline'
      ? await openAll(request, new Residency())
      : await EvictableSession.open(request, openAll, stays ? Infinity : idleMs)
    sessions.add(session)
    void session.ended.then(() => sessions.delete(session))
    return session
  }

  const usage = () => ({ process: pools.process.usage, thread: pools.thread.usage })

  /** Evicts the compartment that has been idle for longest. */
  const makeRoom = (placement: PooledPlacement): void => {
    const evictable = [...sessions].filter((session) => session instanceof EvictableSession)
      .filter((session) => session.placement === placement)
    const cooling = evictable.filter(({ state }) => state === 'cooling').length
    if (cooling >= pools[placement].usage.inLine) return
    const idle = evictable.filter(({ idleMs: ms }) => ms >= MIN_IDLE_MS)
    idle.toSorted((one, other) => other.idleMs - one.idleMs)[0]?.evict()
  }

  return {
    async open(request) {
      if (closed.signal.aborted) throw closed.signal.reason
      if (request.remote) throw withoutWorkers(request.extension.id)
      const isSafe = request.placement === 'inline' || !mayChangeDisk(request)
      const attempt = isSafe ? open(request) : loadLateCode().then(() => open(request))
      opening.add(attempt)
      try {
        return await attempt
      } finally {
        opening.delete(attempt)
      }
    },
    async prepare({ placement, limits }) {
      if (placement !== 'inline' && !closed.signal.aborted) await pools[placement].prepare(limits)
    },
    async warm(placement, limits = DEFAULT_LIMITS) {
      closed.signal.throwIfAborted()
      await pools[placement].warm(limits)
    },
    watchWalls: (listener) => missing.watch(listener),
    async tryWalls() {
      // The next opening reports the error.
      const layers = await osLayersFor(os, () => detectOsLayers(options.cache)).catch(() => undefined)
      if (layers !== undefined) missing.ofProcesses(layers, os)
    },
    commandWalls: wallsAroundCommands,
    diff: (writes, grant) => previewDiff(writes, grant, workspace, folders),
    whyUnrecorded: (grant, signal) => whyUnrecorded(grant, { workspace, folders, journal }, signal),
    whyNotStarted,
    async walls() {
      // Not `osLayersFor`: a required layer that is missing would end the report.
      const [layers, aroundCommands, aroundServers] = await Promise.all([
        os === 'off' ? withoutLayers('sandbox.os is "off"') : detectOsLayers(options.cache),
        wallsAroundCommands(), jailState(),
      ])
      return wallsOf(layers, os, aroundCommands, aroundServers)
    },
    usage,
    census: usage,
    async close() {
      closed.abort(new BulkheadError('HostClosed', 'The sandbox is closed.'))
      await Promise.allSettled(opening)
      await Promise.all([...sessions].map((session) => session.close()))
      await Promise.all([...Object.values(pools), inspected?.process].map((pool) => pool?.close()))
      spares.close()
    },
  }
}

const withoutWorkers = (id: string): BulkheadError => new BulkheadError(
  'CapabilityUnavailable', `"${id}" is configured to run on a worker, and this sandbox has none. Remove its runsOn.`,
)

let loading: Promise<unknown> | undefined

/**
 * Loads all code that a compartment can cause this process to load, before an extension runs that could change it on
 * the disk. Never rejects; the code that needs a missing part reports it.
 */
function loadLateCode(): Promise<unknown> {
  loading ??= Promise.allSettled([
    loadImage(), ...preloadCode(),
  ]).then((outcomes) => {
    // After a lack of resources the next opening tries again.
    const failures = outcomes.flatMap((outcome) => outcome.status === 'rejected' ? [messageOf(outcome.reason)] : [])
    if (failures.some(mentionsResourceShortage)) loading = undefined
  })
  return loading
}

const SPARES = 1
const MOST = 64

/** `crowded` is called while openings of that placement wait. */
function createPools(
  { spares = {}, most = {}, os = 'auto', cache }: PoolOptions,
  missing: MissingLayers,
  crowded: (placement: PooledPlacement) => void,
): Pools {
  return {
    process: new HullPool({
      starter: (shape, onBegun) => walledHulls(shape, {
        os, folder: cache, onBegun, onLayers: (layers) => missing.ofProcesses(layers, os),
      }),
      beforeSpares: warmImage,
      most: most.hulls ?? MOST,
      spares: spares.process ?? SPARES,
      crowded: () => crowded('process'),
    }),
    thread: new HullPool({
      starter: async () => ({ start: threadStarter(await loadImage()) }),
      beforeSpares: warmImage,
      most: most.threads ?? MOST,
      spares: spares.thread ?? SPARES,
      crowded: () => crowded('thread'),
    }),
  }
}
