import { AsyncLocalStorage } from 'node:async_hooks'
import { Budget, jointBudget, type BudgetLimits, type BudgetSource } from '../model/budget.ts'

/**
 * Which workflow a call is made in, told by the async context: tasks that run at once have budgets of their own, and what
 * a task starts has the task's.
 */
export class Workflows {
  readonly #current = new AsyncLocalStorage<BudgetSource>()

  /** One inside another draws from both. */
  run<Value>(limits: BudgetLimits | undefined, work: () => Value): Value {
    const budget = new Budget(limits)
    const outer = this.#current.getStore()
    return this.#current.run(outer ? jointBudget([budget, outer]) : budget, work)
  }

  /**
   * Read when a call comes in and not later: what a compartment sends back arrives in the context of the caller that
   * opened it.
   */
  get current(): BudgetSource | undefined {
    return this.#current.getStore()
  }
}

/** What the calls of one session draw from. */
export class SessionBudget {
  readonly #own: Budget | undefined
  readonly #workflow: Budget
  readonly #parent: SessionBudget | undefined

  /** `workflow`: the limits of a session that is a workflow of its own, for calls made outside of one. */
  constructor(own: BudgetLimits | undefined, workflow: BudgetLimits | undefined, parent: SessionBudget | undefined) {
    this.#own = own && new Budget(own)
    this.#workflow = new Budget(workflow)
    this.#parent = parent
  }

  within(workflow: BudgetSource | undefined): BudgetSource {
    const shared = this.#parent ? this.#parent.within(workflow) : workflow
    if (this.#own === undefined) return shared ?? this.#workflow
    return shared === undefined ? this.#own : jointBudget([this.#own, shared])
  }
}
