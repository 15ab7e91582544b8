import { setTimeout as wait } from 'node:timers/promises'
import type {
  Freeze, FreezeReport, HostInfo, HostState, JoinedHost, Seat, SeatListener, ShownRow, Work,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { storeClosed, storeError } from '@bulkhead/store/records'
import type { Database, Row, Statement } from '../connection/database.ts'
import { channelOf, SCHEMA_VERSION } from '../schema.ts'
import { freezeIn, gateIn, type GateState } from './gate.ts'
import { Notifications } from './notifications.ts'
import { listedCall, objectIn, PostgresSeat } from './seat.ts'
import { FREEZE, GATE, HELD_TENANTS, HOLD, HOSTS, IS_GONE, JOIN, JOINED, RELEASE, TENANTS, THAW } from './work-statements.ts'

/** A heartbeat is sent every two seconds. */
const SILENT_MS = 6_000
const LOOK_MS = 50

/** The hosts on one PostgreSQL. A freeze needs no confirmation of theirs: it waits for each start that is under way. */
export class PostgresWork implements Work {
  readonly #database: Database
  readonly #seats = new Set<PostgresSeat>()
  #notifications: Notifications | undefined
  #isClosed = false

  constructor(database: Database) {
    this.#database = database
  }

  /** Tenants are many, and connections are few. Hosts of the operator stay listed, and notice that others are gone. */
  get restMs(): number | undefined {
    return this.#database.tenant === '' ? undefined : this.#database.times.idleMs
  }

  async join(info: HostInfo, listener: SeatListener): Promise<Seat> {
    this.#mustBeOpen()
    const values = [info.id, JSON.stringify(info), SCHEMA_VERSION]
    const [row] = await this.#database.queryOnce(JOIN, values, async () => {
      const found = await this.#database.query(JOINED, values)
      return found.length > 0 ? found : undefined
    })
    if (row!['added'] !== true) throw storeError('refused-value', `Another host has the id "${info.id}". Use a new one.`)
    this.#mustBeOpen()
    const seat = new PostgresSeat({
      database: this.#database, info, listener, state: gateIn(row!), onLeft: () => this.#forget(seat),
    })
    this.#seats.add(seat)
    this.#notifications ??= new Notifications(this.#database, [channelOf(this.#database.url.schema)], () => this.#lookAll())
    return seat
  }

  async hosts(): Promise<readonly JoinedHost[]> {
    this.#mustBeOpen()
    return (await this.#database.query(HOSTS)).map(hostIn)
  }

  async isGone(host: string): Promise<boolean> {
    this.#mustBeOpen()
    const canJudge = this.#canJudge
    const [row] = await this.#database.query(IS_GONE, [host, canJudge])
    if (row!['gone'] === true || row!['late'] !== true || canJudge) return row!['gone'] === true
    return await this.#untilCalm() && this.isGone(host)
  }

  /** After an outage no heartbeat is new. A host waits until the others had time to renew theirs, also after its start. */
  get #canJudge(): boolean {
    return [...this.#seats].some((seat) => seat.canJudge)
  }

  /** Resolves with whether a host of this process can judge others now. False at once if it has none. */
  async #untilCalm(): Promise<boolean> {
    const { calmMs, beatMs } = this.#database.times
    const end = performance.now() + calmMs + 2 * beatMs
    while (this.#seats.size > 0 && !this.#isClosed && performance.now() < end) {
      if (this.#canJudge) return true
      await wait(LOOK_MS)
    }
    return false
  }

  async revision(): Promise<number> {
    return (await this.#gate()).revision
  }

  async frozen(): Promise<Freeze | undefined> {
    return (await this.#gate()).freeze
  }

  async freeze(order: Omit<Freeze, 'since'>): Promise<FreezeReport> {
    this.#mustBeOpen()
    const freeze: Freeze = { since: Date.now(), ...order }
    const text = JSON.stringify(freeze)
    await this.#database.query(FREEZE, [text, this.#channel])
    await this.#eachTenant(TENANTS, HOLD, [text], 'frozen')
    return { freeze, unconfirmed: [] }
  }

  async thaw(): Promise<Freeze | undefined> {
    this.#mustBeOpen()
    const [row] = await this.#database.query(THAW, [this.#channel])
    if (row?.['held'] === true) {
      const { shown } = this.#database.url
      throw storeError('refused-value', `The operator of the store ${shown} froze it, and only the operator can thaw it.`)
    }
    await this.#eachTenant(HELD_TENANTS, RELEASE, [], 'thawed')
    return freezeIn(row?.['frozen'])
  }

  /** The main one can hold all others. Each has a row that its own hosts lock, so none waits for another one. */
  async #eachTenant(which: Statement, what: Statement, values: readonly string[], done: string): Promise<void> {
    if (this.#database.tenant !== '') return
    const tenants = (await this.#database.query(which)).map((row) => String(row['tenant']))
    const results = await Promise.allSettled(tenants.map((tenant) =>
      this.#database.query(what, [tenant, this.#channel, ...values])))
    const failed = results.flatMap((result, index) => result.status === 'rejected' ? [{ name: tenants[index]!, why: result }] : [])
    if (failed.length === 0) return
    const names = failed.map(({ name }) => name).join(', ')
    throw storeError('busy', `Everything is ${done} except these tenants: ${names}. (${messageOf(failed[0]!.why.reason)}) Try again.`)
  }

  get #channel(): string {
    return channelOf(this.#database.url.schema)
  }

  /** Open calls stay for the next host. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#notifications?.close()
    await Promise.all([...this.#seats].map((seat) => seat.leave()))
  }

  #forget(seat: PostgresSeat): void {
    this.#seats.delete(seat)
    if (this.#seats.size > 0) return
    this.#notifications?.close()
    this.#notifications = undefined
  }

  #lookAll(): void {
    for (const seat of this.#seats) seat.look()
  }

  async #gate(): Promise<GateState> {
    this.#mustBeOpen()
    const [row] = await this.#database.query(GATE)
    return gateIn(row!)
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw storeClosed()
  }
}

const UNKNOWN = { pid: 0, machine: '', version: '', workspace: '', rules: '' }

function hostIn(row: Row): JoinedHost {
  const id = String(row['id'])
  const silentMs = Number(row['silent'])
  const state: HostState = row['gone'] === true ? 'gone' : silentMs > SILENT_MS ? 'silent' : 'live'
  const shown = row['shown'] as readonly (readonly [kind: string, id: string, value: string])[]
  const rowsOf = (wanted: string): readonly ShownRow[] =>
    shown.flatMap(([kind, name, value]) => kind === wanted ? [{ id: name, row: objectIn(value) }] : [])
  return {
    ...UNKNOWN, ...objectIn(row['info']), id, state, since: Number(row['since']), silentMs,
    isFrozen: row['frozen'] === true, sessions: rowsOf('session'), questions: rowsOf('question'),
    calls: (row['calls'] as readonly (readonly [string, string])[]).flatMap(([call, begun]) => listedCall(call, begun)),
  }
}
