import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { eventFields, Refusal, type AuthorizedCall, type ClearedCall, type ExecutedCall, type RawCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'
import { SKIPPED_BY_STEERING } from '../model/outcome.ts'
import { isResultJudged, runAfterGuards } from './guard-result.ts'
import { authorize } from './authorize.ts'
import { runBeforeHooks } from './before-hooks.ts'
import { reserve } from './reserve.ts'
import { Execution, type Done } from './execute.ts'
import { propose, receive, type Proposal } from './receive.ts'
import { recorded } from './required-audit.ts'
import { redeemApprovals, redeemPermits } from './redeem.ts'
import { resolve } from './resolve.ts'
import { settle } from './settle.ts'
import { validate } from './validate.ts'

/** A call that is decided on and has not run: refused, or ready to. */
export interface PreparedCall {
  readonly call: RawCall
  readonly decided: AuthorizedCall | Refusal
}

/**
 * One call from the caller's words to its one outcome. Stages answer at once wherever they can, and only those that cannot are
 * waited for: a call that nothing holds up is on its way to its tool before this returns. Contract: never rejects.
 */
export function runCall(proposal: Proposal, host: HostContext): Promise<Outcome> {
  const call = propose(proposal, host.clock)
  const decided = decide(call, host)
  if (!(decided instanceof Promise)) return finishCall({ call, decided }, host)
  host.journal.saveSoon()
  return decided.then((known) => finishCall({ call, decided: known }, host))
}

/** Everything that can be said of a call before it runs, a person's word included. Contract: never rejects. */
export async function prepareCall(proposal: Proposal, host: HostContext): Promise<PreparedCall> {
  const call = propose(proposal, host.clock)
  const decided = decide(call, host)
  host.journal.saveSoon()
  return { call, decided: await decided }
}

/** For a call that others have run before since it was decided on. Contract: never rejects. */
export async function finishInTurn(prepared: PreparedCall, host: HostContext): Promise<Outcome> {
  const { call, decided } = prepared
  const revoked = decided instanceof Refusal || !decided.approvals ? undefined : await redeemApprovals(decided, host)
  return finishCall(revoked ? { call, decided: revoked } : prepared, host)
}

/** Contract: never rejects. */
export function finishCall({ call, decided }: PreparedCall, host: HostContext): Promise<Outcome> {
  return new Promise((settled, failed) => {
    perform(decided, host, (ended) => {
      try {
        settled(end(call, ended, host))
      } catch (thrown) {
        failed(thrown)
      }
    })
  })
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

type Decided = AuthorizedCall | Refusal

/** Contract: neither throws nor rejects. */
function decide(call: RawCall, host: HostContext): Decided | Promise<Decided> {
  try {
    const decided = judge(call, host)
    return decided instanceof Promise ? decided.catch(refusalOf) : decided
  } catch (thrown) {
    return refusalOf(thrown)
  }
}

function judge(call: RawCall, host: HostContext): Decided | Promise<Decided> {
  call.throwIfCancelled()

  const received = receive(call)
  if (received instanceof Refusal) return received

  const resolved = resolve(received)
  if (resolved instanceof Refusal) return resolved

  const validated = validate(resolved)
  if (validated instanceof Refusal) return validated
  if (host.events.hears('ToolInvocationProposed')) {
    const { args, parent } = validated
    host.events.emit({ type: 'ToolInvocationProposed', ...eventFields(validated), args, ...(parent && { parentCallId: parent.callId }) })
  }
  call.journal = host.journal.open(validated)

  return authorize(validated, host)
}

/** Contract: must not throw; `done` is told once. */
function perform(decided: Decided, host: HostContext, done: Done): void {
  if (decided instanceof Refusal) return done(decided)
  const cleared = clear(decided, host)
  if (!(cleared instanceof Promise)) return run(cleared, host, done)
  host.journal.saveSoon()
  cleared.then((known) => run(known, host, done))
}

type Cleared = ClearedCall | Refusal

/** Contract: neither throws nor rejects. */
function clear(authorized: AuthorizedCall, host: HostContext): Cleared | Promise<Cleared> {
  try {
    authorized.throwIfCancelled()

    const unpermitted = authorized.decision.permits && redeemPermits(authorized, host)
    if (unpermitted) return unpermitted

    const budgeted = reserve(authorized)
    if (budgeted instanceof Refusal) return budgeted

    const cleared = runBeforeHooks(budgeted, host)
    return cleared instanceof Promise ? cleared.catch(refusalOf) : cleared
  } catch (thrown) {
    return refusalOf(thrown)
  }
}

function run(cleared: Cleared, host: HostContext, done: Done): void {
  if (cleared instanceof Refusal) return done(cleared)
  const execution = new Execution(cleared, host, isResultJudged(cleared) ? judgeResult(host, done) : done)
  // Not before the audit has it, where that is required.
  const kept = recorded(cleared, host)
  if (kept === undefined) return depart(cleared, execution, host, done)
  host.journal.saveSoon()
  untilAborted(kept, cleared.signal).then(() => depart(cleared, execution, host, done), (thrown: unknown) => done(refusalOf(thrown)))
}

function depart(cleared: ClearedCall, execution: Execution, host: HostContext, done: Done): void {
  const written = cleared.journal?.written
  if (written === undefined) return host.departures.leave(execution)
  // Not before the journal has it.
  untilAborted(written, cleared.signal).then(() => execution.begin(), (thrown: unknown) => done(refusalOf(thrown)))
}

const judgeResult = (host: HostContext, done: Done): Done => (ran) => {
  if (ran instanceof Refusal) done(ran)
  else runAfterGuards(ran, host).catch(refusalOf).then(done)
}
