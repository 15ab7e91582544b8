import { randomUUID } from 'node:crypto'
import type {
  BegunEffect, LeasedCall, ListedWorker, PlacedCall, PlacedListener, PlacedRequest, Placements, WorkerInfo, WorkerSeat,
} from '@bulkhead/contract'
import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'
import { storeClosed, storeError } from '@bulkhead/store/records'
import type { Database, Row } from '../connection/database.ts'
import { Notifications } from '../work/notifications.ts'
import { LIST, workChannel } from './caller-statements.ts'
import { Caller } from './caller.ts'
import { Jobs } from './jobs.ts'
import { Packages } from './packages.ts'
import { PostgresWorkerSeat } from './worker-seat.ts'

/** Calls on workers. A host that uses none has no connection for them. */
export class PostgresPlacements implements Placements {
  readonly tenant: string
  readonly #database: Database
  /** Where this host hears of its calls, as caller and as worker. */
  readonly #channel = `bulkhead_${randomUUID().replaceAll('-', '')}`
  readonly #packages: Packages
  readonly #seats = new Set<PostgresWorkerSeat>()
  #caller: Caller | undefined
  #jobs: Promise<Jobs> | undefined
  #notifications: Notifications | undefined
  #restTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(database: Database) {
    this.#database = database
    this.tenant = database.tenant
    this.#packages = new Packages(database)
  }

  async workers(): Promise<readonly ListedWorker[]> {
    this.#mustBeOpen()
    return (await this.#database.query(LIST)).map(workerIn)
  }

  async hasPackage(digest: string): Promise<boolean> {
    this.#mustBeOpen()
    return this.#packages.has(digest)
  }

  async writePackage(digest: string, bytes: Uint8Array): Promise<void> {
    this.#mustBeOpen()
    await this.#packages.write(digest, bytes)
  }

  async readPackage(digest: string, call?: string): Promise<Uint8Array | undefined> {
    this.#mustBeOpen()
    return this.#packages.read(digest, call)
  }

  async place(request: PlacedRequest, listener: PlacedListener): Promise<PlacedCall> {
    return this.#open().place(request, listener)
  }

  async close(sessionId: string, callId: string): Promise<readonly BegunEffect[]> {
    return this.#open().close(sessionId, callId)
  }

  async serve(info: WorkerInfo, onCall: (call: LeasedCall) => void): Promise<WorkerSeat> {
    this.#open()
    if (this.#database.tenant !== '') throw storeError('denied', 'A tenant cannot serve calls. Name the store as its operator does.')
    this.#jobs ??= Jobs.start(this.#database).catch((error: unknown) => {
      this.#jobs = undefined
      throw error
    })
    const jobs = await this.#jobs
    this.#mustBeOpen()
    const seat = new PostgresWorkerSeat({
      database: this.#database, jobs, info, channel: this.#channel, onCall, onClose: () => this.#seats.delete(seat),
    })
    await seat.join()
    this.#seats.add(seat)
    return seat
  }

  /** What is placed stays for the next host. */
  async stop(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#restTimer)
    this.#notifications?.close()
    await Promise.all([this.#caller?.stop(), ...[...this.#seats].map((seat) => seat.close())])
    await this.#jobs?.then((jobs) => jobs.stop(), () => undefined)
  }

  #open(): Caller {
    this.#mustBeOpen()
    const work = workChannel(this.#channel)
    this.#notifications ??= new Notifications(this.#database, [this.#channel, work], (channel) => {
      if (channel === work) for (const seat of this.#seats) void seat.look()
      else this.#lookAll()
    })
    this.#caller ??= new Caller(this.#database, this.#channel, () => this.workers(), () => this.#restLater())
    this.#restLater()
    return this.#caller
  }

  /** A host hears of nothing while it has no call on a worker and serves none. */
  #restLater(): void {
    clearTimeout(this.#restTimer)
    this.#restTimer = setTimeout(() => {
      if (this.#caller?.isIdle === false || this.#seats.size > 0 || this.#jobs) return
      this.#notifications?.close()
      this.#notifications = undefined
    }, this.#database.times.idleMs).unref()
  }

  #lookAll(): void {
    this.#caller?.look()
    for (const seat of this.#seats) void seat.beat()
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw storeClosed()
  }
}

const UNKNOWN: WorkerInfo = { id: '', labels: [], version: '', machine: '', pid: 0, capacity: 0, workspaces: [] }

function workerIn(row: Row): ListedWorker {
  const parsed = parseJson(String(row['info']))
  const info = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {} as JsonObject
  const state = row['held'] !== true ? 'silent' : row['draining'] === true ? 'draining' : 'ready'
  return {
    ...UNKNOWN, ...info, state, load: Number(row['load']), since: Number(row['since']), silentMs: Number(row['silent']),
  }
}
