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
}

/** What a workflow may use. */
export class Budget implements BudgetSource {
  readonly #limits: BudgetLimits
  #tokens = 0
  #calls = 0

  constructor(limits: BudgetLimits = {}) {
    this.#limits = limits
  }

  check(tokens: number): BudgetFault | undefined {
    const { tokens: tokenLimit = Infinity, calls: callLimit = Infinity } = this.#limits
    if (this.#calls + 1 > callLimit) {
      return exhausted(
        `All ${callLimit} calls of this workflow are used up.`, { limit: 'calls', of: callLimit, left: 0 },
      )
    }
    if (this.#tokens + tokens > tokenLimit) {
      const left = Math.max(0, tokenLimit - this.#tokens)
      const message = `The call needs about ${tokens} tokens and the workflow has ${left} of ${tokenLimit} left.`
      return exhausted(message, { limit: 'tokens', of: tokenLimit, left })
    }
    return undefined
  }

  reserve(tokens: number): Reservation | BulkheadError {
    const fault = this.check(tokens)
    if (fault) return fault
    this.#change(tokens, 1)
    return new Held(tokens, (tokensChange, callsChange) => this.#change(tokensChange, callsChange))
  }

  #change(tokens: number, calls: number): void {
    this.#tokens += tokens
    this.#calls += calls
  }
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
        release: () => held.forEach((each) => each.release()),
        settle: (used) => held.forEach((each) => each.settle(used)),
      }
    },
  }
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
  readonly #ofPrincipals = new Map<string, { readonly budget: Budget; sessions: number }>()

  /**
   * The budget of a session that is a workflow of its own. The open sessions of one principal share one, so that a
   * client gains nothing by opening more.
   */
  hold(principal: string | undefined, limits: BudgetLimits | undefined): HeldBudget {
    if (principal === undefined) return { budget: new Budget(limits), leave: () => undefined }
    const shared = this.#ofPrincipals.getOrInsertComputed(principal, () => ({ budget: new Budget(limits), sessions: 0 }))
    shared.sessions++
    return {
      budget: shared.budget,
      leave: () => { if (--shared.sessions === 0) this.#ofPrincipals.delete(principal) },
    }
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

/** The budget of one session, or of several. */
export interface HeldBudget {
  readonly budget: Budget
  readonly leave: () => void
}

/** The budgets of the calls of one session. */
export class SessionBudget {
  readonly #own: Budget | undefined
  readonly #workflow: Budget
  readonly #parent: SessionBudget | undefined
  /** Called once, when the session is closed. */
  readonly leave: () => void

  /** `held`: that of a session that is a workflow of its own, for calls made outside of one. */
  constructor(own: BudgetLimits | undefined, held: HeldBudget, parent: SessionBudget | undefined) {
    this.#own = own && new Budget(own)
    this.#workflow = held.budget
    this.leave = held.leave
    this.#parent = parent
  }

  within(workflow: BudgetSource | undefined): BudgetSource {
    const shared = this.#parent ? this.#parent.within(workflow) : workflow
    if (this.#own === undefined) return shared ?? this.#workflow
    return shared === undefined ? this.#own : jointBudget([this.#own, shared])
  }
}
