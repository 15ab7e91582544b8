/** The order of the stages is a compile-time fact: each wrong order below is an error, and this file fails when one is not. */
import type {
  AuthorizedCall, BudgetedCall, ClearedCall, ExecutedCall, RawCall, ReceivedCall, Refusal, ResolvedCall, ValidatedCall,
} from '../src/policy/call.ts'
import type { HostContext } from '../src/policy/host-context.ts'
import { runAfterGuards } from '../src/calls/guard-result.ts'
import { authorize } from '../src/calls/authorize.ts'
import { runBeforeHooks } from '../src/calls/before-hooks.ts'
import { reserve } from '../src/calls/reserve.ts'
import { Execution, type Done } from '../src/calls/execute.ts'
import { receive } from '../src/calls/receive.ts'
import { redeemPermits } from '../src/calls/redeem.ts'
import { resolve } from '../src/calls/resolve.ts'
import { settle } from '../src/calls/settle.ts'
import { validate } from '../src/calls/validate.ts'

declare const host: HostContext
declare const done: Done
declare const raw: RawCall
declare const received: ReceivedCall
declare const resolved: ResolvedCall
declare const validated: ValidatedCall
declare const authorized: AuthorizedCall
declare const budgeted: BudgetedCall
declare const cleared: ClearedCall
declare const executed: ExecutedCall

/** At once where it can be. */
type Stage<Value> = Value | Promise<Value>

export const right = [
  receive(raw) satisfies ReceivedCall | Refusal,
  resolve(received) satisfies ResolvedCall | Refusal,
  validate(resolved) satisfies ValidatedCall | Refusal,
  authorize(validated, host) satisfies Stage<AuthorizedCall | Refusal>,
  redeemPermits(authorized, host) satisfies Refusal | undefined,
  reserve(authorized) satisfies BudgetedCall | Refusal,
  runBeforeHooks(budgeted, host) satisfies Stage<ClearedCall | Refusal>,
  new Execution(cleared, host, done),
  runAfterGuards(executed, host) satisfies Promise<ExecutedCall | Refusal>,
  settle(raw, executed, host),
]

export const wrong = [
  // @ts-expect-error not received
  resolve(raw),
  // @ts-expect-error not resolved
  validate(received),
  // @ts-expect-error not validated
  authorize(resolved, host),
  // @ts-expect-error it is not permitted
  redeemPermits(validated, host),
  // @ts-expect-error there is no result yet
  runAfterGuards(cleared, host),
  // @ts-expect-error not authorized
  reserve(validated),
  // @ts-expect-error nothing reserved
  runBeforeHooks(authorized, host),
  // @ts-expect-error hooks not asked
  new Execution(budgeted, host, done),
  // @ts-expect-error not executed
  settle(raw, cleared, host),
  // @ts-expect-error a refusal is no call: it must be looked at before going on
  authorize(validate(resolved), host),
]
