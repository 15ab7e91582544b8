import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { eventFields, Refusal, type AuthorizedCall, type ClearedCall, type ExecutedCall, type RawCall } from './call.ts'
import { untilAborted } from './waiting/cancellation.ts'
import type { HostContext } from './host-context.ts'
import { SKIPPED_BY_STEERING } from './calls/outcome.ts'
import { isResultJudged, runAfterGuards } from './stages/after-guards.ts'
import { authorize } from './stages/authorize.ts'
import { runBeforeHooks } from './stages/before-hooks.ts'
import { reserve } from './stages/budget.ts'
import { execute } from './stages/execute.ts'
import { propose, receive, type Proposal } from './stages/receive.ts'
import { redeemPermits } from './stages/redeem.ts'
import { resolve } from './stages/resolve.ts'
import { settle } from './stages/settle.ts'
import { validate } from './stages/validate.ts'

/** A call that is decided on and has not run: refused, or ready to. */
export interface PreparedCall {
  readonly call: RawCall
  readonly decided: AuthorizedCall | Refusal
}

/**
 * One call from the caller's words to its one outcome. Stages answer at once wherever they can, and only those that cannot are
 * waited for: a call that nothing holds up is on its way to its tool before this returns. Contract: never rejects.
 */
export async function runCall(proposal: Proposal, host: HostContext): Promise<Outcome> {
  const call = propose(proposal, host.clock)
  let ended: ExecutedCall | Refusal
  try {
    const decided = decide(call, host)
    const authorized = decided instanceof Promise ? await decided : decided
    ended = authorized instanceof Refusal ? authorized : await perform(authorized, host)
  } catch (thrown) {
    ended = refusalOf(thrown)
  }
  return end(call, ended, host)
}

/** Everything that can be said of a call before it runs, a person's word included. Contract: never rejects. */
export async function prepareCall(proposal: Proposal, host: HostContext): Promise<PreparedCall> {
  const call = propose(proposal, host.clock)
  try {
    return { call, decided: await decide(call, host) }
  } catch (thrown) {
    return { call, decided: refusalOf(thrown) }
  }
}

/** Contract: never rejects. */
export async function finishCall({ call, decided }: PreparedCall, host: HostContext): Promise<Outcome> {
  let ended: ExecutedCall | Refusal
  try {
    ended = decided instanceof Refusal ? decided : await perform(decided, host)
  } catch (thrown) {
    ended = refusalOf(thrown)
  }
  return end(call, ended, host)
}

/**
 * For a call that gives way to what the person has said meanwhile. It is told as one that began and ended, so that whoever
 * counts beginnings finds an end for each. One that was refused stays refused. Contract: never rejects.
 */
export async function skipCall({ call, decided }: PreparedCall, host: HostContext): Promise<Outcome> {
  if (decided instanceof Refusal) return end(call, decided, host)
  host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt: 0 })
  return end(call, new Refusal(new BulkheadError('SkippedBySteering', SKIPPED_BY_STEERING)), host)
}

/** Where a throw becomes an outcome. */
const refusalOf = (thrown: unknown): Refusal => new Refusal(BulkheadError.from(thrown))

/** Nothing of the call is left afterwards. */
function end(call: RawCall, ended: ExecutedCall | Refusal, host: HostContext): Outcome | Promise<Outcome> {
  let outcome: Outcome | Promise<Outcome> | undefined
  try {
    outcome = settle(call, ended, host)
  } finally {
    if (!(outcome instanceof Promise)) call.end()
  }
  return outcome instanceof Promise ? outcome.finally(() => call.end()) : outcome
}

function decide(call: RawCall, host: HostContext): AuthorizedCall | Refusal | Promise<AuthorizedCall | Refusal> {
  call.throwIfCancelled()

  const received = receive(call)
  if (received instanceof Refusal) return received

  const resolved = resolve(received)
  if (resolved instanceof Refusal) return resolved

  const validated = validate(resolved)
  if (validated instanceof Refusal) return validated
  if (host.events.hears('ToolInvocationProposed')) {
    host.events.emit({ type: 'ToolInvocationProposed', ...eventFields(validated), args: validated.args })
  }
  call.journal = host.journal.open(validated)

  return authorize(validated, host)
}

function perform(authorized: AuthorizedCall, host: HostContext): Refusal | Promise<Refusal | ExecutedCall> {
  authorized.throwIfCancelled()

  const unpermitted = authorized.decision.permits && redeemPermits(authorized, host)
  if (unpermitted) return unpermitted

  const budgeted = reserve(authorized)
  if (budgeted instanceof Refusal) return budgeted

  const cleared = runBeforeHooks(budgeted)
  return cleared instanceof Promise ? cleared.then<Refusal | ExecutedCall>((known) => run(known, host)) : run(cleared, host)
}

/** Not before the journal has it. */
function run(cleared: ClearedCall | Refusal, host: HostContext): Refusal | Promise<Refusal | ExecutedCall> {
  if (cleared instanceof Refusal) return cleared
  const written = cleared.journal?.written
  const executed = written === undefined
    ? host.departures.leave(cleared)
    : untilAborted(written, cleared.signal).then(() => execute(cleared, host))
  return isResultJudged(cleared) ? executed.then((ran) => runAfterGuards(ran, host)) : executed
}
