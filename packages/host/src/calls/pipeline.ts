import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { eventFields } from '../model/event-fields.ts'
import { SKIPPED_BY_STEERING } from '../model/outcome.ts'
import type {
  AllowedCall, ExecutedCall, HostContext, RawCall, ResolvedCall, ValidatedCall,
} from '../policy/call.ts'
import { askPerson, redeemApprovals, redeemPermits, requireAllowed } from './authorize.ts'
import {
  decide, evaluateCall, reserveBudget, auditFault, isAuditRequired, retryAudit, untilRecorded,
} from './decide.ts'
import { execute } from './execute.ts'
import { guardResult, isResultGuarded } from './guard-result.ts'
import { runBeforeHooks } from './hooks.ts'
import { isRevertible, recordEffect } from './record-effect.ts'
import { propose, receive, resolve, validate, type Proposal } from './receive.ts'
import { endingOf, saveWhole, settle, type Ending } from './settle.ts'

/** Runs one call to its single outcome. Never rejects. */
export async function runCall(proposal: Proposal, host: HostContext): Promise<Outcome> {
  const call = propose(proposal, host.clock)
  let ending: Ending
  try {
    host.order.enter(call)
    const evaluated = await evaluateCall(open(validate(admit(find(named(call)))), host), host)
    const turn = host.order.turn(call)
    if (turn) await turn
    if (auditFault(host)) await retryAudit(call, host)
    // No await between decision and reservation, so that calls of one tick cannot spend the same budget.
    const decided = decide(evaluated, host)
    const allowed = decided.decision.verdict.action === 'ask'
      ? await askPerson(decided, host) : requireAllowed(decided, host)
    ending = endingOf(call, await perform(allowed, host), host)
  } catch (thrown) {
    ending = endingOf(call, BulkheadError.from(thrown), host)
  }
  const saved = ending.whole === undefined ? undefined : await saveWhole(call, ending.whole, host)
  return settle(call, ending, saved, host)
}

/** A call of a response, decided but not run. The promise is settled. */
export interface PreparedCall {
  readonly call: RawCall
  readonly allowed: Promise<AllowedCall>
}

/** Decides on a call, and asks a person if necessary. Never rejects. */
export async function prepareCall(proposal: Proposal, host: HostContext): Promise<PreparedCall> {
  const call = propose(proposal, host.clock)
  const allowed = authorize(call, host)
  await Promise.allSettled([allowed])
  return { call, allowed }
}

async function authorize(call: RawCall, host: HostContext): Promise<AllowedCall> {
  const evaluated = await evaluateCall(open(check(named(call)), host), host)
  if (auditFault(host)) await retryAudit(call, host)
  const decided = decide(evaluated, host)
  return decided.decision.verdict.action === 'ask' ? askPerson(decided, host) : requireAllowed(decided, host)
}

/**
 * A prepared call starts when its session has fewer calls of the extension under way than run at once. Until then its
 * time does not run. Returns undefined if it need not wait; never rejects.
 */
export function untilAdmitted({ call }: PreparedCall): Promise<unknown> | undefined {
  // What will not run needs no place.
  if (!call.allowed || call.scope.cancel.reason) return undefined
  const admitted = call.tool!.extension.admission.pace(call.session, call.signal)
  if (admitted instanceof Promise) return admitted.then((later) => { call.admitted = later })
  call.admitted = admitted
  return undefined
}

/** Runs a prepared call after those before it. Never rejects. */
export async function finishCall({ call, allowed }: PreparedCall, host: HostContext): Promise<Outcome> {
  const performed = allowed.then(async (ready) => perform(await redeemApprovals(ready, host), host))
  return end(call, await performed.catch(BulkheadError.from), host)
}

/**
 * Ends a prepared call that gives way to a new message of the user. A call that was denied stays denied. Never rejects.
 */
export async function skipCall({ call, allowed }: PreparedCall, host: HostContext): Promise<Outcome> {
  const skipped = allowed.then(() => {
    // Listeners count an end for each start.
    host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt: 0 })
    return new BulkheadError('SkippedBySteering', SKIPPED_BY_STEERING)
  })
  return end(call, await skipped.catch(BulkheadError.from), host)
}

/**
 * What can be checked at once: before `call()` returns, later changes by the caller have no effect. Throws what refuses
 * the call.
 */
export const check = (call: RawCall): ValidatedCall => validate(find(call))

/** The host names the calls that tools make. A call that continues keeps its id, and an invalid one is refused later. */
function named(call: RawCall): RawCall {
  const isNew = call.parent === undefined && call.scope.resumption === undefined
  if (isNew && call.id !== '' && call.id === call.request.id) call.session.callIds.take(call.id)
  return call
}

function find(call: RawCall): ResolvedCall {
  call.throwIfCancelled()
  return resolve(receive(call))
}

/**
 * Before the arguments are read. A call that a tool makes runs in the place of its caller, so it is not counted; the
 * compartment limits those that wait.
 */
function admit(call: ResolvedCall): ResolvedCall {
  const { parent, session, tool } = call
  if (parent === undefined || parent.isProgram) call.admitted = tool.extension.admission.admit(session)
  return call
}

function open(call: ValidatedCall, host: HostContext): ValidatedCall {
  if (host.events.hears('ToolInvocationProposed')) {
    const { args, parent, program } = call
    host.events.emit({
      type: 'ToolInvocationProposed', ...eventFields(call), arguments: args, args,
      ...(parent && { parentCallId: parent.callId }), ...(program !== undefined && { program }),
    })
  }
  call.journal = host.journal.open(call)
  return call
}

async function perform(allowed: AllowedCall, host: HostContext): Promise<ExecutedCall> {
  allowed.throwIfCancelled()
  redeemPermits(allowed, host)
  const cleared = await runBeforeHooks(reserveBudget(allowed), host)
  if (isAuditRequired(host)) await untilRecorded(cleared, host)
  if (cleared.journal?.written) await untilAborted(cleared.journal.written, cleared.signal)
  const isInline = cleared.tool.extension.arrangement.placement === 'inline'
  const executed = await host.journal.leave(() => execute(cleared, host), isInline)
  if (isRevertible(executed)) await recordEffect(executed, host)
  return isResultGuarded(executed) ? await guardResult(executed, host) : executed
}

/** The last two lines of `runCall`, which has them inline: this function would cost each call two more promises. */
async function end(call: RawCall, ended: ExecutedCall | BulkheadError, host: HostContext): Promise<Outcome> {
  const ending = endingOf(call, ended, host)
  const saved = ending.whole === undefined ? undefined : await saveWhole(call, ending.whole, host)
  return settle(call, ending, saved, host)
}
