/**
 * The order of the stages is checked at compile time: each wrong order below is an error, and this file fails if one is
 * not.
 */
import { askPerson, redeemPermits, requireAllowed } from '../../src/calls/authorize.ts'
import { decide, evaluateCall, reserveBudget } from '../../src/calls/decide.ts'
import { execute } from '../../src/calls/execute.ts'
import { pass } from '../../src/calls/gate.ts'
import { guardResult } from '../../src/calls/guard-result.ts'
import { runBeforeHooks } from '../../src/calls/hooks.ts'
import { receive, resolve, takeArguments, validate } from '../../src/calls/receive.ts'
import { endingOf } from '../../src/calls/settle.ts'
import type { Reservation } from '../../src/model/budget.ts'
import type { CallRun } from '../../src/model/call-run.ts'
import type {
  AllowedCall, BudgetedCall, Call, ClearedCall, DecidedCall, EvaluatedCall, ExecutedCall, HostContext, ReceivedCall,
  ResolvedCall, StageRecord, StartedCall, ValidatedCall,
} from '../../src/policy/call.ts'

declare const host: HostContext
declare const run: CallRun<StageRecord>
declare const call: Call
declare const received: ReceivedCall
declare const resolved: ResolvedCall
declare const validated: ValidatedCall
declare const evaluated: EvaluatedCall
declare const decided: DecidedCall
declare const allowed: AllowedCall
declare const budgeted: BudgetedCall
declare const cleared: ClearedCall
declare const started: StartedCall
declare const executed: ExecutedCall
const { attempts } = run

export const right = [
  receive(call) satisfies ReceivedCall,
  resolve(received) satisfies ResolvedCall,
  validate(resolved, takeArguments(resolved)) satisfies ValidatedCall,
  evaluateCall(validated, attempts, host) satisfies Promise<EvaluatedCall>,
  decide(evaluated, host) satisfies DecidedCall,
  requireAllowed(decided, host) satisfies AllowedCall,
  askPerson(decided, attempts, host) satisfies Promise<AllowedCall>,
  redeemPermits(allowed, host),
  reserveBudget(allowed) satisfies Reservation,
  runBeforeHooks(budgeted, host) satisfies Promise<ClearedCall>,
  pass(cleared, run, host) satisfies Promise<StartedCall>,
  execute(started, attempts, host) satisfies Promise<ExecutedCall>,
  guardResult(executed, host) satisfies Promise<ExecutedCall>,
  endingOf(run, executed, host),
]

export const wrong = [
  // @ts-expect-error not received
  resolve(call),
  // @ts-expect-error not resolved
  takeArguments(received),
  // @ts-expect-error the arguments are not copied
  validate(resolved, resolved.request.args),
  // @ts-expect-error not validated
  evaluateCall(resolved, attempts, host),
  // @ts-expect-error not evaluated
  decide(validated, host),
  // @ts-expect-error not decided
  requireAllowed(validated, host),
  // @ts-expect-error not decided
  askPerson(evaluated, attempts, host),
  // @ts-expect-error not allowed
  redeemPermits(decided, host),
  // @ts-expect-error not allowed
  reserveBudget(decided),
  // @ts-expect-error nothing reserved
  runBeforeHooks(allowed, host),
  // @ts-expect-error hooks not asked
  pass(budgeted, run, host),
  // @ts-expect-error not started
  execute(cleared, attempts, host),
  // @ts-expect-error there is no result yet
  guardResult(allowed, host),
  // @ts-expect-error not executed
  endingOf(run, allowed, host),
  // @ts-expect-error the record of a stage does not change
  decided.decision = evaluated.evaluation,
  // @ts-expect-error only the run itself changes what it reached
  run.reached = executed,
]
