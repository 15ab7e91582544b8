import {
  BulkheadError, type CallEntry, type Clock, type Freeze, type FreezeReport, type HostDescription, type JoinedHost, type OpenCall,
  type Seat, type ShownKind, type Work,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { EventBus } from './events.ts'
import type { Claimant, Owner } from './owner.ts'

export interface SeatSources {
  readonly work: Work
  readonly owner: Owner
  readonly events: EventBus
  readonly clock: Clock
  /** What the host says about itself now. */
  readonly describe: () => HostDescription
  /** Contract: must not throw. */
  readonly onFreeze: (freeze: Freeze) => void
  readonly onRevision: () => void
  readonly onGone: () => void
  /** The host gives up its place, for good. */
  readonly onLeave: () => void
}

/** How long after a failure the host tries again to join. */
const REJOIN_MS = 1_000
const SOURCE = 'seat in the store'

/**
 * The seat of this host in the store. If it is lost, the host joins again, as another one. So does a host that left its
 * seat because it had no session: it has no claims then, and nothing of it runs.
 */
export class HostSeat implements Claimant {
  readonly #sources: SeatSources
  readonly #rows = new Map<string, readonly [ShownKind, string, JsonObject]>()
  #id: string
  /** All ids that it had. */
  readonly #own: Set<string>
  #seat: Seat | undefined
  #joining: Promise<Seat> | undefined
  #count = 0
  #freeze: Freeze | undefined
  #hasLeft = false
  /** Sessions that are being opened. */
  #opening = 0
  #restTimer: NodeJS.Timeout | undefined
  /** It left its seat because it had no session. */
  #isResting = false
  #leaving: Promise<void> | undefined

  constructor(sources: SeatSources) {
    this.#sources = sources
    this.#id = sources.owner.id
    this.#own = new Set([this.#id])
  }

  /** Of the present seat. */
  get id(): string {
    return this.#id
  }

  /** Resolves with the present seat. Rejects with StoreUnavailable. */
  join(): Promise<Seat> {
    if (this.#seat) return Promise.resolve(this.#seat)
    this.#joining ??= this.#join().finally(() => { this.#joining = undefined })
    return this.#joining
  }

  /**
   * Opens a session. It has a seat before it claims anything, because claims of a host without one are void. Rejects with
   * StoreUnavailable.
   */
  async opening<Session>(open: () => Promise<Session>): Promise<Session> {
    this.#opening++
    try {
      if (this.#isResting) await this.join()
      return await open()
    } finally {
      this.#opening--
      this.#restLater()
    }
  }

  /** `claimedBy`: who claimed the call before. Under another id it does not start: others may have claimed it since. */
  open(call: OpenCall, claimedBy?: string): CallEntry {
    const seat = this.#seat
    if (claimedBy !== undefined && claimedBy !== seat?.id) return lostEntry(claimedBy)
    return seat?.open(call) ?? this.#openLater(call)
  }

  isOwn(host: unknown): boolean {
    return typeof host === 'string' && this.#own.has(host)
  }

  isGone(host: string): Promise<boolean> {
    return this.#sources.work.isGone(host)
  }

  hosts(): Promise<readonly JoinedHost[]> {
    return this.#sources.work.hosts()
  }

  /** Whether a freeze may be in force, as far as this host has heard. */
  get mayBeFrozen(): boolean {
    return this.#freeze !== undefined
  }

  frozen(): Promise<Freeze | undefined> {
    return this.#sources.work.frozen()
  }

  /** Of the approvals. */
  revision(): Promise<number> {
    return this.#sources.work.revision()
  }

  freeze(order: Omit<Freeze, 'since'>): Promise<FreezeReport> {
    return this.#sources.work.freeze(order)
  }

  thaw(): Promise<Freeze | undefined> {
    return this.#sources.work.thaw()
  }

  describe(): void {
    this.#seat?.describe(this.#sources.describe())
  }

  show(kind: ShownKind, id: string, row: JsonObject): void {
    this.#rows.set(`${kind} ${id}`, [kind, id, row])
    this.#seat?.show(kind, id, row)
  }

  hide(kind: ShownKind, id: string): void {
    this.#rows.delete(`${kind} ${id}`)
    this.#seat?.hide(kind, id)
    this.#restLater()
  }

  async settled(): Promise<void> {
    await this.#seat?.settled()
  }

  async leave(): Promise<void> {
    this.#hasLeft = true
    clearTimeout(this.#restTimer)
    this.#sources.onLeave()
    const seat = this.#seat ?? await this.#joining?.catch(() => undefined)
    await Promise.all([this.#leaving, seat?.leave()])
  }

  async #join(): Promise<Seat> {
    const { work, owner, describe, events, onFreeze, onRevision, onGone } = this.#sources
    if (this.#hasLeft) throw new BulkheadError('HostClosed', 'The host is closed.')
    // A seat that was lost belongs to those who took over.
    const id = this.#count === 0 ? owner.id : `${owner.id}.${this.#count}`
    this.#count++
    const { pid = 0, machine = '', version = '' } = owner
    let isLost = false
    const seat = await work.join({ id, pid, machine, version, ...describe() }, {
      onGate: (freeze) => {
        this.#freeze = freeze
        if (freeze) onFreeze(freeze)
      },
      onRevision, onGone,
      onLost: () => {
        isLost = true
        if (this.#seat?.id === id) this.#seat = undefined
        events.suppressed(SOURCE, new BulkheadError('StoreUnavailable',
          `The host "${id}" lost its place in the store. Its calls are settled by others. It joins again.`))
        this.#joinSoon(0)
      },
      onFault: (thrown) => events.suppressed('journal of calls', thrown),
    })
    this.#id = id
    this.#own.add(id)
    for (const row of this.#rows.values()) seat.show(...row)
    if (!isLost) this.#seat = seat
    // What was revoked or approved without a seat, no listener heard.
    if (this.#isResting) onRevision()
    this.#isResting = false
    this.#restLater()
    return seat
  }

  #restLater(): void {
    const { restMs } = this.#sources.work
    clearTimeout(this.#restTimer)
    if (restMs === undefined || this.#hasLeft || this.#opening + this.#rows.size > 0) return
    this.#restTimer = setTimeout(() => this.#rest(), restMs).unref()
  }

  #rest(): void {
    const seat = this.#seat
    if (!seat || this.#opening + this.#rows.size > 0) return
    this.#isResting = true
    this.#seat = undefined
    this.#freeze = undefined
    this.#leaving = seat.leave()
  }

  #joinSoon(ms: number): void {
    if (this.#hasLeft) return
    const { clock, events } = this.#sources
    clock.after(ms, () => {
      this.join().catch((thrown: unknown) => {
        events.suppressed(SOURCE, thrown)
        this.#joinSoon(REJOIN_MS)
      })
    })
  }

  /**
   * Without a seat, a call that starts waits for the next one. What it claims meanwhile, it claims for that seat, or for a
   * later one, and then it does not start.
   */
  #openLater(call: OpenCall): CallEntry {
    let entry: CallEntry | undefined
    const opening = this.join().then((seat) => {
      entry = seat.open(call)
      return entry
    })
    opening.catch(() => undefined)
    return {
      start: async (start) => (await opening).start(start),
      begin: (effect) => {
        if (entry === undefined) throw new BulkheadError('StoreUnavailable', 'The call has not started.')
        return entry.begin(effect)
      },
      end: () => void opening.then((opened) => opened.end(), () => undefined),
    }
  }
}

/** Of a call whose host lost its seat after it claimed the call. */
function lostEntry(id: string): CallEntry {
  const fail = () => {
    throw new BulkheadError('StoreUnavailable',
      `The call was not started: the host "${id}", which continued it, lost its place in the store. Continue it again.`)
  }
  return { start: async () => fail(), begin: fail, end: () => undefined }
}
