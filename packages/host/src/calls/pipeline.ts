import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { SKIPPED_BY_STEERING } from '../model/outcome.ts'
import { eventFields, type AllowedCall, type EvaluatedCall, type ExecutedCall, type RawCall, type ValidatedCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'
import { askPerson, redeemApprovals, redeemPermits, requireAllowed } from './authorize.ts'
import { decide, evaluateCall, reserveBudget } from './decide.ts'
import { execute } from './execute.ts'
import { guardResult } from './guard-result.ts'
import { runBeforeHooks } from './hooks.ts'
import { propose, receive, resolve, type Proposal } from './receive.ts'
import { auditFault, retryAudit, untilRecorded } from './required-audit.ts'
import { settle } from './settle.ts'
import { validate } from './validate.ts'

/** Runs one call to its single outcome. Never rejects. */
export async function runCall(proposal: Proposal, host: HostContext): Promise<Outcome> {
  const call = propose(proposal, host.clock)
  return end(call, host, async () => {
    const evaluated = await evaluateProposal(call, host)
    await host.order.turn(call.number)
    // No await between decision and reservation, so that calls of one tick cannot spend the same budget.
    const decided = decide(evaluated, host)
    const allowed = decided.decision.verdict.action === 'ask' ? await askPerson(decided, host) : requireAllowed(decided, host)
    return perform(allowed, host)
  })
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
  const decided = decide(await evaluateProposal(call, host), host)
  return decided.decision.verdict.action === 'ask' ? askPerson(decided, host) : requireAllowed(decided, host)
}

/** Runs a prepared call after those before it. Never rejects. */
export function finishCall({ call, allowed }: PreparedCall, host: HostContext): Promise<Outcome> {
  return end(call, host, async () => perform(await redeemApprovals(await allowed, host), host))
}

/** Ends a prepared call that gives way to a new message of the user. A call that was denied stays denied. Never rejects. */
export function skipCall({ call, allowed }: PreparedCall, host: HostContext): Promise<Outcome> {
  return end(call, host, async () => {
    await allowed
    // Listeners count an end for each start.
    host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt: 0 })
    throw new BulkheadError('SkippedBySteering', SKIPPED_BY_STEERING)
  })
}

/** Every step before the decision. */
async function evaluateProposal(call: RawCall, host: HostContext): Promise<EvaluatedCall> {
  const evaluated = await evaluateCall(open(check(call), host), host)
  if (auditFault(host)) await retryAudit(call, host)
  return evaluated
}

/** What can be checked at once: before `call()` returns, later changes by the caller have no effect. Throws what refuses the call. */
export function check(call: RawCall): ValidatedCall {
  call.throwIfCancelled()
  return validate(resolve(receive(call)))
}

function open(call: ValidatedCall, host: HostContext): ValidatedCall {
  if (host.events.hears('ToolInvocationProposed')) {
    const { args, parent } = call
    host.events.emit({ type: 'ToolInvocationProposed', ...eventFields(call), args, ...(parent && { parentCallId: parent.callId }) })
  }
  call.journal = host.journal.open(call)
  return call
}

async function perform(allowed: AllowedCall, host: HostContext): Promise<ExecutedCall> {
  allowed.throwIfCancelled()
  redeemPermits(allowed, host)
  const cleared = await runBeforeHooks(reserveBudget(allowed), host)
  await untilRecorded(cleared, host)
  host.journal.save()
  if (cleared.journal?.written) await untilAborted(cleared.journal.written, cleared.signal)
  return guardResult(await execute(cleared, host), host)
}

/** The one place that turns what a step throws into an outcome. Nothing of the call is left afterwards. */
async function end(call: RawCall, host: HostContext, run: () => Promise<ExecutedCall>): Promise<Outcome> {
  const ended = await run().catch((thrown: unknown) => BulkheadError.from(thrown))
  try {
    return await settle(call, ended, host)
  } finally {
    call.end()
  }
}
