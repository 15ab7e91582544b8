import {
  WORKER_LIMITS, type BegunEffect, type ListedWorker, type PlacedEnd, type PlacedListener, type PlacedRequest,
} from '@bulkhead/contract'
import { Batches } from '@bulkhead/kit/batches'
import type { Json } from '@bulkhead/kit/json'
import type { Database, Row, Value } from '../connection/database.ts'
import { isDuplicate } from '../connection/postgres-error.ts'
import { AGAIN, CANCEL, CHUNK, CLOSE, FORGET, PLACE, TELL_WORKER, WATCH } from './caller-statements.ts'
import { effectIn } from './effects.ts'
import { Outbox } from './outbox.ts'
import { Placed, type PlacedCalls } from './placed-call.ts'
import { queueOf } from './queue-name.ts'

/** Messages of one call that one look brings. */
const MESSAGES = 16

/** The calls of this host on workers. One statement watches them all. */
export class Caller implements PlacedCalls {
  readonly #database: Database
  readonly #channel: string
  readonly #workers: () => Promise<readonly ListedWorker[]>
  readonly #onIdle: () => void
  readonly #calls = new Map<string, Placed>()
  readonly #outbox: Outbox
  readonly #forgets: Batches<string, undefined>
  /** Calls that the store could not forget, or may have although it did not say so. */
  readonly #left = new Set<string>()
  /** Calls that may have been placed, or may be yet: the server runs late what a connection brought before it was cut. */
  readonly #unconfirmed = new Map<string, { readonly values: readonly Value[]; readonly until: number }>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #looksAgain = false
  #judges = false
  #isStopped = false
  /** How often there was a reason to look. */
  #heard = 0

  constructor(database: Database, channel: string, workers: () => Promise<readonly ListedWorker[]>, onIdle: () => void) {
    this.#database = database
    this.#onIdle = onIdle
    this.#channel = channel
    this.#workers = workers
    this.#outbox = new Outbox(database, TELL_WORKER)
    this.#forgets = new Batches(async (ids) => {
      await database.query(FORGET, [ids])
      return ids.map(() => undefined)
    })
  }

  async place(request: PlacedRequest, listener: PlacedListener): Promise<Placed> {
    const { id, demand: { labels, workspace = null, major }, sessionId, callId, deadlineMs, ticket, body } = request
    const call = new Placed(id, listener, this)
    const heard = this.#heard
    const values = (ms: number) =>
      [id, queueOf(request.demand), labels, workspace, major, sessionId, callId, this.#channel, ms, ticket, body]
    const [row] = await this.#database.query(PLACE, values(deadlineMs)).catch((error: unknown) => {
      if (!this.#isStopped) {
        // No worker takes a call whose deadline has passed.
        this.#unconfirmed.set(id, { values: values(0), until: performance.now() + deadlineMs })
        this.#watchFromTimeToTime()
      }
      throw error
    })
    if (row!['placed'] === true) this.#watch(call, heard)
    else call.end({ is: 'untaken', workers: await this.#workers() })
    return call
  }

  async close(sessionId: string, callId: string): Promise<readonly BegunEffect[]> {
    const [row] = await this.#database.query(CLOSE, [sessionId, callId])
    return (row!['begun'] as readonly string[]).map(effectIn)
  }

  send(id: string, epoch: number, number: number, message: Json): Promise<void> {
    return this.#outbox.send(id, epoch, number, message)
  }

  async cancel({ id, epoch }: Placed): Promise<void> {
    await this.#database.query(CANCEL, [id, epoch])
    this.look()
  }

  async again(call: Placed, ticket: string, repeats: boolean): Promise<boolean> {
    if (!call.hasEnded) return false
    const heard = this.#heard
    const [row] = await this.#database.query(AGAIN, [call.id, call.epoch, ticket, repeats])
    if (row!['placed'] !== true) return false
    call.renew()
    this.#watch(call, heard)
    return true
  }

  async forget({ id }: Placed): Promise<void> {
    this.#drop(id)
    try {
      await this.#forgets.add(id)
    } catch (error) {
      this.#forgetLater(id)
      throw error
    }
  }

  /** A worker that waits for an answer to it would wait for ever. */
  #forgetLater(id: string): void {
    if (this.#isStopped) return
    this.#left.add(id)
    this.#watchFromTimeToTime()
  }

  /** Called for a notification. From time to time it also looks whether leases are late. */
  look(judges = false): void {
    this.#heard++
    this.#judges ||= judges
    if (this.isIdle) return
    this.#looksAgain = true
    this.#looking ??= this.#lookAll().finally(() => { this.#looking = undefined })
  }

  /** What runs on workers goes on. The host that takes over closes it. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    this.#calls.clear()
    this.#left.clear()
    this.#unconfirmed.clear()
    await this.#looking
  }

  #watch(call: Placed, heard: number): void {
    this.#calls.set(call.id, call)
    // The worker may have been faster than the answer that the call is placed.
    if (this.#heard !== heard) this.look()
    this.#watchFromTimeToTime()
  }

  #watchFromTimeToTime(): void {
    this.#timer ??= setInterval(() => this.look(true), this.#database.times.leaseMs / WORKER_LIMITS.renewals)
  }

  #drop(id: string): void {
    this.#calls.delete(id)
    this.#rest()
  }

  /** It waits for nothing. */
  get isIdle(): boolean {
    return this.#calls.size + this.#left.size + this.#unconfirmed.size === 0
  }

  #rest(): void {
    if (!this.isIdle) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#onIdle()
  }

  async #lookAll(): Promise<void> {
    while (this.#looksAgain) {
      this.#looksAgain = false
      try {
        await this.#lookOnce()
      } catch {
        // The next look is soon. Until then nothing is known of the calls.
        return
      }
    }
  }

  async #lookOnce(): Promise<void> {
    await this.#forgetLeft()
    const calls = [...this.#calls.values()]
    if (calls.length === 0) return
    const judges = this.#judges
    this.#judges = false
    const rows = await this.#database.query(WATCH, [
      calls.map(({ id }) => id), calls.map(({ epoch }) => epoch), calls.map(({ last }) => last),
      calls.map(({ isTaken }) => isTaken), calls.map(({ hasBegun }) => hasBegun), MESSAGES, judges,
    ])
    await Promise.all(rows.map((row) => this.#hear(row)))
  }

  async #forgetLeft(): Promise<void> {
    for (const [id, { values, until }] of [...this.#unconfirmed]) {
      if (!await this.#isPlaced(values) && performance.now() < until) continue
      this.#unconfirmed.delete(id)
      this.#left.add(id)
    }
    const left = [...this.#left]
    if (left.length === 0) return
    await this.#database.query(FORGET, [left])
    for (const id of left) this.#left.delete(id)
    this.#rest()
  }

  /** Places it if it is not there, so that its job refuses the statement that comes late. Not without a ready worker. */
  async #isPlaced(values: readonly Value[]): Promise<boolean> {
    try {
      const [row] = await this.#database.query(PLACE, values)
      return row!['placed'] === true
    } catch (error) {
      if (isDuplicate(error)) return true
      throw error
    }
  }

  async #hear(row: Row): Promise<void> {
    const call = this.#calls.get(String(row['id']))
    if (!call || call.epoch !== Number(row['epoch'])) return
    call.hear(row)
    if ((row['messages'] as readonly unknown[] | null)?.length === MESSAGES) this.#looksAgain = true
    else if (row['is_gone'] === true || row['ended'] !== null) await this.#end(call, row)
  }

  async #end(call: Placed, row: Row): Promise<void> {
    const end = await this.#endOf(row)
    if (this.#calls.get(call.id) !== call) return
    this.#drop(call.id)
    call.end(end)
  }

  async #endOf(row: Row): Promise<PlacedEnd> {
    if (row['ended'] === 'untaken') return { is: 'untaken', workers: await this.#workers() }
    const result = row['ended'] === 'settled' ? await this.#resultOf(row) : undefined
    if (result) return { is: 'settled', result }
    const { worker, begun } = row
    return {
      is: 'lost', worker: typeof worker === 'string' ? worker : '',
      begun: typeof begun === 'string' ? effectIn(begun) : undefined,
    }
  }

  /** One part after the other: what one statement brings stays small. undefined if a part is missing. */
  async #resultOf({ id, epoch, result, chunks }: Row): Promise<Uint8Array | undefined> {
    if (Number(chunks) === 0) return result as Buffer
    const whole = Buffer.allocUnsafe(Number(chunks) * WORKER_LIMITS.partBytes)
    let length = 0
    for (let number = 0; number < Number(chunks); number++) {
      const [row] = await this.#database.query(CHUNK, [String(id), Number(epoch), number])
      if (!row) return undefined
      length += (row['bytes'] as Buffer).copy(whole, length)
    }
    return whole.subarray(0, length)
  }
}
