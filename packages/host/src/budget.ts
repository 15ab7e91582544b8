import { BulkheadError } from '@bulkhead/contract'

export interface BudgetLimits {
  readonly tokens?: number | undefined
  readonly calls?: number | undefined
}

/** What one call holds of the budget. */
export interface Reservation {
  readonly tokens: number
  /** Gives it back, for a call that never ran. Idempotent. */
  release(): void
}

/** What a workflow may use. Reserving is one synchronous step, so calls that run at once cannot overdraw it together. */
export class Budget {
  readonly #limits: BudgetLimits
  #tokens = 0
  #calls = 0

  constructor(limits: BudgetLimits = {}) {
    this.#limits = limits
  }

  reserve(tokens: number): Reservation | BulkheadError {
    const { tokens: tokenLimit = Infinity, calls: callLimit = Infinity } = this.#limits
    if (this.#calls + 1 > callLimit) {
      return exhausted(`All ${callLimit} calls of this workflow are used up.`, { limit: 'calls', of: callLimit, left: 0 })
    }
    if (this.#tokens + tokens > tokenLimit) {
      const left = tokenLimit - this.#tokens
      const message = `The call needs about ${tokens} tokens and the workflow has ${left} of ${tokenLimit} left.`
      return exhausted(message, { limit: 'tokens', of: tokenLimit, left })
    }
    this.#calls += 1
    this.#tokens += tokens
    let held = true
    return {
      tokens,
      release: () => {
        if (!held) return
        held = false
        this.#calls -= 1
        this.#tokens -= tokens
      },
    }
  }
}

/** Four characters are about one token in the languages models are trained on most. */
export const estimateTokens = (text: string): number => Math.ceil(text.length / 4)

const exhausted = (message: string, data: { limit: 'calls' | 'tokens'; of: number; left: number }) =>
  new BulkheadError('BudgetExhausted', message, { data })
