import type { CallEntry, ListedCall, OpenCall, Seat, SeatListener, Store, Work } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'

/** One host as a store knows it. A test can do to it what happens to hosts. */
export interface Land {
  readonly store: Store
  /** Of the next host that joins. */
  pid(): number
  /** Others take the host for gone from now on. It does not know that. */
  judge?(host: string): Promise<void>
  /** Bytes to or from the server wait. */
  hold?(what: 'requests' | 'answers'): void
  release?(): void
  /** Its connections break. What it sent may still arrive. */
  cut?(): void
}

/** The stores of one kind: of three hosts, and one that nothing happens to. */
export interface Lands {
  readonly hosts: readonly Land[]
  readonly calm: Store
  /** A host that others take for gone can act on. */
  readonly canOutlive: boolean
  close(): Promise<void>
}

interface Barrier {
  isListed: boolean
}

interface ModelCall {
  readonly id: string
  readonly host: ModelHost
  readonly entry: CallEntry
  /** The revision of the approvals that it rests on. */
  readonly revision: number | undefined
  isPending: boolean
  isStarted: boolean
  isOver: boolean
  effects: number
  /** Set once a freeze, or the end of its approval, was confirmed: it may start only if it was listed then. */
  frozen?: Barrier | undefined
  revoked?: Barrier
  /** Another host settled it. */
  settled?: 'CallInterrupted' | 'OutcomeUnknown'
}

interface ModelHost {
  readonly id: string
  readonly land: Land
  readonly seat: Seat
  readonly calls: ModelCall[]
  isHeld: boolean
  isJudged: boolean
  /** Its calls were taken over, and then it was removed. */
  isOver: boolean
  isDiscarded: boolean
}

const SILENT: SeatListener = { onGate() {}, onRevision() {}, onLost() {}, onGone() {}, onFault() {} }
const TERMS: OpenCall['terms'] = { sessionId: 's', tool: 't', effects: 'once', origin: {
  layer: 'global', extension: 'sample', version: '1.0.0', digest: 'd',
} }
const HELD_MS = 4
/** How many things a step chooses among, for each host. */
export const PICKS = 6

/** What a step may do. `host` and `pick` choose among what is there. */
const WEIGHTS = {
  open: 6, 'open approved': 4, start: 12, note: 6, end: 2, freeze: 3, thaw: 4, approve: 3, revoke: 2, redeem: 2, judge: 1,
  'take over': 2, join: 2, 'hold requests': 1, 'hold answers': 1, release: 3, cut: 1,
}
type Act = keyof typeof WEIGHTS
export const STEPS: readonly Act[] = (Object.keys(WEIGHTS) as Act[]).flatMap((act) => Array<Act>(WEIGHTS[act]).fill(act))

export interface Step {
  readonly does: Act
  readonly host: number
  readonly pick: number
  /** The next step does not wait for this one. */
  readonly isQuick: boolean
}

let worlds = 0

/**
 * Hosts on a store, as the protocol lets them act, and what must hold of them. Each step begins one operation; it is
 * over when the step is, unless the connection of its host holds it back.
 */
export class World {
  readonly #lands: Lands
  readonly #name = `w${process.pid}-${++worlds}`
  readonly #hosts: ModelHost[] = []
  /** Another one has their place. */
  readonly #left: ModelHost[] = []
  readonly #calls = new Map<string, ModelCall>()
  readonly #pending = new Set<Promise<void>>()
  readonly #faults: string[] = []
  readonly #redeemed = new Map<string, ModelCall>()
  #gateBusy = false
  #approvalBusy = false
  #isFrozen = false
  #isRevoked = false
  #count = 0

  constructor(lands: Lands) {
    this.#lands = lands
  }

  /** Throws what did not hold. */
  async run(steps: readonly Step[]): Promise<void> {
    await this.#calm.work!.thaw()
    await this.#calm.remove('approval', 'key')
    for (const land of this.#lands.hosts) await this.#join(land)
    for (const step of steps) {
      await this.#take(step)
      this.#require()
    }
    await this.#end()
    this.#require()
  }

  get #calm(): Store {
    return this.#lands.calm
  }

  #require(): void {
    if (this.#faults.length > 0) throw new Error(this.#faults.join('\n'))
  }

  async #take({ does, host: index, pick, isQuick }: Step): Promise<void> {
    const host = this.#hosts[index % this.#hosts.length]!
    if (does === 'join') {
      if (!host.isOver) return
      this.#release(host)
      await this.#quiet()
      this.#left.push(host)
      return this.#join(host.land, this.#hosts.indexOf(host))
    }
    if (does === 'hold requests' || does === 'hold answers') {
      host.isHeld = host.land.hold !== undefined
      return host.land.hold?.(does === 'hold requests' ? 'requests' : 'answers')
    }
    if (does === 'cut') return host.land.cut?.()
    if (does === 'release') {
      this.#release(host)
      return this.#quiet()
    }
    this.#begin(does, host, index * PICKS + pick)
    if (!isQuick) await this.#quiet()
  }

  #begin(does: Act, host: ModelHost, pick: number): void {
    const { store } = host.land
    const canAct = !host.isJudged || this.#lands.canOutlive
    switch (does) {
      case 'open': return canAct ? this.#open(host, undefined) : undefined
      case 'open approved': return canAct ? this.#openApproved(host) : undefined
      case 'start': return this.#with(pick, (call) => !call.isStarted && !call.isPending, (call) => this.#start(call))
      case 'note': return this.#with(pick, (call) => call.isStarted && !call.isPending, (call) => this.#note(call))
      // Also one whose start is under way: it was cancelled.
      case 'end': return this.#with(pick, () => true, (call) => {
        call.isOver = true
        call.entry.end()
      })
      case 'freeze': return this.#freeze(store.work!)
      case 'thaw': return this.#thaw(store.work!)
      case 'approve': return this.#approve(store)
      case 'revoke': return this.#revoke(store)
      case 'redeem': return this.#with(pick, (call) => !call.isStarted && !call.isPending, (call) => this.#redeem(call, pick))
      case 'judge': return this.#judge(host)
      case 'take over': return this.#takeOver(pick)
      default:
    }
  }

  /** With one of the open calls that fit, if there is one. */
  #with(pick: number, fits: (call: ModelCall) => boolean, act: (call: ModelCall) => void): void {
    const found = this.#hosts.flatMap(({ calls, isJudged }) => isJudged && !this.#lands.canOutlive ? []
      : calls.filter((call) => !call.isOver && fits(call)))
    if (found.length > 0) act(found[pick % found.length]!)
  }

  async #join(land: Land, at = this.#hosts.length): Promise<void> {
    const id = `${this.#name}-${++this.#count}`
    const info = { id, pid: land.pid(), machine: 'm', version: '1', workspace: '/a', rules: 'r' }
    const host: ModelHost = {
      id, land, seat: await land.store.work!.join(info, SILENT), calls: [], isHeld: false, isJudged: false, isOver: false,
      isDiscarded: false,
    }
    this.#hosts[at] = host
  }

  #open(host: ModelHost, revision: number | undefined): void {
    const id = `${host.id}.${++this.#count}`
    const entry = host.seat.open({ terms: TERMS, callId: id })
    const call: ModelCall = {
      id, host, entry, revision, isPending: false, isStarted: false, isOver: false, effects: 0,
      ...(revision !== undefined && this.#isRevoked && { revoked: { isListed: false } }),
    }
    host.calls.push(call)
    this.#calls.set(id, call)
  }

  #openApproved(host: ModelHost): void {
    const { store } = host.land
    this.#do(async () => {
      const revision = await store.work!.revision()
      if (await store.read('approval', 'key') !== undefined) this.#open(host, revision)
    })
  }

  #start(call: ModelCall): void {
    call.isPending = true
    if (this.#isFrozen) call.frozen = { isListed: false }
    this.#do(async () => {
      const { is } = await call.entry.start({ at: 1, revision: call.revision, isInline: true })
      call.isStarted = is === 'started'
      if (!call.isStarted) return
      if (call.frozen?.isListed === false) this.#fault(call, 'started after a freeze was confirmed')
      if (call.revoked?.isListed === false) this.#fault(call, 'started on an approval that was revoked')
    }, () => { call.isPending = false })
  }

  #note(call: ModelCall): void {
    call.isPending = true
    this.#do(async () => {
      await call.entry.begin({ attempt: 1, at: 2, what: 'writes' })
      // The effect.
      call.effects++
      if (call.settled === 'CallInterrupted') this.#fault(call, 'was settled as begun nothing, and began something')
    }, () => { call.isPending = false })
  }

  #freeze(work: Work): void {
    if (this.#gateBusy) return
    this.#gateBusy = true
    this.#do(async () => {
      const { unconfirmed } = await work.freeze({ by: 'test' })
      const ours = unconfirmed.filter(({ id }) => id.startsWith(this.#name))
      if (ours.length > 0) this.#faults.push(`not confirmed by ${ours.map(({ id }) => id).join()}`)
      this.#isFrozen = true
      const waiting = this.#waiting()
      for (const call of waiting) call.frozen ??= { isListed: true }
      const listed = await this.#listed()
      for (const call of waiting) {
        if (listed.has(call.id) || call.isOver || !call.frozen) continue
        call.frozen.isListed = false
        if (call.isStarted) this.#fault(call, 'started after a freeze was confirmed')
      }
    }, () => { this.#gateBusy = false })
  }

  /** What has not started, as far as its host knows. */
  #waiting(): readonly ModelCall[] {
    return [...this.#calls.values()].filter(({ isStarted, isOver }) => !isStarted && !isOver)
  }

  #thaw(work: Work): void {
    if (this.#gateBusy) return
    this.#gateBusy = true
    this.#isFrozen = false
    for (const call of this.#calls.values()) call.frozen = undefined
    this.#do(async () => void await work.thaw(), () => { this.#gateBusy = false })
  }

  #approve(store: Store): void {
    if (this.#approvalBusy) return
    this.#approvalBusy = true
    this.#isRevoked = false
    this.#do(() => store.write('approval', 'key', { n: ++this.#count }), () => { this.#approvalBusy = false })
  }

  #revoke(store: Store): void {
    if (this.#approvalBusy) return
    this.#approvalBusy = true
    this.#do(async () => {
      await store.remove('approval', 'key')
      this.#isRevoked = true
      const waiting = this.#waiting().filter(({ revision }) => revision !== undefined)
      for (const call of waiting) call.revoked ??= { isListed: true }
      const listed = await this.#listed()
      for (const call of waiting) {
        if (listed.has(call.id) || call.isOver || !call.revoked) continue
        call.revoked.isListed = false
        if (call.isStarted) this.#fault(call, 'started on an approval that was revoked')
      }
    }, () => { this.#approvalBusy = false })
  }

  /** As a host continues a paused call: one claims it, and the claim of a host that is gone is void. */
  #redeem(call: ModelCall, pick: number): void {
    const { host: { id, land: { store } } } = call
    const ticket = `${this.#name}-${pick % 2}`
    call.isPending = true
    this.#do(async () => {
      const by = (await store.read('paused', ticket) as Claim | undefined)?.by
      const isVoid = by !== undefined && await store.work!.isGone(by)
      await store.update('paused', ticket, (stored) => {
        const claim = stored as Claim | undefined
        if (claim && !(isVoid && claim.by === by)) throw new BulkheadError('InteractionAlreadyAnswered', 'Taken.')
        return { by: id, call: call.id }
      })
      const before = this.#redeemed.get(ticket)
      if (before && !before.host.isJudged) this.#fault(call, `redeemed what ${before.id} had redeemed`)
      this.#redeemed.set(ticket, call)
    }, () => { call.isPending = false })
  }

  #judge(host: ModelHost): void {
    const { judge } = host.land
    // One is left to take over.
    if (!judge || host.isJudged || this.#hosts.filter(({ isJudged }) => !isJudged).length < 2) return
    host.isJudged = true
    this.#do(() => judge(host.id))
  }

  #takeOver(pick: number): void {
    const [gone, living] = [this.#hosts.filter(({ isJudged, isDiscarded }) => isJudged && !isDiscarded),
      this.#hosts.filter(({ isJudged }) => !isJudged)]
    if (gone.length === 0) return
    this.#do(() => this.#settle(gone[pick % gone.length]!, living[pick % living.length]!.seat, pick % 3 === 0))
  }

  /** `dies`: before it has finished. */
  async #settle(gone: ModelHost, seat: Seat, dies: boolean): Promise<void> {
    const taken = await seat.takeOver(gone.id)
    if (taken === undefined) return
    const listed = new Map(taken.map((one) => [one.callId, one]))
    for (const call of gone.calls) this.#judgeSettled(call, listed.get(call.id))
    gone.isOver = true
    if (dies) return
    await seat.discard(gone.id)
    gone.isDiscarded = true
  }

  #judgeSettled(call: ModelCall, found: ListedCall | undefined): void {
    if (!found) {
      if (call.isStarted && !call.isOver) this.#fault(call, 'was lost')
      // What starts or begins something from now on would never be settled.
      call.frozen = call.revoked = { isListed: false }
      if (!call.isOver) call.settled ??= 'CallInterrupted'
      return
    }
    const verdict = found.begun.length > 0 ? 'OutcomeUnknown' : 'CallInterrupted'
    if (call.settled !== undefined && call.settled !== verdict) this.#fault(call, `was settled as ${call.settled} and ${verdict}`)
    if (verdict === 'CallInterrupted' && call.effects > 0) this.#fault(call, 'was settled as begun nothing, after an effect')
    call.settled = verdict
  }

  async #listed(): Promise<ReadonlySet<string>> {
    return new Set((await this.#calm.work!.hosts()).flatMap(({ calls }) => calls.map(({ callId }) => callId)))
  }

  /** An operation may fail as a whole. */
  #do(work: () => Promise<void>, last: () => void = () => undefined): void {
    const done = work().catch((error: unknown) => {
      if (!BulkheadError.is(error)) throw error
    }).finally(() => {
      this.#pending.delete(done)
      last()
    })
    this.#pending.add(done)
  }

  #release(host: ModelHost): void {
    host.isHeld = false
    host.land.release?.()
  }

  /** Until nothing goes on but what a connection holds back. */
  async #quiet(): Promise<void> {
    const all = Promise.allSettled(this.#pending)
    const isHeld = this.#hosts.some((host) => host.isHeld)
    await (isHeld ? Promise.race([all, new Promise((resolve) => { setTimeout(resolve, HELD_MS) })]) : all)
  }

  /** Every call ends by its host, or is settled by another one. Nothing is left. */
  async #end(): Promise<void> {
    for (const host of this.#hosts) this.#release(host)
    await Promise.all(this.#pending)
    await this.#calm.work!.thaw()
    const info = { id: `${this.#name}-last`, pid: process.pid, machine: 'm', version: '1', workspace: '/a', rules: 'r' }
    const last = await this.#calm.work!.join(info, SILENT)
    for (const host of this.#hosts) {
      if (!host.isJudged) for (const call of host.calls) {
        call.entry.end()
        call.isOver = true
      }
      await host.seat.settled()
      if (!host.isJudged) await host.seat.leave()
    }
    for (const host of [...this.#left, ...this.#hosts]) {
      if (!host.isJudged) continue
      // A late host that started a call meanwhile is late no more.
      await host.land.judge!(host.id)
      await this.#settle(host, last, false)
    }
    for (const { id, state, calls } of await this.#calm.work!.hosts()) {
      if (!id.startsWith(this.#name) || id === info.id) continue
      if (calls.length > 0 || state !== 'gone') this.#faults.push(`${id} left ${calls.map(({ callId }) => callId).join()}`)
      await last.takeOver(id)
      await last.discard(id)
    }
    for (const call of this.#calls.values()) {
      if (call.isStarted && !call.isOver && call.settled === undefined) this.#fault(call, 'has no outcome')
      if (call.settled === 'CallInterrupted' && call.effects > 0) this.#fault(call, 'was settled as begun nothing')
    }
    await last.leave()
  }

  #fault(call: ModelCall, what: string): void {
    this.#faults.push(`${call.id} ${what}`)
  }
}

interface Claim {
  readonly by: string
}

