import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { CallRun } from '../model/call-run.ts'
import { eventFields } from '../model/event-fields.ts'
import { SKIPPED_BY_STEERING } from '../model/outcome.ts'
import {
  callOf, type AllowedCall, type BudgetedCall, type Call, type DecidedCall, type HostContext, type ResolvedCall,
  type StageRecord, type ValidatedCall,
} from '../policy/call.ts'
import type { JournalledCall } from '../records/call-journal.ts'
import { askPerson, redeemPermits, requireAllowed } from './authorize.ts'
import {
  auditFault, decide, evaluateCall, isAuditRequired, refreshBudget, reserveBudget, retryAudit, untilRecorded,
} from './decide.ts'
import { execute } from './execute.ts'
import { frozenVerdict, pass } from './gate.ts'
import { guardResult, isResultGuarded } from './guard-result.ts'
import { runBeforeHooks } from './hooks.ts'
import { recordCall, saidIn } from './record-call.ts'
import { isRevertible, recordEffect } from './record-effect.ts'
import { claimKey, keyedCall, recordOutcome, Replay } from './keyed-call.ts'
import { propose, receive, resolve, takeArguments, validate, type Proposal } from './receive.ts'
import { endingOf, keyedEnding, saveWhole, settle, type Ending } from './settle.ts'
import { answerFor, executeStub, replayOf } from './stubbed-call.ts'

/** Runs one call to its single outcome. Never rejects. */
export function runCall(proposal: Proposal, host: HostContext): Promise<Outcome> {
  const run = begun(proposal, host)
  return finish(run, authorize(run, host, true, (allowed) => reserve(allowed, run, host)), host)
}

function begun(proposal: Proposal, { clock }: HostContext): CallRun<StageRecord> {
  const call = propose(proposal, clock)
  const run = new CallRun<StageRecord>(call)
  run.number = call.session.recording?.next()
  return run
}

/** A call of a response, decided but not run. The promise is settled. */
export interface PreparedCall {
  readonly run: CallRun<StageRecord>
  readonly allowed: Promise<AllowedCall>
}

/** Decides on a call, and asks a person if necessary. Never rejects. */
export async function prepareCall(proposal: Proposal, host: HostContext): Promise<PreparedCall> {
  const run = begun(proposal, host)
  const allowed = authorize(run, host, false, (call) => call)
  await Promise.allSettled([allowed])
  return { run, allowed }
}

/**
 * A prepared call starts when its session has fewer calls of the extension under way than run at once. Until then its
 * time does not run. Returns undefined if it need not wait; never rejects.
 */
export function untilAdmitted({ run }: PreparedCall): Promise<unknown> | undefined {
  const { reached } = run
  // What will not run needs no place.
  if (!('isApproved' in reached) || reached.call.scope.cancel.reason) return undefined
  const { call } = reached
  const admitted = call.tool.extension.admission.pace(call.session, call.signal)
  if (admitted instanceof Promise) return admitted.then((later) => run.admit(later))
  run.admit(admitted)
  return undefined
}

/** Runs a prepared call after those before it. Never rejects. */
export const finishCall = ({ run, allowed }: PreparedCall, host: HostContext): Promise<Outcome> =>
  finish(run, allowed.then((ready) => reserve(ready, run, host)), host)

/**
 * Ends a prepared call that gives way to a new message of the user. A call that was denied stays denied. Never rejects.
 */
export const skipCall = ({ run, allowed }: PreparedCall, host: HostContext): Promise<Outcome> =>
  finish(run, allowed.then(({ call }) => {
    // Listeners count an end for each start.
    host.events.emit({ type: 'ToolInvocationStarted', ...eventFields(call), attempt: 0 })
    throw new BulkheadError('SkippedBySteering', SKIPPED_BY_STEERING)
  }), host)

/**
 * Decides on a call, and asks a person if necessary. `isAdmitted`: it counts among those that its extension takes on.
 * `next` follows in the same tick, so that calls of one tick cannot spend the same budget.
 */
async function authorize<Next>(
  run: CallRun<StageRecord>, host: HostContext, isAdmitted: boolean, next: (allowed: AllowedCall) => Next,
): Promise<Next> {
  const turn = host.order.enter()
  try {
    claimId(callOf(run.reached))
    const taken = take(run, isAdmitted)
    const replayed = replayOf(taken.call, host)
    const stub = replayed?.stub
    const starting = stub ? undefined : taken.call.tool.extension.prepare()
    if (starting) await untilAborted(starting, taken.call.signal)
    const validated = check(run, taken)
    open(validated, run, host)
    const evaluated = run.reach(await evaluateCall(validated, run.attempts, host))
    const earlier = host.order.wait(turn)
    if (earlier) await earlier
    if (auditFault(host)) await retryAudit(validated, host)
    const counting = refreshBudget(evaluated)
    if (counting) await counting
    const freeze = host.seat.mayBeFrozen || evaluated.evaluation.verdict.action === 'ask'
      ? await host.seat.frozen() : undefined
    const decided = run.reach(decide(evaluated, host, freeze && frozenVerdict(freeze, validated.tool.name)))
    const claiming = claimKey(decided, run, host)
    if (claiming) await claiming
    replayed?.decided(saidIn(decided.decision), decided.decision.verdict.reason)
    const allowed = decided.decision.verdict.action !== 'ask' ? requireAllowed(decided, host)
      : stub ? answerFor(stub, decided, host) : await ask(decided, run, host)
    run.attempts.phases.enter('queue', host.clock.monotonic())
    return next(run.reach(allowed))
  } finally {
    host.order.leave(turn)
  }
}

async function ask(decided: DecidedCall, run: CallRun<StageRecord>, host: HostContext): Promise<AllowedCall> {
  const { clock } = host
  const asked = clock.monotonic()
  run.attempts.phases.enter('person', asked)
  try {
    return await askPerson(decided, run.attempts, host)
  } finally {
    const answered = clock.monotonic()
    run.asked(answered - asked)
    run.attempts.phases.enter('policy', answered)
  }
}

/** The host names the calls that tools make. A call that continues keeps its id; an invalid one is refused later. */
function claimId({ id, request, session, parent, scope: { resumption } }: Call): void {
  const isNew = parent === undefined && resumption === undefined
  if (isNew && id !== '' && id === request.id) session.callIds.take(id)
}

interface TakenCall {
  readonly call: ResolvedCall
  readonly taken: ReturnType<typeof takeArguments>
}

/**
 * What is done at once: before `call()` returns, later changes by the caller have no effect. Throws what refuses the
 * call.
 */
export function take(run: CallRun<StageRecord>, isAdmitted = false): TakenCall {
  const call = callOf(run.reached)
  call.throwIfCancelled()
  const resolved = run.reach(resolve(run.reach(receive(call))))
  const { parent, session, tool: { extension } } = resolved
  run.bind(extension.leases.acquire())
  // Before the arguments are read. A call that a tool makes runs in the place of its caller, so it is not counted; the
  // compartment limits those that wait.
  if (isAdmitted && (parent === undefined || parent.isProgram)) run.admit(extension.admission.admit(session))
  return { call: resolved, taken: takeArguments(resolved) }
}

/** Checks the arguments. The first check of a schema takes some time, which the first hull needs to start. */
export function check(run: CallRun<StageRecord>, { call, taken }: TakenCall): ValidatedCall {
  const validated = run.reach(validate(call, taken))
  run.attempts.allow(validated.timeMs)
  return validated
}

function open(call: ValidatedCall, run: CallRun<StageRecord>, host: HostContext): void {
  if (host.events.hears('ToolInvocationProposed')) {
    const { args, parent, program } = call
    host.events.emit({
      type: 'ToolInvocationProposed', ...eventFields(call), arguments: args, args,
      ...(parent && { parentCallId: parent.callId }), ...(program !== undefined && { program }),
    })
  }
  run.keyed = keyedCall(call, host)
  const [outcomeAt, claimedBy] = [run.keyed?.place, call.scope.resumption?.claimedBy]
  const isPlain = outcomeAt === undefined && claimedBy === undefined
  run.open(host.journal.open(isPlain ? call : { ...journalled(call), outcomeAt, claimedBy }))
}

/** Getters are not copied with a record. */
const journalled = ({ id, name, session, tool }: ValidatedCall): JournalledCall => ({ id, name, session, tool })

function reserve(allowed: AllowedCall, run: CallRun<StageRecord>, host: HostContext): BudgetedCall {
  allowed.call.throwIfCancelled()
  redeemPermits(allowed, host)
  return { allowed, reservation: run.charge(reserveBudget(allowed)) }
}

/** Runs a call that may run, and settles it. Nothing of the call is left afterwards. Never rejects. */
async function finish(run: CallRun<StageRecord>, ready: Promise<BudgetedCall>, host: HostContext): Promise<Outcome> {
  let ending: Ending
  try {
    const budgeted = await ready
    const { allowed, allowed: { call }, reservation: { confirmed } } = budgeted
    if (confirmed) await untilAborted(confirmed, call.signal)
    const cleared = await runBeforeHooks(budgeted, host)
    if (isAuditRequired(host)) await untilRecorded(allowed, host)
    const started = await pass(cleared, run, host)
    const stub = replayOf(call, host)?.stub
    const executed = run.reach(stub ? executeStub(started, stub) : await execute(started, run.attempts, host))
    run.attempts.phases.enter('settle', host.clock.monotonic())
    if (!stub && isRevertible(executed)) await recordEffect(executed, host)
    const whole = isResultGuarded(call) ? await guardResult(executed, host) : executed
    ending = { ...endingOf(run, whole, host), ...(stub && { replayed: true }) }
  } catch (thrown) {
    ending = thrown instanceof Replay ? keyedEnding(thrown.outcome) : endingOf(run, BulkheadError.from(thrown), host)
  }
  const saved = ending.long && await saveWhole(ending.long, host)
  let isRecorded = true
  try {
    const outcome = settle(run, ending, saved, host)
    if (run.number !== undefined) recordCall(run, outcome, host)
    if (run.claimed || run.attempts.steps) isRecorded = await recordOutcome(run, outcome, host)
    return outcome
  } finally {
    run.end(isRecorded)
    callOf(run.reached).scope.ended?.()
  }
}
