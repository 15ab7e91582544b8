import { BulkheadError, type Freeze } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { Attempts, CallRun } from '../model/call-run.ts'
import type { AllowedCall, ClearedCall, HostContext, StageRecord, StartedCall, ValidatedCall } from '../policy/call.ts'
import type { KeptApproval } from '../policy/approvals/kept-approval.ts'
import { deny, type Verdict } from '../policy/model/verdict.ts'
import { decideAgain } from './authorize.ts'
import { isAuditRequired, untilRecorded } from './decide.ts'
import { startOf } from './running-call.ts'

/** How often a call is decided again because approvals changed. More would only follow who never stops. */
const MOST_DECISIONS = 16

/**
 * Passes the gate of the store: nothing is frozen, and the approvals are those that the decision rests on. Otherwise
 * the call is decided again. Throws HostFrozen, StoreUnavailable, and what the decision throws.
 */
export async function pass(
  { cleared }: ClearedCall, run: CallRun<StageRecord>, host: HostContext,
): Promise<StartedCall> {
  let { allowed } = cleared
  const taken = new Set<KeptApproval>()
  for (let count = 1; ; count++) {
    // A revocation here holds before the store has it.
    const isRevoked = allowed.approvals?.some((approval) => approval.isRevoked) === true
      || !await isCounted(allowed, taken)
    const started = isRevoked ? 'changed' : await start(allowed.call, run.attempts, 1, allowed.revision)
    if (started === 'started') return { started: allowed }
    if (count === MOST_DECISIONS) throw unsettled(allowed.call)
    const asked = host.clock.monotonic()
    allowed = run.reach(await decideAgain(allowed, run.attempts, host).finally(() => run.asked(host.clock.monotonic() - asked)))
    if (isAuditRequired(host)) await untilRecorded(allowed, host)
  }
}

/** Counts the call once at each limited approval that allows it. Returns whether each had a use left. */
async function isCounted({ call, approvals = [] }: AllowedCall, taken: Set<KeptApproval>): Promise<boolean> {
  const uncounted = approvals.filter((approval) => approval.isLimited && !taken.has(approval))
  if (uncounted.length === 0) return true
  if (!await call.session.approvals.take(uncounted)) return false
  for (const approval of uncounted) taken.add(approval)
  return true
}

/** Before a further attempt, and after a wait for the compartment. */
export async function passAgain(call: ValidatedCall, attempts: Attempts, attempt: number): Promise<void> {
  await start(call, attempts, attempt, undefined)
}

async function start(
  call: ValidatedCall, attempts: Attempts, attempt: number, revision: number | undefined,
): Promise<'started' | 'changed'> {
  const { tool } = call
  const what = startOf(tool)
  const begins = what === undefined || attempts.effects.isNoted(attempt) ? undefined : { attempt, what: visibleText(what) }
  const isInline = tool.extension.arrangement.placement === 'inline'
  const started = await attempts.start({ revision, isInline, begins })
  if (started.is === 'frozen') throw hostFrozen(started.freeze, tool.name)
  call.throwIfCancelled()
  if (started.is === 'started' && begins) attempts.effects.noted(attempt, begins.what)
  return started.is
}

export function frozenVerdict(freeze: Freeze, tool: string): Verdict {
  const error = hostFrozen(freeze, tool)
  return { ...deny('freeze', 'HostFrozen', `freeze by ${visibleText(freeze.by)}`, error.message), error }
}

function hostFrozen({ by, since, reason, cancel }: Freeze, tool: string): BulkheadError {
  const at = new Date(since).toISOString()
  const why = reason === undefined ? '' : `: ${visibleText(reason)}`
  const message = `The call of "${tool}" was not started: ${visibleText(by)} froze all hosts at ${at}${why}. `
    + 'To let calls start again, run `bulkhead thaw`.'
  return new BulkheadError('HostFrozen', message, {
    data: { by, since: at, ...(reason !== undefined && { reason }), ...(cancel && { cancel }) },
  })
}

const unsettled = ({ tool }: ValidatedCall): BulkheadError => new BulkheadError(
  'StoreUnavailable',
  `The call of "${tool.name}" was not started: approvals changed ${MOST_DECISIONS} times while it was decided.`,
)
