import { BulkheadError } from '@bulkhead/contract'
import { estimateTokens } from '../model/budget.ts'
import { Refusal, type AuthorizedCall, type BudgetedCall } from '../policy/call.ts'

/** Takes what the call costs from the workflow's budget, or nothing at all. */
export function reserve(call: AuthorizedCall): BudgetedCall | Refusal {
  const reservation = call.scope.budget.reserve(estimateTokens(call.argsChars))
  return reservation instanceof BulkheadError ? new Refusal(reservation) : call.charge(reservation)
}
