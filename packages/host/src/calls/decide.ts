import { BulkheadError, CALL_LIMITS } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { estimateTokens } from '../model/budget.ts'
import type { Reservation } from '../model/budget.ts'
import type { Attempts } from '../model/call-run.ts'
import type { AllowedCall, Call, DecidedCall, EvaluatedCall, HostContext, ValidatedCall } from '../policy/call.ts'
import { evaluate, type Changed } from '../policy/evaluate.ts'
import { GUARD_CODES, type ArgumentsChange } from '../policy/guards.ts'
import { digestOf } from '../policy/model/stage-permit.ts'
import { deny, type Verdict } from '../policy/model/verdict.ts'
import { withArguments } from './receive.ts'

/** The verdicts of every policy, on the arguments as the policies left them. */
export const evaluateCall = (call: ValidatedCall, attempts: Attempts, host: HostContext): Promise<EvaluatedCall> =>
  evaluate(call, attempts, host, makeChange)

/** Returns the verdict that denies the call if the change cannot be made. */
function makeChange(
  { stage, source, reason, args }: ArgumentsChange, call: ValidatedCall, count: number,
): Changed | Verdict {
  const { argumentChanges } = CALL_LIMITS
  if (count >= argumentChanges) {
    const why = `the arguments were changed ${argumentChanges} times, and the ${source} wants to change them again`
    return deny(stage, 'ArgumentsUnsettled', source, why)
  }
  const before = digestOf(call.args)
  try {
    const changed = withArguments(call, args)
    return { call: changed, change: { stage, source, reason, before, after: digestOf(changed.args) } }
  } catch (thrown) {
    const fault = BulkheadError.from(thrown).message.replace(/\.$/, '')
    const why = `the ${source} returned arguments that the tool does not accept: ${fault}`
    return deny(stage, GUARD_CODES[stage], source, why)
  }
}

/**
 * The decision: the verdicts of the policies, then `refused`, budget and audit. These deny before a person is asked. Synchronous,
 * so that of several calls the one that takes the last of a budget is known to the next.
 */
export function decide(
  { call, evaluation, changes }: EvaluatedCall, host: HostContext, refused?: Verdict,
): DecidedCall {
  const { verdicts, verdict } = evaluation
  const denied = verdict.action === 'deny' ? undefined : refused ?? checkBudget(call) ?? checkAudit(host)
  if (!denied) return { call, decision: evaluation, changes }
  const decision = {
    ...evaluation, verdicts: [...verdicts, denied], verdict: denied, asks: [], answerable: false, approvals: undefined,
  }
  return { call, decision, changes }
}

/** A verdict, not a reservation: the budget is reserved when the call is about to run, and can be spent by then. */
function checkBudget({ scope: { budget }, argsChars }: ValidatedCall): Verdict | undefined {
  const error = budget.check(estimateTokens(argsChars))
  return error && { ...deny('budget', error.code, `budget.${error.data.limit}`, error.message), error }
}

/** Resolves when a spent budget that hosts share is known to be spent. undefined: there is nothing to wait for. */
export function refreshBudget({ call: { scope: { budget }, argsChars, signal } }: EvaluatedCall): Promise<void> | undefined {
  const reading = budget.refresh?.(estimateTokens(argsChars))
  return reading && untilAborted(reading, signal)
}

/** Takes the cost of the call from every budget that it belongs to, or from none. Throws BudgetExhausted. */
export function reserveBudget({ call }: AllowedCall): Reservation {
  const reservation = call.scope.budget.reserve(estimateTokens(call.argsChars))
  if (reservation instanceof BulkheadError) throw reservation
  return reservation
}

function checkAudit(host: HostContext): Verdict | undefined {
  const error = auditFault(host)
  return error && { ...deny('audit', error.code, 'audit', error.message), error }
}

export const isAuditRequired = ({ registry: { settings: { file } } }: HostContext): boolean =>
  file.audit?.require === true

/** If the audit is required: how often it has lost records. Call it before the event of the decision. */
export const lossesOf = (host: HostContext): number => isAuditRequired(host) ? host.audit()?.losses ?? 0 : 0

/** For a required audit: resolves when the decision is in it, and rejects if it cannot be. */
export async function untilRecorded({ call, lossesBefore }: AllowedCall, host: HostContext): Promise<void> {
  const audit = host.audit()
  if (audit === undefined) throw noAudit()
  const recorded = audit.recorded(lossesBefore).catch((cause: unknown) => { throw notRecorded(cause) })
  await untilAborted(recorded, call.signal)
}

/**
 * A required audit that failed may work again. Waits for the record of the proposal, so that no call is denied for an
 * old failure.
 */
export async function retryAudit(call: Call, host: HostContext): Promise<void> {
  await untilAborted(Promise.resolve(host.audit()?.settled()), call.signal)
}

/** Why no call would run, as far as that is known without writing a record. */
export function auditFault(host: HostContext): BulkheadError | undefined {
  if (!isAuditRequired(host)) return undefined
  const audit = host.audit()
  if (audit === undefined) return noAudit()
  return audit.broken && notRecorded(audit.broken)
}

const REQUIRED = 'the configuration requires an audit (audit.require)'

const noAudit = (): BulkheadError => new BulkheadError('StoreUnavailable',
  `This host keeps no audit, and ${REQUIRED}. Start it with a store that outlives it.`)

const notRecorded = (cause: unknown): BulkheadError => new BulkheadError('StoreUnavailable',
  `The call was not run: ${REQUIRED}, and it cannot be written. ${messageOf(cause)}`, { cause })
