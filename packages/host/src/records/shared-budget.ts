import { hash } from 'node:crypto'
import type { BulkheadError, Store } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { faultOf, type BudgetFault, type BudgetLimits, type BudgetSource, type Reservation, type Usage } from '../model/budget.ts'
import type { EventBus } from './events.ts'
import type { Claimant } from './owner.ts'

export interface SharedBudgetSources {
  readonly store: Store
  readonly workspace: string
  readonly owner: Claimant
  readonly events: EventBus
  /** Whether a session is open in a host that lives, or can be resumed. */
  readonly isKept: (sessionId: string) => Promise<boolean>
}

/** Returned and additional usage is written this much later, unless a reservation is written before. */
const SETTLE_MS = 250
const SETTLING = 'counting a budget'

interface Asked {
  readonly tokens: number
  readonly settle: PromiseWithResolvers<void>
}

/**
 * A budget that hosts of one store share. Usage is in the store before a call runs: one update reserves for all calls
 * that came since the last one, in their order. A host that dies leaves its reservations counted.
 */
export class SharedBudget implements BudgetSource {
  readonly #sources: SharedBudgetSources
  readonly #key: string
  readonly #limits: BudgetLimits
  /** As the store had it last. undefined: not read yet. */
  #stored: Usage | undefined
  #asked: Asked[] = []
  /** Asked for in the update that is under way. */
  #underWay: readonly Asked[] = []
  #change: Usage = NONE
  #joined: readonly string[] = []
  #writing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  /** `name`: the same for everything that shares it. */
  constructor(name: readonly string[], limits: BudgetLimits, sources: SharedBudgetSources) {
    this.#sources = sources
    this.#key = `${prefixOf(sources.workspace)}${hash('sha256', JSON.stringify(name))}`
    this.#limits = limits
  }

  /** From what this host knows. `refresh` first, if it denies: another host may have returned something. */
  check(tokens: number): BudgetFault | undefined {
    return faultOf(this.#limits, this.#used, tokens)
  }

  /** Returns undefined if `check` needs no reading of the store. Rejects with StoreUnavailable. */
  refresh(tokens: number): Promise<void> | undefined {
    if (this.#stored !== undefined && this.check(tokens) === undefined) return undefined
    return this.#refresh()
  }

  /** `confirmed` says whether the store had enough left. */
  reserve(tokens: number): Reservation {
    const settle = Promise.withResolvers<void>()
    settle.promise.catch(() => undefined)
    this.#asked.push({ tokens, settle })
    this.#write()
    let isOpen = true
    const close = (change: Usage) => {
      if (!isOpen) return
      isOpen = false
      // What was refused has taken nothing.
      settle.promise.then(() => this.#settle(change), () => undefined)
    }
    return {
      tokens, confirmed: settle.promise,
      release: () => close({ tokens: -tokens, calls: -1 }),
      settle: (used) => close({ tokens: Math.max(0, used - tokens), calls: 0 }),
    }
  }

  /** A session uses it from now on. Usage is forgotten with the last one, in any host. */
  join(sessionId: string): void {
    this.#joined = [...this.#joined, sessionId]
    void this.#report(this.#dropEnded().then(() => this.#write()))
  }

  /** A session has ended. `stays`: it can be resumed. Never rejects. */
  async leave(sessionId: string, stays: boolean): Promise<void> {
    this.#joined = this.#joined.filter((one) => one !== sessionId)
    clearTimeout(this.#timer)
    await this.#writing?.catch(() => undefined)
    await this.#report((async () => {
      if (this.#change !== NONE) await this.#update()
      if (!stays) await this.#dropEnded(sessionId)
    })())
  }

  async #report(work: Promise<void>): Promise<void> {
    await work.catch((thrown: unknown) => this.#sources.events.suppressed(SETTLING, thrown))
  }

  get #used(): Usage {
    const { tokens, calls } = this.#stored ?? NONE
    const asked = [...this.#underWay, ...this.#asked]
    return {
      tokens: tokens + this.#change.tokens + asked.reduce((sum, one) => sum + one.tokens, 0),
      calls: calls + this.#change.calls + asked.length,
    }
  }

  async #refresh(): Promise<void> {
    await this.#writing?.catch(() => undefined)
    this.#stored = readUsage(await this.#sources.store.read('budget', this.#key))
  }

  #settle({ tokens, calls }: Usage): void {
    if (tokens === 0 && calls === 0) return
    this.#change = { tokens: this.#change.tokens + tokens, calls: this.#change.calls + calls }
    this.#timer ??= setTimeout(() => this.#write(), SETTLE_MS).unref()
  }

  /** Later ones wait for the update that is under way, and share the next one. */
  #write(): void {
    this.#writing ??= this.#report(Promise.resolve().then(() => this.#update())).finally(() => {
      this.#writing = undefined
      if (this.#asked.length > 0) this.#write()
    })
  }

  async #update(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const asked = this.#underWay = this.#asked
    this.#asked = []
    const change = this.#change
    const { store, owner } = this.#sources
    let faults: readonly (BulkheadError | undefined)[] = []
    try {
      const stored = await store.update('budget', this.#key, (value) => {
        const before = readUsage(value)
        let used = { tokens: Math.max(0, before.tokens + change.tokens), calls: Math.max(0, before.calls + change.calls) }
        faults = asked.map(({ tokens }) => {
          const fault = faultOf(this.#limits, used, tokens)
          if (!fault) used = { tokens: used.tokens + tokens, calls: used.calls + 1 }
          return fault
        })
        const own = Object.fromEntries(this.#joined.map((sessionId) => [sessionId, owner.id]))
        return { ...used, holders: { ...holdersIn(value), ...own } }
      })
      this.#stored = readUsage(stored)
      this.#change = { tokens: this.#change.tokens - change.tokens, calls: this.#change.calls - change.calls }
      if (this.#change.tokens === 0 && this.#change.calls === 0) this.#change = NONE
      this.#underWay = []
      asked.forEach(({ settle }, index) => faults[index] ? settle.reject(faults[index]) : settle.resolve())
    } catch (thrown) {
      this.#underWay = []
      for (const { settle } of asked) settle.reject(thrown)
      throw thrown
    }
  }

  /** Removes one session, and those that no host can continue. Without any, the usage is forgotten. */
  async #dropEnded(also?: string): Promise<void> {
    const { store } = this.#sources
    const ended = await endedHolders(holdersIn(await store.read('budget', this.#key)), this.#sources)
    await dropHolders(store, this.#key, also === undefined ? ended : [...ended, also])
  }
}

/** Forgets usage whose sessions are all over. Rejects with StoreUnavailable. */
export async function purgeBudgets(sources: SharedBudgetSources): Promise<void> {
  for (const { key, value } of await sources.store.list('budget', prefixOf(sources.workspace))) {
    await dropHolders(sources.store, key, await endedHolders(holdersIn(value), sources))
  }
}

async function endedHolders(
  holders: Holders, { owner, isKept }: Pick<SharedBudgetSources, 'owner' | 'isKept'>,
): Promise<readonly string[]> {
  const ended: string[] = []
  for (const [sessionId, by] of Object.entries(holders)) {
    if (!owner.isOwn(by) && await owner.isGone(by) && !await isKept(sessionId)) ended.push(sessionId)
  }
  return ended
}

async function dropHolders(store: Store, key: string, ended: readonly string[]): Promise<void> {
  await store.update('budget', key, (value) => {
    const left = Object.entries(holdersIn(value)).filter(([sessionId]) => !ended.includes(sessionId))
    return isJsonObject(value) && left.length > 0 ? { ...value, holders: Object.fromEntries(left) } : undefined
  })
}

const NONE: Usage = { tokens: 0, calls: 0 }
const prefixOf = (workspace: string): string => `${hash('sha256', workspace)}/`

const numberIn = (value: Json | undefined): number => typeof value === 'number' && value >= 0 ? value : 0

function readUsage(value: Json | undefined): Usage {
  const { tokens, calls } = isJsonObject(value) ? value : {} as JsonObject
  return { tokens: numberIn(tokens), calls: numberIn(calls) }
}

/** The hosts that opened the sessions, by the ids of the sessions. */
type Holders = Readonly<Record<string, string>>

const holdersIn = (value: Json | undefined): Holders => {
  const holders = isJsonObject(value) ? value['holders'] : undefined
  return isJsonObject(holders) ? holders as Holders : {}
}
