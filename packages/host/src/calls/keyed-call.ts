import { randomUUID } from 'node:crypto'
import { BulkheadError, isRepeatable, type ErrorCode, type Outcome } from '@bulkhead/contract'
import type { CallRun } from '../model/call-run.ts'
import { callOf, type DecidedCall, type HostContext, type ResolvedCall, type StageRecord, type ValidatedCall } from '../policy/call.ts'
import { KeptSteps } from '../records/kept-steps.ts'
import type { KeyedCall } from '../records/recorded-outcomes.ts'

/** Ends a call with the outcome of an earlier one that had the same idempotency key. */
export class Replay extends Error {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    super('The call has a recorded outcome.')
    this.outcome = outcome
  }
}

/** undefined if its caller gave it no key, or nothing outlives the process. */
export function keyedCall(call: ValidatedCall, { outcomes }: HostContext): KeyedCall | undefined {
  const { ownKey, session: { principal }, name, args, proposed, request } = call
  if (request.isStep && outcomes === undefined) {
    const message = 'A call that is a step needs a store that outlives the process. Pass `store` to createHost.'
    throw new BulkheadError('ConfigInvalid', message, { data: { path: '/store' } })
  }
  if (ownKey === undefined || outcomes === undefined) return undefined
  return { ...outcomes.keyed(ownKey, principal?.id, name, proposed ?? args), claim: randomUUID() }
}

/** What keeps the results of the steps of a call, also for a later run of it. */
export function stepsOf(call: ValidatedCall, { outcomes, clock }: HostContext): KeptSteps {
  const { idempotencyKey, session: { principal }, name, args, proposed } = call
  if (outcomes) return outcomes.stepsOf(outcomes.keyed(idempotencyKey, principal?.id, name, proposed ?? args))
  return new KeptSteps({ place: '', digest: '', store: undefined, now: () => clock.now() })
}

/** Refusals for now: what has run before them keeps its outcome. */
const FOR_NOW: ReadonlySet<string> = new Set(['budget', 'freeze'])

/**
 * Claims the key of a call, before a person is asked: of several calls with one key, one runs. Rejects with Replay if it
 * has run, also if the budget is spent or the hosts are frozen since. undefined if there is nothing to claim: a policy
 * that denies the call denies its outcome, too.
 */
export function claimKey(
  { call, decision }: DecidedCall, run: CallRun<StageRecord>, { outcomes }: HostContext,
): Promise<void> | undefined {
  const { keyed } = run
  const { action, stage } = decision.verdict
  if (keyed === undefined || outcomes === undefined || (action === 'deny' && !FOR_NOW.has(stage))) return undefined
  return outcomes.claim(keyed, call.scope.resumption !== undefined).then((recorded) => {
    if (recorded !== undefined) throw new Replay(recorded)
    run.claimed = true
  })
}

/** Whether the call may run again as the same one: after a pause, or because its key is free. */
const mayGoOn = (outcome: Outcome, isFree: boolean): boolean =>
  outcome.type === 'error' && (isFree || outcome.error.code === 'ClarificationNeeded')

/** How a call ends without an answer of its tool: the store was away, or what ran the tool was lost. */
const UNANSWERED: ReadonlySet<string> = new Set<ErrorCode>([
  'StoreUnavailable', 'CompartmentCrashed', 'CompartmentKilled', 'NoWorkerReady',
])

/** Whether it is no outcome to keep, because the call may run again. */
function isUnanswered(outcome: Outcome, run: CallRun<StageRecord>): boolean {
  const { tool } = callOf(run.reached) as Partial<ResolvedCall>
  return outcome.type === 'error' && UNANSWERED.has(outcome.error.code) && tool !== undefined
    && isRepeatable(tool.definition.effects)
}

/**
 * Stores the outcome of the call that claimed the key. Resolves with whether the journal may forget the call: if it
 * could not be stored, it stays there until it is. If the host ends before, the next one says that it is unknown. Never
 * rejects.
 */
export async function recordOutcome(
  run: CallRun<StageRecord>, outcome: Outcome, { outcomes, events }: HostContext,
): Promise<boolean> {
  const { keyed, attempts: { effects, steps } } = run
  const hasBegun = effects.hasBegun((step) => steps?.isKept(step) === true) && !isUnanswered(outcome, run)
  try {
    if (run.claimed && keyed) await outcomes!.end(keyed, outcome, hasBegun)
  } catch (thrown) {
    events.suppressed('recording an outcome', thrown)
    outcomes!.endLater(keyed!, outcome, hasBegun, () => run.forget())
    return false
  }
  try {
    if (steps && !mayGoOn(outcome, run.claimed && !hasBegun)) await steps.forget()
  } catch (thrown) {
    // They go with their time.
    events.suppressed('recording an outcome', thrown)
  }
  return true
}
