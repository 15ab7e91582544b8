import type { CompartmentLimits, CompartmentRequest, CompartmentSession, Sandbox } from '@bulkhead/contract'
import { requireNodeVersion } from '@bulkhead/kit/node-version'
import { BulkheadError, DEFAULT_LIMITS, requireOptions } from '@bulkhead/contract'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { UsedSecrets, type OperatorEnvironment } from '@bulkhead/broker'
import { loadLateCode } from './process/late-code.ts'
import { openCompartment } from './session/open.ts'
import { MissingWalls } from './os/missing-walls.ts'
import { osLayersFor } from './os/os-layers.ts'
import type { Census } from './pool/hull-pool.ts'
import type { PooledPlacement, PoolOptions } from './pool/pools.ts'
import { createPools } from './pool/pools.ts'
import { SleepySession, type OpenSession } from './session/evictable-session.ts'
import { SpreadSession } from './session/session-pool.ts'

export interface SandboxOptions extends PoolOptions {
  /** The folder that relative paths of tools mean. Absolute. */
  readonly workspace: string
  /**
   * After how many ms without a call a compartment is given back; the next call wakes it. Its session stays the same, and its
   * phases are run as at any other end and start. Five minutes unless given; `Infinity`: only when others wait in line for a place.
   */
  readonly idleMs?: number
  /** What commands of a tool that may run every one are found in and find. Absent: no more than those of any other tool. */
  readonly operator?: OperatorEnvironment
  /** Folders of the host's own, canonical: no tool reaches into them, whatever pattern covers them, unless it begins there. */
  readonly kept?: readonly string[]
  /** Folders with the host's own code, canonical: no tool writes there, whatever pattern covers them. Commands may. */
  readonly ownCode?: readonly string[]
  /** The folder of the project layer, canonical, whether it is there or not: no tool writes there, nor a command inside a sandbox of the system. */
  readonly projectLayer?: string
}

export interface PooledSandbox extends Required<Sandbox> {
  /**
   * Starts the spares of a placement now, instead of after its first opening, and resolves when they wait for extensions with
   * these limits, or the default ones.
   */
  warm(placement: PooledPlacement, limits?: CompartmentLimits): Promise<void>
  /** How many places of each kind are in use, how many are spare, and how many openings wait in line. */
  census(): Readonly<Record<PooledPlacement, Census>>
}

/** A tool that a conversation uses is called again sooner; one that it does not costs a thread, or a process, for nothing. */
const IDLE_MS = 300_000

/** Who was called just now will soon be again. */
const UNUSED_MS = 250

const OPTIONS: OptionForms<SandboxOptions> = {
  workspace: forms.text, idleMs: forms.above(0), kept: forms.list(forms.text), ownCode: forms.list(forms.text), projectLayer: forms.text,
  operator: forms.fields({ path: forms.list(forms.text), env: forms.values(forms.text), outputBytes: forms.above(0) }),
  spares: forms.values(forms.number), most: forms.values(forms.number), os: forms.oneOf('auto', 'require', 'off'),
}

/** Places for code of extensions, all of them ended by `close`. Throws ConfigInvalid for options that cannot be used. */
export function createSandbox(given: SandboxOptions): PooledSandbox {
  requireNodeVersion()
  requireOptions('createSandbox', given, OPTIONS, 'workspace')
  const { workspace, idleMs = IDLE_MS, operator, kept, ownCode, projectLayer, ...options } = given
  const usedSecrets = new UsedSecrets()
  const sessions = new Set<CompartmentSession>()
  const { os = 'auto' } = options
  const walls = new MissingWalls()
  const pools = createPools(options, walls, (placement) => makeRoom(placement))
  const opening = new Set<Promise<unknown>>()
  const closed = new AbortController()

  const openOne: OpenSession = (request) => {
    const signal = request.signal === undefined ? closed.signal : AbortSignal.any([closed.signal, request.signal])
    const broker = { operator, reserved: kept, ownCode, projectLayer, usedSecrets, missingSandbox: walls, requiresSandbox: os === 'require' }
    return openCompartment({ ...request, signal }, workspace, pools, broker)
  }
  const openSpread: OpenSession = (request) =>
    (request.concurrency ?? 1) === 1 ? openOne(request) : SpreadSession.open(request, openOne)
  const open = async (request: CompartmentRequest): Promise<CompartmentSession> => {
    const session = request.placement === 'inline'
      ? await openSpread(request)
      : await SleepySession.open(request, openSpread, idleMs)
    sessions.add(session)
    void session.ended.then(() => sessions.delete(session))
    return session
  }

  /** The place of whoever has not been called for longest goes to whoever waits for one. */
  const makeRoom = (placement: PooledPlacement): void => {
    const sleepy = [...sessions].filter((one): one is SleepySession => one instanceof SleepySession && one.placement === placement)
    const leaving = sleepy.filter(({ isFallingAsleep }) => isFallingAsleep).length
    if (leaving >= pools[placement].census.inLine) return
    const unused = sleepy.filter(({ unusedMs }) => unusedMs >= UNUSED_MS)
    unused.toSorted((one, other) => other.unusedMs - one.unusedMs)[0]?.giveBack()
  }

  return {
    async open(request) {
      if (closed.signal.aborted) throw closed.signal.reason
      const attempt = request.placement === 'inline' ? open(request) : loadLateCode().then(() => open(request))
      opening.add(attempt)
      try {
        return await attempt
      } finally {
        opening.delete(attempt)
      }
    },
    async warm(placement, limits = DEFAULT_LIMITS) {
      closed.signal.throwIfAborted()
      await pools[placement].warm(limits)
    },
    watchWalls: (listener) => walls.watch(listener),
    async tryWalls() {
      // What fails is reported by the opening that needs it.
      const layers = await osLayersFor(os).catch(() => undefined)
      if (layers !== undefined) walls.ofProcesses(layers, os)
    },
    census: () => ({ process: pools.process.census, thread: pools.thread.census }),
    async close() {
      closed.abort(new BulkheadError('HostClosed', 'The sandbox is closed.'))
      await Promise.allSettled(opening)
      await Promise.all([...sessions].map((session) => session.close()))
      await Promise.all(Object.values(pools).map((pool) => pool.close()))
    },
  }
}
