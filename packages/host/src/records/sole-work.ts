import {
  readListedCall, type BegunEffect, type CallEntry, type CallStart, type Freeze, type FreezeReport,
  type HostDescription, type HostInfo, type JoinedHost, type ListedCall, type OpenCall, type Seat, type SeatListener,
  type ShownKind, type Started, type Store, type Work,
} from '@bulkhead/contract'
import { asJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { callOver } from '../model/begun-effects.ts'
import type { Owner } from './owner.ts'

/** What the hosts of this process share that use one store. */
interface Shared {
  revision: number
  freeze: Freeze | undefined
  readonly seats: Set<SoleSeat>
}

const SHARED = new WeakMap<object, Shared>()
const sharedOf = (store: object): Shared =>
  SHARED.getOrInsertComputed(store, () => ({ revision: 0, freeze: undefined, seats: new Set() }))

/** For a store that knows no hosts: an approval was written or removed. */
export function approvalsChanged(store: object): void {
  const shared = sharedOf(store)
  shared.revision++
  for (const { listener } of shared.seats) listener.onRevision()
}

/**
 * For a store that knows no hosts. Open calls are records of the collection `call`, and a freeze holds for the hosts of
 * this process.
 */
export class SoleWork implements Work {
  readonly #store: Store
  readonly #owner: Owner
  readonly #shared: Shared
  readonly #own = new Set<Seat>()

  /** `shared`: the store of the embedder. */
  constructor(store: Store, shared: object, owner: Owner) {
    this.#store = store
    this.#owner = owner
    this.#shared = sharedOf(shared)
  }

  async join(info: HostInfo, listener: SeatListener): Promise<Seat> {
    const seat = new SoleSeat(info, listener, this.#shared, this.#store, this.#owner)
    this.#shared.seats.add(seat)
    this.#own.add(seat)
    if (this.#shared.freeze) listener.onGate(this.#shared.freeze)
    return seat
  }

  async hosts(): Promise<readonly JoinedHost[]> {
    const records = this.#store.forgets ? [] : await this.#store.list('call')
    const live = [...this.#shared.seats].filter((seat) => this.#own.has(seat) || !this.#owner.isGone(seat.id))
      .map((seat) => seat.view())
    const known = new Set(live.map(({ id }) => id))
    const left = Map.groupBy(records, ({ key }) => key.slice(0, key.lastIndexOf('/')))
    return [...live, ...[...left].filter(([id]) => !known.has(id)).map(([id, own]): JoinedHost => ({
      id, pid: 0, machine: '', version: '', workspace: '', rules: '', state: this.#owner.isGone(id) ? 'gone' : 'live',
      since: 0, silentMs: 0, isFrozen: false, sessions: [], questions: [],
      calls: own.flatMap(({ value }) => readListedCall(value) ?? []),
    }))]
  }

  async isGone(host: string): Promise<boolean> {
    return this.#owner.isGone(host)
  }

  async revision(): Promise<number> {
    return this.#shared.revision
  }

  async frozen(): Promise<Freeze | undefined> {
    return this.#shared.freeze
  }

  async freeze(order: Omit<Freeze, 'since'>): Promise<FreezeReport> {
    const freeze: Freeze = { since: Date.now(), ...order }
    this.#set(freeze)
    return { freeze, unconfirmed: [] }
  }

  async thaw(): Promise<Freeze | undefined> {
    const { freeze } = this.#shared
    if (freeze) this.#set(undefined)
    return freeze
  }

  #set(freeze: Freeze | undefined): void {
    this.#shared.freeze = freeze
    for (const { listener } of this.#shared.seats) listener.onGate(freeze)
  }
}

class SoleSeat implements Seat {
  readonly id: string
  readonly listener: SeatListener
  readonly #shared: Shared
  readonly #store: Store
  readonly #owner: Owner
  readonly #since = Date.now()
  readonly #rows: Readonly<Record<ShownKind, Map<string, JsonObject>>> = { session: new Map(), question: new Map() }
  readonly #writes = new Set<Promise<void>>()
  readonly #open = new Set<() => ListedCall>()
  #info: HostInfo
  #count = 0

  constructor(info: HostInfo, listener: SeatListener, shared: Shared, store: Store, owner: Owner) {
    this.id = info.id
    this.#info = info
    this.listener = listener
    this.#shared = shared
    this.#store = store
    this.#owner = owner
  }

  /** Written at once, so that it is there when the call starts. */
  open({ terms, ...call }: OpenCall): CallEntry {
    const key = `${this.id}/${++this.#count}`
    const record: ListedCall = { ...terms, ...call, startedAt: Date.now(), begun: [] }
    let isOver = false
    let { begun } = record
    const view = (): ListedCall => ({ ...record, begun })
    this.#open.add(view)
    const written = this.#write(key, record)
    const begin = async (effect: BegunEffect): Promise<void> => {
      const next = [...begun, effect]
      if (!this.#store.forgets) await this.#saved(this.#store.write('call', key, asJson({ ...record, begun: next })))
      begun = next
    }
    return {
      start: async ({ revision, begins }: CallStart): Promise<Started> => {
        await written
        const { freeze } = this.#shared
        if (freeze) return { is: 'frozen', freeze }
        if (revision !== undefined && revision !== this.#shared.revision) return { is: 'changed' }
        if (begins) await begin(begins)
        return { is: 'started' }
      },
      begin: (effect) => {
        if (isOver) throw callOver()
        if (!this.#store.forgets) return begin(effect)
        begun = [...begun, effect]
        return undefined
      },
      end: () => {
        if (isOver) return
        isOver = true
        this.#open.delete(view)
        if (!this.#store.forgets) this.#saved(this.#store.remove('call', key)).catch(() => undefined)
      },
    }
  }

  describe(description: HostDescription): void {
    this.#info = { ...this.#info, ...description }
  }

  show(kind: ShownKind, id: string, row: JsonObject): void {
    this.#rows[kind].set(id, row)
  }

  hide(kind: ShownKind, id: string): void {
    this.#rows[kind].delete(id)
  }

  async takeOver(host: string): Promise<readonly ListedCall[] | undefined> {
    if (!this.#owner.isGone(host)) return undefined
    const claim = await this.#store.update('call', claimOf(host), (stored) => {
      const by = claimant(stored)
      return by === undefined || by === this.id || this.#owner.isGone(by) ? { claimedBy: this.id } : stored
    })
    if (claimant(claim) !== this.id) return undefined
    const records = await this.#store.list('call', `${host}/`)
    return records.flatMap(({ value }) => readListedCall(value) ?? [])
  }

  /** A claim that cannot be removed ends with this process. */
  async discard(host: string): Promise<void> {
    try {
      const records = (await this.#store.list('call', `${host}/`)).filter(({ key }) => key !== claimOf(host))
      await Promise.all(records.map(({ key }) => this.#store.remove('call', key)))
    } finally {
      await this.#store.remove('call', claimOf(host))
    }
  }

  async settled(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes)
  }

  async leave(): Promise<void> {
    this.#shared.seats.delete(this)
    await this.settled()
  }

  view(): JoinedHost {
    const { session, question } = this.#rows
    return {
      ...this.#info, state: 'live', since: this.#since, silentMs: 0, isFrozen: this.#shared.freeze !== undefined,
      sessions: [...session].map(([id, row]) => ({ id, row })),
      questions: [...question].map(([id, row]) => ({ id, row })), calls: [...this.#open].map((call) => call()),
    }
  }

  /** A store that fails costs the entry, never the call. */
  #write(key: string, record: ListedCall): Promise<void> | undefined {
    if (this.#store.forgets) return undefined
    return this.#saved(this.#store.write('call', key, asJson(record))).catch(() => undefined)
  }

  /** Settles as the write does. A failure is reported. */
  async #saved(write: Promise<void>): Promise<void> {
    const done = write.catch((thrown: unknown) => this.listener.onFault(thrown)).finally(() => this.#writes.delete(done))
    this.#writes.add(done)
    await write
  }
}
/** Calls have numeric keys, so this cannot clash. */
const claimOf = (owner: string): string => `${owner}/claim`

function claimant(claim: Json | undefined): string | undefined {
  const by = isJsonObject(claim) ? claim['claimedBy'] : undefined
  return typeof by === 'string' ? by : undefined
}
