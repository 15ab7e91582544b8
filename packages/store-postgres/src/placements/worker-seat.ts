import { WORKER_LIMITS, type LeasedCall, type WorkerInfo, type WorkerSeat } from '@bulkhead/contract'
import type { Database, Row } from '../connection/database.ts'
import type { Jobs, Taker, TakenCall } from './jobs.ts'
import { Leased, type Lessee } from './leased-call.ts'
import { Outbox } from './outbox.ts'
import { sweep, SWEEP_MS } from './sweep.ts'
import { BEAT, DRAIN, JOIN, LEAVE, RELEASE, TELL_CALLER } from './worker-statements.ts'

/** Messages that one look brings. */
const MESSAGES = 64
/** How soon a worker that was woken for nothing looks again for queues. */
const BEAT_AGAIN_MS = 50
/** Calls that one statement takes: with each number, a statement is prepared. */
const BATCHES = [16, 4, 1]

export interface SeatSources {
  readonly database: Database
  readonly jobs: Jobs
  readonly info: WorkerInfo
  readonly channel: string
  readonly onCall: (call: LeasedCall) => void
  /** The seat is closed. */
  readonly onClose: () => void
}

/** A worker of this process. It has one lease for all its calls, by the clock of the server. */
export class PostgresWorkerSeat implements WorkerSeat {
  readonly #sources: SeatSources
  readonly #outbox: Outbox
  readonly #calls = new Map<string, Leased>()
  /** The epochs of calls that are over here. The store may not know it. */
  readonly #over = new Map<string, number>()
  #term = 0
  #timer: NodeJS.Timeout | undefined
  #sweepTimer: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  #beatenAt = 0
  /** When the lease ends that is known to be ours. */
  #heldUntil = 0
  #beating: Promise<void> | undefined
  #beatsAgain = false
  /** Where calls have waited. */
  readonly #queues = new Set<string>()
  #taking: Promise<void> | undefined
  /** Calls may wait. */
  #isWanted = false
  #hasTenants = false
  #taken = 0
  /** Tenants that had their turn. */
  readonly #served = new Set<string>()
  #drained: PromiseWithResolvers<void> | undefined
  #closing: Promise<void> | undefined

  constructor(sources: SeatSources) {
    this.#sources = sources
    this.#outbox = new Outbox(sources.database, TELL_CALLER, () => [sources.info.id, this.#term])
  }

  /** Rejects with StoreUnavailable. */
  async join(): Promise<this> {
    const { leaseMs } = this.#sources.database.times
    await this.#join()
    this.#timer = setInterval(() => void this.beat(), leaseMs / WORKER_LIMITS.renewals)
    this.#sweepTimer = setInterval(() => void this.#sweep(), SWEEP_MS)
    await Promise.all([this.beat(), this.#sweep()])
    return this
  }

  /** A call waits. Called for a notification. */
  async look(): Promise<void> {
    const before = this.#taken
    await this.#take()
    // It may wait in a queue that is not known. When many calls are placed at once, others have taken it.
    if (this.#taken === before && this.#free > 0) this.#beatSoon()
  }

  #beatSoon(): void {
    const waitMs = this.#beatenAt + BEAT_AGAIN_MS - performance.now()
    if (waitMs <= 0) return void this.beat()
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      void this.beat()
    }, waitMs)
  }

  /** Renews the lease, and hears what is new. Called for a notification, and from time to time. */
  beat(): Promise<void> {
    this.#beatsAgain = true
    this.#beating ??= this.#beatAll().finally(() => { this.#beating = undefined })
    return this.#beating
  }

  async drain(): Promise<void> {
    this.#drained ??= Promise.withResolvers()
    const { database, info } = this.#sources
    if (!this.#closing) await database.query(DRAIN, [info.id, this.#term])
    // A statement may be on its way that has taken calls.
    await this.#taking
    if (this.#calls.size === 0) this.#drained.resolve()
    await this.#drained.promise
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer)
    clearInterval(this.#sweepTimer)
    clearTimeout(this.#soon)
    this.#loseAll()
    this.#drained?.resolve()
    await Promise.all([this.#beating, this.#taking])
    const { database, info, onClose } = this.#sources
    onClose()
    // Without an answer its lease ends soon.
    await database.query(LEAVE, [info.id, this.#term]).catch(() => undefined)
  }

  async #join(): Promise<void> {
    const { database, channel, info } = this.#sources
    const { id, labels, workspaces, version, capacity } = info
    const at = performance.now()
    const [row] = await database.query(JOIN, [
      id, JSON.stringify(info), labels, workspaces, Number.parseInt(version, 10), capacity, channel,
      database.times.leaseMs, this.#drained !== undefined,
    ])
    this.#term = Number(row!['term'])
    this.#heldUntil = at + database.times.leaseMs
  }

  async #beatAll(): Promise<void> {
    while (this.#beatsAgain && !this.#closing) {
      this.#beatsAgain = false
      try {
        if (performance.now() > this.#heldUntil) {
          this.#loseAll()
          await this.#join()
        }
        await this.#beatOnce()
      } catch {
        // The next beat is soon. Without one, the lease ends.
        return
      }
    }
  }

  async #beatOnce(): Promise<void> {
    const { database, info } = this.#sources
    const known = [...this.#calls.values()]
    const at = performance.now()
    this.#beatenAt = at
    const [row] = await database.query(BEAT, [
      info.id, this.#term, known.map(({ id }) => id), known.map(({ epoch }) => epoch), known.map(({ last }) => last),
      MESSAGES,
    ])
    if (this.#closing) return
    if (row!['held'] !== true) {
      this.#heldUntil = 0
      this.#beatsAgain = true
      return
    }
    this.#heldUntil = at + database.times.leaseMs
    this.#hasTenants = Number(row!['tenants']) > 1
    await this.#compare(known, row!)
    // After a pause the lease may be lost. What the caller allowed before then is not done.
    if (performance.now() < this.#heldUntil) this.#hear(row!)
    else this.#beatsAgain = true
    for (const queue of row!['waiting'] as readonly string[]) {
      this.#queues.add(queue)
      void this.#take()
    }
  }

  /** With what the store has: it decides which calls this worker has. */
  async #compare(known: readonly Leased[], row: Row): Promise<void> {
    const held = new Map(((row['calls'] ?? []) as readonly (readonly [string, number, boolean])[])
      .map(([id, epoch, isCancelled]) => [id, { epoch, isCancelled }]))
    for (const call of known) {
      const found = held.get(call.id)
      if (call.isSettling || this.#calls.get(call.id) !== call) continue
      if (found?.epoch !== call.epoch) call.lose()
      else if (found.isCancelled && !call.signal.aborted) call.cancel()
    }
    const rest = () => [...held.keys()].filter((id) => !this.#calls.has(id))
    for (const [id, epoch] of this.#over) if (held.get(id)?.epoch !== epoch) this.#over.delete(id)
    const left = rest().filter((id) => this.#over.has(id))
    const { database, info, jobs } = this.#sources
    if (left.length > 0) {
      await database.query(RELEASE, [info.id, this.#term, left, left.map((id) => this.#over.get(id)!)])
    }
    if (rest().length === left.length) return
    // A statement may be on its way that has taken them.
    await this.#taking
    if (rest().length > left.length && !this.#closing) this.#start(await jobs.own(this.#taker()))
  }

  #hear(row: Row): void {
    const messages = (row['messages'] ?? []) as readonly (readonly [string, number, number, string])[]
    for (const [id, epoch, number, text] of messages) {
      const call = this.#calls.get(id)
      if (call?.epoch === epoch) call.hear(number, text)
    }
    if (messages.length === MESSAGES) this.#beatsAgain = true
  }

  #take(): Promise<void> {
    this.#isWanted = true
    this.#taking ??= this.#takeAll().catch(() => undefined).finally(() => { this.#taking = undefined })
    return this.#taking
  }

  async #takeAll(): Promise<void> {
    while (this.#isWanted && this.#free > 0) {
      this.#isWanted = false
      for (const queue of [...this.#queues]) if (await this.#takeFrom(queue)) this.#isWanted = true
    }
  }

  get #free(): number {
    const isOpen = !this.#drained && !this.#closing && performance.now() < this.#heldUntil
    return isOpen ? this.#sources.info.capacity - this.#calls.size : 0
  }

  /** Resolves with whether more may wait. */
  async #takeFrom(queue: string): Promise<boolean> {
    const free = this.#free
    if (free <= 0) return true
    const { jobs } = this.#sources
    if (this.#hasTenants) return this.#takeInTurn(queue)
    const most = BATCHES.find((size) => size <= free)!
    const taken = await jobs.take(queue, most, this.#taker())
    this.#start(taken)
    return taken.length === most
  }

  /** One call of each tenant, and then of each again. */
  async #takeInTurn(queue: string): Promise<boolean> {
    const taken = await this.#sources.jobs.take(queue, 1, this.#taker(), [...this.#served])
    for (const { group } of taken) this.#served.add(group)
    this.#start(taken)
    const isRound = taken.length === 0 && this.#served.size > 0
    if (isRound) this.#served.clear()
    return taken.length > 0 || isRound
  }

  #taker(): Taker {
    return { worker: this.#sources.info.id, term: this.#term, ids: () => [...this.#calls.keys(), ...this.#over.keys()] }
  }

  #start(taken: readonly TakenCall[]): void {
    const { database, info, jobs } = this.#sources
    const lessee: Lessee = {
      database, outbox: this.#outbox, worker: info.id, term: this.#term, onOver: (call) => {
        if (this.#calls.get(call.id) !== call) return
        this.#calls.delete(call.id)
        this.#over.set(call.id, call.epoch)
        jobs.done(call.taken.job)
        if (this.#calls.size === 0 && !this.#taking) this.#drained?.resolve()
        if (this.#isWanted) void this.#take()
      },
    }
    for (const one of taken) {
      // Two statements may have brought it.
      if (this.#calls.has(one.id)) continue
      const call = new Leased(one, lessee)
      this.#taken++
      this.#calls.set(call.id, call)
      this.#sources.onCall(call)
    }
  }

  /** What fails is done by the next sweep. */
  async #sweep(): Promise<void> {
    if (this.#sources.database.isPool) return
    const left = await sweep(this.#sources.database).catch(() => [])
    await this.#sources.jobs.complete(left)
  }

  #loseAll(): void {
    for (const call of this.#calls.values()) call.lose()
    this.#over.clear()
  }
}
