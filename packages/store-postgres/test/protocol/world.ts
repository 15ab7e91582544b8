import { BulkheadError, type Seat, type Store, type Work } from '@bulkhead/contract'
import {
  claimTicket, endCall, infoOf, joinHost, judgeLast, judgeSettled, openCall, PICKS, SILENT, type Act, type Land,
  type Lands, type ModelCall, type ModelHost, type Step,
} from './model.ts'

const HELD_MS = 4

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
      if (this.#faults.length > 0) break
    }
    await this.#end()
    if (this.#faults.length > 0) throw new Error(this.#faults.join('\n'))
  }

  get #calm(): Store {
    return this.#lands.calm
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
      case 'end': return this.#with(pick, () => true, endCall)
      case 'freeze': return this.#freeze(store.work!)
      case 'thaw': return this.#thaw(store.work!)
      case 'approve': return this.#approve(store)
      case 'revoke': return this.#revoke(store)
      case 'redeem':
        return this.#with(pick, (call) => !call.isStarted && !call.isPending, (call) => this.#redeem(call, pick))
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
    this.#hosts[at] = await joinHost(land, id)
  }

  #open(host: ModelHost, revision: number | undefined): void {
    const call = openCall(host, `${host.id}.${++this.#count}`, revision)
    if (revision !== undefined && this.#isRevoked) call.revoked = { isListed: false }
    this.#calls.set(call.id, call)
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
      await this.#bar('frozen', this.#waiting(), 'started after a freeze was confirmed')
    }, () => { this.#gateBusy = false })
  }

  /** From now on, these may start only if they are listed. */
  async #bar(by: 'frozen' | 'revoked', waiting: readonly ModelCall[], what: string): Promise<void> {
    for (const call of waiting) call[by] ??= { isListed: true }
    const listed = await this.#listed()
    for (const call of waiting) {
      const barrier = call[by]
      if (listed.has(call.id) || call.isOver || !barrier) continue
      barrier.isListed = false
      if (call.isStarted) this.#fault(call, what)
    }
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
      await this.#bar('revoked', waiting, 'started on an approval that was revoked')
    }, () => { this.#approvalBusy = false })
  }

  #redeem(call: ModelCall, pick: number): void {
    const { host: { land: { store } } } = call
    const ticket = `${this.#name}-${pick % 2}`
    call.isPending = true
    this.#do(async () => {
      await claimTicket(store, ticket, call)
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
    for (const call of gone.calls) judgeSettled(call, listed.get(call.id), (what) => this.#fault(call, what))
    gone.isOver = true
    if (dies) return
    await seat.discard(gone.id)
    gone.isDiscarded = true
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
    const lastId = `${this.#name}-last`
    const last = await this.#calm.work!.join(infoOf(lastId, process.pid), SILENT)
    for (const host of this.#hosts) {
      if (!host.isJudged) host.calls.forEach(endCall)
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
      if (!id.startsWith(this.#name) || id === lastId) continue
      if (calls.length > 0 || state !== 'gone') {
        this.#faults.push(`${id} left ${calls.map(({ callId }) => callId).join()}`)
      }
      await last.takeOver(id)
      await last.discard(id)
    }
    for (const call of this.#calls.values()) judgeLast(call, (what) => this.#fault(call, what))
    await last.leave()
  }

  #fault(call: ModelCall, what: string): void {
    this.#faults.push(`${call.id} ${what}`)
  }
}
