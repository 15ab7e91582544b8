import type { Outcome } from '@bulkhead/contract'
import type { CallRun } from '../model/call-run.ts'
import type { DecidedCall, HostContext, StageRecord, ValidatedCall } from '../policy/call.ts'
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
  const { ownKey, session: { principal }, name, args, proposed } = call
  return ownKey === undefined ? undefined : outcomes?.keyed(ownKey, principal?.id, name, proposed ?? args)
}

/**
 * Claims the key of a call that is not denied, before a person is asked: of several calls with one key, one runs. Rejects
 * with Replay if it has run. undefined if there is nothing to claim.
 */
export function claimKey(
  { call, decision }: DecidedCall, run: CallRun<StageRecord>, { outcomes }: HostContext,
): Promise<void> | undefined {
  const { keyed } = run
  if (keyed === undefined || outcomes === undefined || decision.verdict.action === 'deny') return undefined
  return outcomes.claim(keyed, call.scope.resumption !== undefined).then((recorded) => {
    if (recorded !== undefined) throw new Replay(recorded)
    run.claimed = true
  })
}

/**
 * Stores the outcome of the call that claimed the key. Resolves with whether the journal may forget the call: if it could
 * not be stored, the next host says that it is unknown. Never rejects.
 */
export async function recordOutcome(
  run: CallRun<StageRecord>, outcome: Outcome, { outcomes, events }: HostContext,
): Promise<boolean> {
  const { keyed, attempts: { effects } } = run
  if (!run.claimed || keyed === undefined) return true
  try {
    await outcomes!.end(keyed, outcome, effects.hasBegun)
    return true
  } catch (thrown) {
    events.suppressed('recording an outcome', thrown)
    return false
  }
}
