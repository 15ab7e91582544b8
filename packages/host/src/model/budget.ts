import { AsyncLocalStorage } from 'node:async_hooks'
import { BulkheadError } from '@bulkhead/contract'
import { forms } from '@bulkhead/kit/options'

export interface BudgetLimits {
  readonly tokens?: number | undefined
  readonly calls?: number | undefined
}

/** The lower of each limit. */
export function lowerLimits(one: BudgetLimits | undefined, other: BudgetLimits | undefined): BudgetLimits | undefined {
  if (one === undefined || other === undefined) return one ?? other
  const lower = (name: keyof BudgetLimits) => Math.min(one[name] ?? Infinity, other[name] ?? Infinity)
  return { tokens: lower('tokens'), calls: lower('calls') }
}

/** A limit that is not a number would never be reached. */
export const BUDGET_FORM = forms.fields({ tokens: forms.from(0), calls: forms.from(0) })

/** The reservation of one call. */
export interface Reservation {
  readonly tokens: number
  /**
   * Of a budget in the store: the call runs when it is reserved there too. Rejects with BudgetExhausted or
   * StoreUnavailable.
   */
  readonly confirmed?: Promise<unknown> | undefined
  /** Releases it, for a call that never ran. Idempotent. */
  release(): void
  /** Settles the actual usage. A tool that reports less than was reserved gets no refund. */
  settle(tokens: number): void
}

/** Which limit is used up, and how much of it is left. */
export interface BudgetFault extends BulkheadError {
  readonly data: { readonly limit: 'calls' | 'tokens'; readonly of: number; readonly left: number }
}

/** Reserving is one synchronous step, so calls that run at once cannot overdraw it together. */
export interface BudgetSource {
  /** Why the tokens cannot be reserved now, or undefined. Takes nothing. */
  check(tokens: number): BudgetFault | undefined
  reserve(tokens: number): Reservation | BulkheadError
  /**
   * Of a budget in the store: resolves when `check` knows what other hosts have used. Returns undefined if it knows
   * enough. Rejects with StoreUnavailable.
   */
  refresh?(tokens: number): Promise<void> | undefined
}

export interface Usage {
  readonly tokens: number
  readonly calls: number
}

/** What a workflow may use. */
export class Budget implements BudgetSource {
  readonly #limits: BudgetLimits
  #used: Usage = { tokens: 0, calls: 0 }

  constructor(limits: BudgetLimits = {}) {
    this.#limits = limits
  }

  check(tokens: number): BudgetFault | undefined {
    return faultOf(this.#limits, this.#used, tokens)
  }

  reserve(tokens: number): Reservation | BulkheadError {
    const fault = this.check(tokens)
    if (fault) return fault
    this.#change(tokens, 1)
    return new Held(tokens, (tokensChange, callsChange) => this.#change(tokensChange, callsChange))
  }

  #change(tokens: number, calls: number): void {
    this.#used = { tokens: this.#used.tokens + tokens, calls: this.#used.calls + calls }
  }
}

/** Whether anything is limited. */
const isLimited = ({ tokens = Infinity, calls = Infinity }: BudgetLimits = {}): boolean =>
  tokens !== Infinity || calls !== Infinity

/** Why one more call with so many tokens exceeds a limit, or undefined. */
export function faultOf(
  { tokens: tokenLimit = Infinity, calls: callLimit = Infinity }: BudgetLimits, used: Usage, tokens: number,
): BudgetFault | undefined {
  if (used.calls + 1 > callLimit) {
    return exhausted(
      `All ${callLimit} calls of this workflow are used up.`, { limit: 'calls', of: callLimit, left: 0 },
    )
  }
  if (used.tokens + tokens > tokenLimit) {
    const left = Math.max(0, tokenLimit - used.tokens)
    const message = `The call needs about ${tokens} tokens and the workflow has ${left} of ${tokenLimit} left.`
    return exhausted(message, { limit: 'tokens', of: tokenLimit, left })
  }
  return undefined
}

class Held implements Reservation {
  readonly tokens: number
  #change: ((tokens: number, calls: number) => void) | undefined

  constructor(tokens: number, change: (tokens: number, calls: number) => void) {
    this.tokens = tokens
    this.#change = change
  }

  release(): void {
    this.#close(-this.tokens, -1)
  }

  settle(used: number): void {
    this.#close(Math.max(0, used - this.tokens), 0)
  }

  #close(tokensChange: number, callsChange: number): void {
    this.#change?.(tokensChange, callsChange)
    this.#change = undefined
  }
}

/** Reserves from each of them or from none: a sub-agent also uses the budgets of its parent and its workflow. */
export function jointBudget(sources: readonly BudgetSource[]): BudgetSource {
  const [only] = sources
  if (only && sources.length === 1) return only
  return {
    check: (tokens) => firstFault(sources, tokens),
    ...(sources.some(({ refresh }) => refresh) && { refresh: (tokens: number) => all(sources.map((one) => one.refresh?.(tokens))) }),
    reserve(tokens) {
      const held: Reservation[] = []
      for (const source of sources) {
        const reservation = source.reserve(tokens)
        if (reservation instanceof BulkheadError) {
          for (const each of held) each.release()
          return reservation
        }
        held.push(reservation)
      }
      return {
        tokens,
        confirmed: all(held.map(({ confirmed }) => confirmed)),
        release: () => held.forEach((each) => each.release()),
        settle: (used) => held.forEach((each) => each.settle(used)),
      }
    },
  }
}

/** undefined if there is nothing to wait for. */
function all(waits: readonly (Promise<unknown> | undefined)[]): Promise<void> | undefined {
  return waits.every((wait) => wait === undefined) ? undefined : Promise.all(waits).then(() => undefined)
}

function firstFault(sources: readonly BudgetSource[], tokens: number): BudgetFault | undefined {
  for (const source of sources) {
    const fault = source.check(tokens)
    if (fault) return fault
  }
  return undefined
}

/** Four characters are about one token in the languages models are trained on most. */
export const estimateTokens = (chars: number): number => Math.ceil(chars / 4)

const exhausted = (message: string, data: BudgetFault['data']): BudgetFault =>
  new BulkheadError('BudgetExhausted', message, { data }) as BudgetFault

/**
 * The workflow of a call, from the async context: concurrent tasks have separate budgets, and what a task starts uses
 * the budget of the task.
 */
export class Workflows {
  readonly #current = new AsyncLocalStorage<BudgetSource>()
  readonly #ofPrincipals = new Map<string, { readonly budget: BudgetSource; sessions: number }>()

  /**
   * The budget of a session that is a workflow of its own. The open sessions of one principal share one, so that a
   * client gains nothing by opening more. `shared`: the same in the store, for all hosts.
   */
  hold(sessionId: string, principal: string | undefined, limits: BudgetLimits | undefined, shared?: ShareBudget): HeldBudget {
    const open = (name: readonly string[]) => (isLimited(limits) && shared?.(name, limits!)) || new Budget(limits)
    if (principal === undefined) return joined(open(['config', sessionId]), sessionId)
    const known = this.#ofPrincipals.getOrInsertComputed(
      principal, () => ({ budget: open(['principal', principal]), sessions: 0 }),
    )
    known.sessions++
    return joined(known.budget, sessionId, () => { if (--known.sessions === 0) this.#ofPrincipals.delete(principal) })
  }

  /** A nested workflow uses both budgets. */
  run<Value>(limits: BudgetLimits | undefined, work: () => Value): Value {
    const budget = new Budget(limits)
    const outer = this.#current.getStore()
    return this.#current.run(outer ? jointBudget([budget, outer]) : budget, work)
  }

  /**
   * Read it when a call is made, not later: messages of a compartment arrive in the context of the caller that opened
   * it.
   */
  get current(): BudgetSource | undefined {
    return this.#current.getStore()
  }
}

/** A budget that hosts share. */
interface JoinedBudget extends BudgetSource {
  join(sessionId: string): void
  leave(sessionId: string, stays: boolean): Promise<void>
}

/** The budget of this name in the store, with limits of which one is set. */
export type ShareBudget = (name: readonly string[], limits: BudgetLimits) => JoinedBudget

/** The budget of one session, or of several. */
export interface HeldBudget {
  readonly budget: BudgetSource
  /** Called once, when the session is closed here. `stays`: it can be resumed. Never rejects. */
  readonly leave: (stays: boolean) => Promise<void> | void
}

function joined(budget: BudgetSource, sessionId: string, left: () => void = () => undefined): HeldBudget {
  if (!('join' in budget)) return { budget, leave: left }
  const shared = budget as JoinedBudget
  shared.join(sessionId)
  return {
    budget,
    leave(stays) {
      left()
      return shared.leave(sessionId, stays)
    },
  }
}

/** The budget of the options of a session. In the store, so that the session finds it there when it is resumed. */
export function ownBudget(sessionId: string, limits: BudgetLimits | undefined, shared?: ShareBudget): HeldBudget | undefined {
  if (limits === undefined) return undefined
  return joined((isLimited(limits) && shared?.(['session', sessionId], limits)) || new Budget(limits), sessionId)
}

/** The budgets of the calls of one session. */
export class SessionBudget {
  readonly #own: HeldBudget | undefined
  readonly #workflow: HeldBudget
  readonly #parent: SessionBudget | undefined

  /** `workflow`: that of a session that is a workflow of its own, for calls made outside of one. */
  constructor(own: HeldBudget | undefined, workflow: HeldBudget, parent: SessionBudget | undefined) {
    this.#own = own
    this.#workflow = workflow
    this.#parent = parent
  }

  /** As `leave` of HeldBudget. */
  async leave(stays: boolean): Promise<void> {
    await this.#own?.leave(stays)
    await this.#workflow.leave(stays)
  }

  within(workflow: BudgetSource | undefined): BudgetSource {
    const shared = this.#parent ? this.#parent.within(workflow) : workflow
    if (this.#own === undefined) return shared ?? this.#workflow.budget
    return shared === undefined ? this.#own.budget : jointBudget([this.#own.budget, shared])
  }
}
