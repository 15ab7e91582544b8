import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { PlacedRequest } from '@bulkhead/contract'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { addToFleet, openMachineKey } from '@bulkhead/workers'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import type { CreateHostOptions, Host } from '../../src/facade/create-host.ts'
import type { CreateWorkerOptions } from '../../src/facade/create-worker.ts'
import { fleetFile, machineKeyFile } from '../../src/facade/folders.ts'
import { createHost } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'

export interface WorkerTerms extends Omit<CreateWorkerOptions, 'store' | 'onCall'> {
  readonly url: string
  readonly times: Parameters<typeof openPostgresStore>[1]
  /** How far its clock is from that of this process. */
  readonly clockMs?: number
  /** What it says that its version is. */
  readonly version?: string
}

/** Of tests that lose it. With one second, workers that nothing happens to lose theirs on a busy machine. */
export const SHORT_LEASE_MS = 3_000
const LEASE_MS = 5_000
const WORKER = join(import.meta.dirname, 'fixtures/worker.ts')
const COMMAND = join(import.meta.dirname, '../../src/bin.ts')

type Line = Readonly<Record<string, unknown>> & { readonly type: string }

/** A worker in a process of its own. */
export class WorkerProcess {
  readonly child: ChildProcess
  readonly lines: Line[] = []
  readonly #closed: Promise<unknown>
  readonly #reader: Interface

  /** What it says is JSON, a line each. */
  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.child = spawn(process.execPath, [...BUNDLED, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, XDG_CACHE_HOME: CACHE, ...env },
    })
    this.#closed = once(this.child, 'close')
    this.#reader = createInterface({ input: this.child.stdout! })
    this.#reader.on('line', (line) => this.lines.push(JSON.parse(line) as Line))
  }

  static start(terms: WorkerTerms): WorkerProcess {
    return new WorkerProcess([WORKER, JSON.stringify(terms)])
  }

  said(type: string): Line | undefined {
    return this.lines.find((line) => line.type === type)
  }

  /** Resolves with what it says first of this type. Rejects if it ends before. */
  async until(type: string): Promise<Line> {
    const ended = this.#closed.then(() => { throw new Error(`The worker ended, and never said "${type}".`) })
    ended.catch(() => undefined)
    for (;;) {
      const line = this.said(type)
      if (line !== undefined) return line
      await Promise.race([once(this.#reader, 'line'), ended])
    }
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    this.child.kill('SIGCONT')
    this.child.kill(signal)
    await this.#closed
    return this.child.exitCode
  }
}

/** A caller and its workers, on one server. Everything ends with it. */
export class Fleet {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-fleet-')))
  readonly home = join(this.folder, 'home')
  readonly workerHome = join(this.folder, 'worker')
  readonly workspace = join(this.folder, 'work')
  readonly url: string
  readonly leaseMs: number
  readonly workers: WorkerProcess[] = []
  readonly #closing: (() => Promise<unknown>)[] = []

  private constructor(url: string, leaseMs: number) {
    this.url = url
    this.leaseMs = leaseMs
    for (const folder of [this.home, this.workerHome, this.workspace]) mkdirSync(folder, { recursive: true })
  }

  /** The machines trust each other. */
  static async open(leaseMs = LEASE_MS): Promise<Fleet> {
    const fleet = new Fleet((await sharedPostgres()).url(newSchema()), leaseMs)
    const { home, workerHome } = fleet
    addToFleet(fleetFile(home), 'worker', 'w', openMachineKey(machineKeyFile(workerHome)).publicKey)
    addToFleet(fleetFile(workerHome), 'caller', 'c', openMachineKey(machineKeyFile(home)).publicKey)
    return fleet
  }

  /** `onPlace`: sees what the host places. */
  async host(
    options: Partial<CreateHostOptions> = {}, onPlace: (request: PlacedRequest) => void = () => undefined,
  ): Promise<Host> {
    const store = await openPostgresStore({ url: this.url }, { leaseMs: this.leaseMs })
    const { placements } = store
    const place = placements!.place.bind(placements)
    placements!.place = (request, listener) => {
      onPlace(request)
      return place(request, listener)
    }
    const host = await createHost({
      workspace: this.workspace, home: this.home, cache: CACHE, store, trust: 'declined', env: {}, ...options,
    })
    this.#closing.push(() => host.close())
    return host
  }

  /** The packages of these extensions may run on workers. */
  trustPackages(host: Host): void {
    for (const { extension, packageDigest, layer } of host.tools()) {
      if (layer === 'global') addToFleet(fleetFile(this.workerHome), 'package', extension, packageDigest)
    }
  }

  worker(terms: Partial<WorkerTerms> = {}): WorkerProcess {
    const worker = WorkerProcess.start({
      url: this.url, times: { leaseMs: this.leaseMs }, home: this.workerHome, cache: CACHE, labels: ['gpu'],
      ceiling: {}, ...terms,
    })
    this.workers.push(worker)
    return worker
  }

  /** `bulkhead worker` with these arguments. */
  command(args: readonly string[], env: NodeJS.ProcessEnv): WorkerProcess {
    const own = ['worker', '--json', '--store', this.url, '--home', this.workerHome]
    const worker = new WorkerProcess([COMMAND, ...own, ...args], env)
    this.workers.push(worker)
    return worker
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.end()))
    for (const close of this.#closing) await close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
