import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  BulkheadError, type BulkheadEvent, type CompartmentSession, type LoadReport, type Outcome, type Placement,
  type Store,
} from '@bulkhead/contract'
import type { PooledSandbox } from '@bulkhead/sandbox'
import { openSqliteStore } from '@bulkhead/store'
import { createHost, type Host, type CallCheck, type Session, type SessionOptions } from '../../src/index.ts'
import { FOR_PROJECTS } from '../twin/world.ts'
import { ChaosClock } from './chaos-clock.ts'
import { chaosExtension } from './chaos-extension.ts'
import { Crossings, type Fault } from './crossings.ts'
import { killHulls } from './hulls.ts'
import {
  crossedGuard, crossedHooks, crossedInteractor, crossedWatchdog, crossedListener, crossedSandbox, crossedSidecar,
  crossedSmokeCheck, crossedSource, crossedStore,
} from './ports.ts'

/** One host over real ports, each of which can fail at one point. */
export class ChaosWorld {
  readonly crossings: Crossings
  readonly clock: ChaosClock
  readonly events: BulkheadEvent[] = []
  readonly outcomes: Outcome[] = []
  /** Violations so far. */
  readonly faults: string[] = []
  readonly compartments = new Set<CompartmentSession>()
  /** Options of every call. */
  cancel = new AbortController()
  readonly host: Host
  readonly file: string
  readonly #folder: string
  readonly #store: Store
  #killed: Promise<void> | undefined
  /** What the source finds. */
  version = 1

  static async open(sandbox: PooledSandbox, placement: Placement, fault?: Fault): Promise<ChaosWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'bulkhead-chaos-'))
    const file = join(folder, 'host.db')
    const versions = [await chaosExtension(placement, 1), await chaosExtension(placement, 2)]
    return new ChaosWorld({ folder, file, store: await openSqliteStore({ file }), sandbox, placement, versions }, fault)
  }

  private constructor(parts: WorldParts, fault: Fault | undefined) {
    const { folder, file, store, sandbox, placement, versions } = parts
    this.file = file
    this.#folder = folder
    this.#store = store
    this.crossings = new Crossings(fault, {
      kill: () => {
        this.#killed = killHulls(placement, this.compartments)
      },
      closeStore: () => {
        void store.close()
      },
    })
    this.clock = new ChaosClock(this.crossings)
    const report = (): LoadReport => ({
      config: { merged: {}, layers: [FOR_PROJECTS] }, extensions: [versions[this.version - 1]!], diagnostics: [],
    })
    const open = async (request: Parameters<PooledSandbox['open']>[0]) => {
      const session = await sandbox.open({ ...request, placement })
      this.compartments.add(session)
      void session.ended.then(() => this.compartments.delete(session))
      return session
    }
    const sidecar = {
      save: async (_session: string, callId: string, text: string) => {
        const path = join(folder, `${callId}.txt`)
        await writeFile(path, text)
        return path
      },
      discard: async () => {},
    }
    this.host = createHost({
      report: report(),
      source: crossedSource(async () => report(), this.crossings),
      smokeCheck: crossedSmokeCheck(this.crossings),
      sandbox: crossedSandbox(open, this.crossings),
      store: crossedStore(store, this.crossings),
      sidecar: crossedSidecar(sidecar, this.crossings),
      clock: this.clock,
      workspace: folder, userData: folder, env: () => undefined,
    })
    this.host.on((event) => this.events.push(event))
    this.host.on(crossedListener(() => {}, this.crossings))
  }

  /** A session with every option, each of which can fail. */
  openSession(
    given: Omit<SessionOptions, 'watchdog' | 'guards'> & { readonly watchdog?: CallCheck } = {},
  ): Promise<Session> {
    const { interactor, watchdog = () => undefined, ...options } = given
    const { crossings } = this
    return this.host.openSession({
      hooks: crossedHooks(crossings),
      watchdog: crossedWatchdog('watchdog', watchdog, crossings),
      guards: [crossedGuard(crossings)],
      ...(interactor ? { interactor: [interactor].flat().map((each) => crossedInteractor(each, crossings)) } : {}),
      ...options,
    })
  }

  async call(session: Session, name: string, args: Record<string, string> = {}, timeoutMs?: number): Promise<Outcome> {
    const options = { signal: this.cancel.signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) }
    return this.settled(await this.unfailing(session.call({ id: this.nextId(), name, arguments: args }, options)))
  }

  /** A promise that must never reject. */
  async unfailing<Value>(work: Promise<Value>): Promise<Value> {
    return work.catch((thrown: unknown) => {
      this.faults.push(`it rejected with ${String(thrown)}`)
      throw thrown
    })
  }

  settled(outcome: Outcome): Outcome {
    this.outcomes.push(outcome)
    return outcome
  }

  #calls = 0
  nextId(): string {
    return `c${++this.#calls}`
  }

  /** Whether the fault is in this port. */
  suffers(port: string): boolean {
    const { fault } = this.crossings
    if (fault === undefined) return false
    return (
      fault.at.startsWith(port) || (port === 'store' && (fault.at.startsWith('work') || fault.kind === 'close-store'))
    )
  }

  /** Resolves after an event of this type. */
  untilEvent(type: BulkheadEvent['type']): Promise<void> {
    return new Promise((resolve) => {
      const off = this.host.on((event) => {
        if (event.type !== type) return
        off()
        resolve()
      })
    })
  }

  /** Call it after the host is closed. Returns the store as the next host would find it. */
  async reopenStore(): Promise<Store> {
    await this.#store.close()
    return openSqliteStore({ file: this.file })
  }

  async dispose(): Promise<void> {
    await this.#killed
    await this.#store.close()
    const killed = new BulkheadError('CompartmentKilled', 'The run is over.')
    await Promise.all([...this.compartments].map((session) => session.close(killed)))
    await rm(this.#folder, { recursive: true, force: true })
  }
}

interface WorldParts {
  readonly folder: string
  readonly file: string
  readonly store: Store
  readonly sandbox: PooledSandbox
  readonly placement: Placement
  readonly versions: readonly LoadReport['extensions'][number][]
}
