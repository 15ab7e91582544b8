import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'
import { estimateTokens } from '../model/budget.ts'
import type { AllowedCall, BudgetedCall, DecidedCall, EvaluatedCall, ValidatedCall } from '../policy/call.ts'
import type { MadeChange } from '../policy/checked-call.ts'
import { evaluate } from '../policy/evaluate.ts'
import { GUARD_CODES, type ArgumentsChange } from '../policy/guards.ts'
import type { HostContext } from '../policy/host-context.ts'
import { digestOf } from '../policy/stage-permit.ts'
import { deny, type Verdict } from '../policy/verdict.ts'
import { auditFault } from './required-audit.ts'
import { validate } from './validate.ts'

/** The verdicts of every policy, on the arguments as the policies left them. */
export const evaluateCall = (call: ValidatedCall, host: HostContext): Promise<EvaluatedCall> => evaluate(call, host, makeChange)

/** Returns the verdict that denies the call if the change cannot be made. */
function makeChange({ stage, source, reason, args }: ArgumentsChange, call: ValidatedCall, count: number): MadeChange | Verdict {
  const { argumentChanges } = CALL_LIMITS
  if (count >= argumentChanges) {
    const why = `the arguments were changed ${argumentChanges} times, and the ${source} wants to change them again`
    return deny(stage, 'ArgumentsUnsettled', source, why)
  }
  const before = digestOf(call.args)
  try {
    return { stage, source, reason, before, after: digestOf(validate(call, args).args) }
  } catch (thrown) {
    const why = `the ${source} returned arguments that the tool does not accept: ${BulkheadError.from(thrown).message.replace(/\.$/, '')}`
    return deny(stage, GUARD_CODES[stage], source, why)
  }
}

/**
 * The decision: the verdicts of the policies, then budget and audit. These deny before a person is asked. Synchronous, so
 * that of several calls the one that takes the last of a budget is known to the next.
 */
export function decide(call: EvaluatedCall, host: HostContext): DecidedCall {
  const { evaluation } = call
  const { verdicts, verdict } = evaluation
  const denied = verdict.action === 'deny' ? undefined : checkBudget(call) ?? checkAudit(host)
  if (!denied) return call.decide(evaluation)
  return call.decide({ ...evaluation, verdicts: [...verdicts, denied], verdict: denied, answerable: false, approvals: undefined })
}

/** A verdict, not a reservation: the budget is reserved when the call is about to run, and can be spent by then. */
function checkBudget({ scope: { budget }, argsChars }: EvaluatedCall): Verdict | undefined {
  const error = budget.check(estimateTokens(argsChars))
  return error && { ...deny('budget', error.code, `budget.${error.data.limit}`, error.message), error }
}

/** Takes the cost of the call from every budget that it belongs to, or from none. Throws BudgetExhausted. */
export function reserveBudget(call: AllowedCall): BudgetedCall {
  const reservation = call.scope.budget.reserve(estimateTokens(call.argsChars))
  if (reservation instanceof BulkheadError) throw reservation
  return call.charge(reservation)
}

function checkAudit(host: HostContext): Verdict | undefined {
  const error = auditFault(host)
  return error && { ...deny('audit', error.code, 'audit', error.message), error }
}
