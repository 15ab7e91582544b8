import type {
  Freeze, FreezeReport, HostInfo, HostState, JoinedHost, Seat, SeatListener, ShownRow, Work,
} from '@bulkhead/contract'
import { storeClosed, storeError } from '@bulkhead/store/records'
import type { Database, Row } from '../connection/database.ts'
import { channelOf } from '../schema.ts'
import { freezeIn, gateIn, type GateState } from './gate.ts'
import { Notifications } from './notifications.ts'
import { listedCall, objectIn, PostgresSeat } from './seat.ts'
import { FREEZE, GATE, HOSTS, IS_GONE, JOIN, JOINED, THAW } from './work-statements.ts'

/** A heartbeat is sent every two seconds. */
const SILENT_MS = 6_000

/** The hosts on one PostgreSQL. A freeze needs no confirmation of theirs: it waits for each start that is under way. */
export class PostgresWork implements Work {
  readonly #database: Database
  readonly #seats = new Set<PostgresSeat>()
  #notifications: Notifications | undefined
  #isClosed = false

  constructor(database: Database) {
    this.#database = database
  }

  async join(info: HostInfo, listener: SeatListener): Promise<Seat> {
    this.#mustBeOpen()
    const values = [info.id, JSON.stringify(info)]
    const [row] = await this.#database.queryOnce(JOIN, values, async () => {
      const found = await this.#database.query(JOINED, values)
      return found.length > 0 ? found : undefined
    })
    if (row!['added'] !== true) throw storeError('refused-value', `Another host has the id "${info.id}". Use a new one.`)
    this.#mustBeOpen()
    const seat = new PostgresSeat({ database: this.#database, info, listener, state: gateIn(row!) })
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
    // After an outage no heartbeat is new. A host waits until the others had time to renew theirs.
    const canJudge = [...this.#seats].some((seat) => seat.canJudge)
    const [row] = await this.#database.query(IS_GONE, [host, canJudge])
    return row!['gone'] === true
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
    await this.#database.query(FREEZE, [JSON.stringify(freeze), channelOf(this.#database.url.schema)])
    return { freeze, unconfirmed: [] }
  }

  async thaw(): Promise<Freeze | undefined> {
    this.#mustBeOpen()
    const [row] = await this.#database.query(THAW, [channelOf(this.#database.url.schema)])
    return freezeIn(row?.['frozen'])
  }

  /** Open calls stay for the next host. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#notifications?.close()
    await Promise.all([...this.#seats].map((seat) => seat.leave()))
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
