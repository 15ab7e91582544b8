import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Freeze, FreezeReport, HostInfo, JoinedHost, ListedCall, Seat, SeatListener, Work,
} from '@bulkhead/contract'
import { hasProcessEnded } from '@bulkhead/kit/processes'
import { storeClosed, storeError } from '../../records/stored-record.ts'
import type { CommitQueue } from '../commit-queue.ts'
import type { JournalFiles } from '../journal-file.ts'
import { callsIn } from './call-notes.ts'
import { Gate } from './gate.ts'
import { HostTable, isRowGone, type HostRow } from './host-table.ts'
import { LEASE_MS, SqliteSeat } from './seat.ts'

/** How long a freeze waits for hosts to confirm it. */
const CONFIRM_MS = 3_000
const LOOK_MS = 20

/** The hosts on one file: its processes on this machine. A host confirms a freeze, because it reads the gate itself. */
export class SqliteWork implements Work {
  readonly #queue: CommitQueue
  readonly #journals: JournalFiles
  readonly #file: string
  readonly #gate: Gate
  readonly #table: HostTable
  readonly #seats = new Set<SqliteSeat>()
  readonly #query: <T>(run: () => T) => Promise<T>
  #isClosed = false

  /** `query` reads after earlier writes. */
  constructor(
    database: DatabaseSync, file: string, queue: CommitQueue, journals: JournalFiles,
    query: <T>(run: () => T) => Promise<T>,
  ) {
    this.#queue = queue
    this.#journals = journals
    this.#file = file
    this.#gate = new Gate(database)
    this.#table = new HostTable(database)
    this.#query = query
  }

  async join(info: HostInfo, listener: SeatListener): Promise<Seat> {
    this.#mustBeOpen()
    const [gate, table, queue, file] = [this.#gate, this.#table, this.#queue, this.#file]
    const state = await queue.enqueue(() => {
      if (table.get(info.id)) throw storeError('refused-value', `Another host has the id "${info.id}". Use a new one.`)
      table.add(info, gate.read(info.id).number, Date.now())
      return gate.read(info.id)
    }, false)
    this.#mustBeOpen()
    const seat = new SqliteSeat({
      info, listener, gate, table, queue, file, state, notebook: this.#journals.open(info.id),
      takeOver: (host, by) => this.#takeOver(host, by), discard: (host) => this.#discard(host),
    })
    this.#seats.add(seat)
    return seat
  }

  async hosts(): Promise<readonly JoinedHost[]> {
    const owners = await this.#owners()
    const { rows, sessions, questions, number, freeze } = await this.#ask(() => ({
      rows: this.#table.all(), sessions: this.#table.shown('session'), questions: this.#table.shown('question'),
      ...this.#gate.read(''),
    }))
    const known = new Set(rows.map(({ id }) => id))
    const earlier = owners.filter((id) => !known.has(id)).map(earlierHost)
    const now = Date.now()
    return Promise.all([...earlier, ...rows].map(async (row): Promise<JoinedHost> => {
      const isGone = row.claimedBy !== undefined || isRowGone(row)
      const silentMs = row.beat === 0 ? 0 : Math.max(0, now - row.beat)
      return {
        ...row.info, state: isGone ? 'gone' : silentMs > LEASE_MS ? 'silent' : 'live', since: row.since, silentMs,
        isFrozen: freeze !== undefined && row.seen >= number, sessions: sessions.get(row.id) ?? [],
        questions: questions.get(row.id) ?? [], calls: callsIn(await this.#journals.left(row.id)),
      }
    }))
  }

  async isGone(host: string): Promise<boolean> {
    const row = await this.#ask(() => this.#table.get(host))
    return row ? row.claimedBy !== undefined || isRowGone(row) : hasProcessEnded(host)
  }

  async revision(): Promise<number> {
    return (await this.#ask(() => this.#gate.read(''))).revision
  }

  async frozen(): Promise<Freeze | undefined> {
    return (await this.#ask(() => this.#gate.read(''))).freeze
  }

  async freeze(order: Omit<Freeze, 'since'>): Promise<FreezeReport> {
    this.#mustBeOpen()
    const freeze: Freeze = { since: Date.now(), ...order }
    const number = await this.#queue.enqueue(() => this.#gate.set(freeze))
    for (const seat of this.#seats) seat.poll()
    const end = performance.now() + CONFIRM_MS
    for (;;) {
      const late = await this.#unconfirmed(number)
      if (late.size === 0 || performance.now() > end) {
        return { freeze, unconfirmed: (await this.hosts()).filter(({ id }) => late.has(id)) }
      }
      await sleep(LOOK_MS)
    }
  }

  async thaw(): Promise<Freeze | undefined> {
    this.#mustBeOpen()
    const thawed = await this.#queue.enqueue(() => {
      const { freeze } = this.#gate.read('')
      if (freeze) this.#gate.set(undefined)
      return freeze
    })
    for (const seat of this.#seats) seat.poll()
    return thawed
  }

  /** Open calls stay for the next host. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#seats].map((seat) => seat.leave()))
  }

  /** The ids of hosts that live and have not confirmed the gate. */
  async #unconfirmed(number: number): Promise<ReadonlySet<string>> {
    const owners = await this.#owners()
    const rows = await this.#ask(() => this.#table.all())
    const known = new Set(rows.map(({ id }) => id))
    const all = [...rows, ...owners.filter((id) => !known.has(id)).map(earlierHost)]
    return new Set(all.filter((row) =>
      row.seen < number && row.claimedBy === undefined && !isRowGone(row)).map(({ id }) => id))
  }

  async #owners(): Promise<readonly string[]> {
    this.#mustBeOpen()
    return this.#journals.owners()
  }

  async #takeOver(host: string, by: string): Promise<readonly ListedCall[] | undefined> {
    const hasJournal = (await this.#owners()).includes(host)
    const isClaimed = await this.#queue.enqueue(() => {
      if (hasJournal) this.#table.addEarlier(host)
      const row = this.#table.get(host)
      if (!row || !isRowGone(row) || !this.#isFree(row, by)) return false
      this.#table.claim(host, by)
      return true
    }, false)
    return isClaimed ? callsIn(await this.#journals.left(host)) : undefined
  }

  /** The claim of a host that is gone is void. */
  #isFree({ claimedBy }: HostRow, by: string): boolean {
    if (claimedBy === undefined || claimedBy === by) return true
    const claimant = this.#table.get(claimedBy)
    return claimant === undefined || isRowGone(claimant)
  }

  async #discard(host: string): Promise<void> {
    this.#mustBeOpen()
    await this.#journals.discard(host)
    await this.#queue.enqueue(() => this.#table.remove(host), false)
  }

  #ask<T>(run: () => T): Promise<T> {
    this.#mustBeOpen()
    return this.#query(run)
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw storeClosed()
  }
}

/** Of a version that had journals and no table of hosts. It does not look for a freeze. */
const earlierHost = (id: string): HostRow => ({
  id, process: id, since: 0, beat: 0, seen: -1, hasLeft: false, claimedBy: undefined,
  info: { id, pid: Number.parseInt(id, 10) || 0, machine: '', version: '', workspace: '', rules: '' },
})
