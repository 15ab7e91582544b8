import { BulkheadError, messageOf } from '@bulkhead/contract'
import { Refusal, viewOf, type BudgetedCall, type ClearedCall } from '../call.ts'
import { untilAborted } from '../cancellation.ts'
import { SKIPPED_BY_HOOK } from '../outcome.ts'

/** The last word before the tool runs. At once, unless a hook takes its time. */
export function runBeforeHooks(call: BudgetedCall): ClearedCall | Refusal | Promise<ClearedCall | Refusal> {
  const hook = call.session.hooks.beforeToolExecution
  if (!hook) return call.clear()
  try {
    const answer = hook(viewOf(call, call.decision.approvalKey), call.signal)
    if (!(answer instanceof Promise)) return heed(call, answer)
    return untilAborted(answer, call.signal).then((goOn) => heed(call, goOn), (thrown: unknown) => failed(call, thrown))
  } catch (thrown) {
    return failed(call, thrown)
  }
}

const heed = (call: BudgetedCall, goOn: boolean | void): ClearedCall | Refusal => goOn === false ? veto(SKIPPED_BY_HOOK) : call.clear()

const veto = (why: string) => new Refusal(new BulkheadError('HookVetoed', why))

function failed(call: BudgetedCall, thrown: unknown): Refusal {
  call.throwIfCancelled()
  return veto(`The call of "${call.tool.name}" was skipped: a before-hook failed: ${messageOf(thrown)}.`)
}
