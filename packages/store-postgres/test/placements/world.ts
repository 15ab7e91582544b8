import pg from 'pg'
import { BulkheadError, type LeasedCall, type PlacedCall, type PlacedEnd, type Placements } from '@bulkhead/contract'
import type { PostgresProxy } from '../../../../scripts/postgres/proxy.ts'
import { effect, Fleet, request, workerInfo } from './fleet.ts'

/** What a step may do, and how often. */
const WEIGHTS = {
  place: 5, 'place repeatable': 2, note: 20, settle: 4, expire: 3, wake: 10, cancel: 1, forget: 1, close: 1,
  'hold requests': 2, 'hold answers': 1, release: 4, cut: 2,
}
export type Act = keyof typeof WEIGHTS
export const ACTS: readonly Act[] = (Object.keys(WEIGHTS) as Act[]).flatMap((act) => Array<Act>(WEIGHTS[act]).fill(act))

export interface Step {
  readonly does: Act
  readonly pick: number
  /** The next step does not wait for this one. */
  readonly isQuick: boolean
}

interface Attempt {
  readonly leased: LeasedCall
  /** How often it passed the check in front of an effect. */
  effects: number
  isPending: boolean
  isSettled: boolean
}

interface ModelCall {
  readonly id: string
  readonly repeats: boolean
  readonly attempts: Attempt[]
  placed?: PlacedCall
  /** `untouched`: someone relies on that nothing of it has begun, nor ever will. */
  verdict?: 'settled' | 'unknown' | 'untouched' | 'failed'
  isForgotten: boolean
  /** The end of an earlier attempt named an effect. */
  hasBegun: boolean
}

interface Side {
  readonly host: Placements
  readonly proxy: PostgresProxy
}

/** Only the model lets a lease end. The caller looks after leases often. */
const NEVER_MS = 1_000_000_000
const LOOK_MS = 50
const HELD_MS = 4
const LAST_MS = 30_000
const WORKERS = ['w0', 'w1']

/** One caller, two workers and their database, for many runs. */
export class Place {
  readonly sides: readonly Side[]
  readonly calm: Placements
  readonly admin: pg.Client
  readonly #fleet: Fleet
  onCall: (leased: LeasedCall) => void = () => undefined

  private constructor(fleet: Fleet, sides: readonly Side[], calm: Placements, admin: pg.Client) {
    this.#fleet = fleet
    this.sides = sides
    this.calm = calm
    this.admin = admin
  }

  static async open(): Promise<Place> {
    const fleet = await Fleet.open()
    const calm = await fleet.host(NEVER_MS)
    const sides = [await fleet.hostBehindProxy(LOOK_MS)]
    for (const _ of WORKERS) sides.push(await fleet.hostBehindProxy(NEVER_MS))
    const admin = new pg.Client(fleet.url.replace(/\?.*/, `?options=-c%20search_path%3D${fleet.schema}`))
    await admin.connect()
    const place = new Place(fleet, sides, calm, admin)
    for (const [index, id] of WORKERS.entries()) {
      await sides[index + 1]!.host.serve(workerInfo({ id, capacity: 16 }), (leased) => place.onCall(leased))
    }
    return place
  }

  async close(): Promise<void> {
    await this.admin.end()
    await this.#fleet[Symbol.asyncDispose]()
  }
}

/** Calls, as caller and workers may treat them, and what must hold of each. */
export class World {
  readonly #place: Place
  readonly #calls = new Map<string, ModelCall>()
  readonly #pending = new Set<Promise<void>>()
  readonly #faults: string[] = []
  readonly #held = new Set<Side>()

  constructor(place: Place) {
    this.#place = place
    place.onCall = (leased) => this.#take(leased)
  }

  /** Throws what did not hold. */
  async run(steps: readonly Step[]): Promise<void> {
    for (const { does, pick, isQuick } of steps) {
      this.#act(does, pick)
      if (!isQuick) await this.#quiet()
      if (this.#faults.length > 0) break
    }
    await this.#end()
    if (this.#faults.length > 0) throw new Error(this.#faults.join('\n'))
  }

  #act(does: Act, pick: number): unknown {
    const { sides, admin } = this.#place
    const side = sides[pick % sides.length]!
    const worker = WORKERS[pick % WORKERS.length]!
    const open = [...this.#calls.values()].filter(({ placed, verdict }) => placed && verdict === undefined)
    const call = open[pick % open.length]
    // Also one that has lost its lease and does not know it.
    const running = [...this.#calls.values()].flatMap((one) => one.attempts.map((attempt) => ({ one, attempt })))
      .filter(({ attempt: { isPending, isSettled } }) => !isPending && !isSettled)
    const found = running[pick % running.length]
    switch (does) {
      case 'place':
      case 'place repeatable': return this.#placeNew(does === 'place repeatable')
      case 'note': return found && this.#note(found.one, found.attempt)
      case 'settle': return found && this.#settle(found.one, found.attempt)
      case 'expire': return this.#do(async () => void await admin.query(`UPDATE worker SET lease = '1 ms',
        lease_until = clock_timestamp() - interval '1 s' WHERE id = '${worker}'`))
      case 'wake': return this.#wake(worker)
      case 'cancel': return call && this.#do(() => call.placed!.cancel())
      case 'forget': return call && this.#forget(call)
      case 'close': return call && this.#close(call)
      case 'hold requests':
      case 'hold answers':
        this.#held.add(side)
        return side.proxy.hold(does === 'hold requests' ? 'requests' : 'answers')
      case 'release': return this.#release()
      case 'cut': return side.proxy.cut()
    }
  }

  #placeNew(repeats: boolean): void {
    const one = request({ ticket: 'ticket 1' })
    const call: ModelCall = { id: one.id, repeats, attempts: [], isForgotten: false, hasBegun: false }
    this.#calls.set(call.id, call)
    const placed = Promise.withResolvers<PlacedCall>()
    placed.promise.catch(() => undefined)
    this.#do(async () => {
      call.placed = await this.#place.sides[0]!.host.place({ ...one, callId: call.id }, {
        onTaken() {}, onMessage() {}, onBegun() {},
        onEnd: (end) => this.#do(async () => this.#hear(call, await placed.promise, end)),
      })
      placed.resolve(call.placed)
    }, (error) => {
      placed.reject(error)
      this.#judge(call, 'failed')
    })
  }

  #hear(call: ModelCall, placed: PlacedCall, end: PlacedEnd): void {
    if (call.verdict !== undefined) return
    if (end.is === 'untaken') return this.#judge(call, call.hasBegun ? 'unknown' : 'untouched')
    if (end.is === 'settled') {
      const attempt = call.attempts.find(({ leased }) => leased.epoch === Number(Buffer.from(end.result).toString()))
      if (!attempt?.isSettled) this.#fault(call, 'has a result that no attempt sent')
      return this.#judge(call, 'settled')
    }
    const { repeats } = call
    call.hasBegun ||= end.begun !== undefined
    // It tries even if a note is there: the database refuses it.
    this.#do(async () => {
      const isPlaced = await placed.again(`ticket ${placed.epoch + 1}`, { repeats })
      if (isPlaced && end.begun && !repeats) this.#fault(call, 'was placed again after a note')
      if (!isPlaced) this.#judge(call, call.hasBegun ? 'unknown' : 'untouched')
    }, () => this.#judge(call, 'failed'))
  }

  #take(leased: LeasedCall): void {
    const call = this.#calls.get(leased.id)
    if (!call) return void leased.settle(Buffer.from('of another run')).catch(() => undefined)
    const { epoch, ticket } = leased
    if (ticket !== `ticket ${epoch}`) this.#fault(call, `was leased in epoch ${epoch} with "${ticket}"`)
    if (call.attempts.some((one) => one.leased.epoch === epoch)) this.#fault(call, `redeemed "${ticket}" twice`)
    call.attempts.push({ leased, effects: 0, isPending: false, isSettled: false })
  }

  #note(call: ModelCall, attempt: Attempt): void {
    attempt.isPending = true
    const { isForgotten } = call
    this.#do(async () => {
      await attempt.leased.begin(effect(`of epoch ${attempt.leased.epoch}`))
      // The effect.
      attempt.effects++
      const begun = call.attempts.filter(({ effects }) => effects > 0)
      if (begun.length > 1 && !call.repeats) this.#fault(call, 'passed its first effect in two attempts')
      if (call.verdict === 'untouched') this.#fault(call, 'was taken for untouched, and began something')
      if (isForgotten) this.#fault(call, 'was forgotten, and passed a check after that')
    }).finally(() => { attempt.isPending = false })
  }

  #settle(call: ModelCall, attempt: Attempt): void {
    const { leased } = attempt
    attempt.isSettled = true
    this.#do(async () => {
      const counts = await leased.settle(Buffer.from(String(leased.epoch)))
      if (!counts && call.verdict === 'settled' && call.attempts.at(-1) === attempt) {
        this.#fault(call, 'was settled by a result that did not count')
      }
    })
  }

  #forget(call: ModelCall): void {
    call.verdict = 'failed'
    this.#do(async () => {
      await call.placed!.forget()
      call.isForgotten = true
    })
  }

  /** As another host settles a call whose caller is gone. */
  #close(call: ModelCall): void {
    call.verdict = 'failed'
    this.#do(async () => {
      const begun = await this.#place.calm.close('s', call.id)
      const isUntouched = begun.length === 0
      call.verdict = isUntouched ? 'untouched' : 'unknown'
      if (isUntouched) this.#mustBeUntouched(call)
    })
  }

  #judge(call: ModelCall, verdict: NonNullable<ModelCall['verdict']>): void {
    if (call.verdict !== undefined) return
    call.verdict = verdict
    if (verdict === 'untouched') this.#mustBeUntouched(call)
  }

  #mustBeUntouched(call: ModelCall): void {
    if (call.attempts.every(({ effects }) => effects === 0)) return
    this.#fault(call, 'began something, and was taken for untouched')
  }

  /** An operation may fail as a whole. */
  #do(work: () => Promise<void> | void, failed: (error: unknown) => void = () => undefined): Promise<void> {
    const done = (async () => work())().catch((error: unknown) => {
      if (!BulkheadError.is(error)) throw error
      failed(error)
    }).finally(() => this.#pending.delete(done))
    this.#pending.add(done)
    return done
  }

  #wake(worker: string): void {
    const text = `SELECT pg_notify(channel, '') FROM worker WHERE id = '${worker}'`
    this.#do(async () => void await this.#place.admin.query(text))
  }

  #release(): void {
    for (const { proxy } of this.#held) proxy.release()
    this.#held.clear()
  }

  /** Until nothing goes on but what a connection holds back. */
  async #quiet(): Promise<void> {
    const all = Promise.allSettled(this.#pending)
    await (this.#held.size > 0 ? Promise.race([all, pause(HELD_MS)]) : all)
  }

  /** Workers settle what they have. Then each call has its verdict. */
  async #end(): Promise<void> {
    this.#release()
    const end = performance.now() + LAST_MS
    const left = () => [...this.#calls.values()].filter(({ verdict }) => verdict === undefined)
    while (left().length + this.#pending.size > 0 && performance.now() < end) {
      await Promise.race([Promise.allSettled(this.#pending), pause(LOOK_MS)])
      for (const call of left()) {
        for (const attempt of call.attempts) if (!attempt.isPending && !attempt.isSettled) this.#settle(call, attempt)
      }
      for (const worker of WORKERS) this.#wake(worker)
      await pause(HELD_MS)
    }
    for (const call of left()) this.#fault(call, 'has no end')
    for (const { placed } of this.#calls.values()) await placed?.forget()
    await this.#place.admin.query('DELETE FROM placed')
  }

  #fault(call: ModelCall, what: string): void {
    this.#faults.push(`${call.id} ${what}`)
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms) })
