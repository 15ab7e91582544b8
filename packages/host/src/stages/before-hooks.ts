import { BulkheadError, messageOf } from '@bulkhead/contract'
import { Refusal, viewOf, type BudgetedCall, type ClearedCall } from '../call.ts'
import { untilAborted } from '../cancellation.ts'
import { SKIPPED_BY_HOOK } from '../outcome.ts'

/** The last word before the tool runs. */
export async function runBeforeHooks(call: BudgetedCall): Promise<ClearedCall | Refusal> {
  const hook = call.session.hooks.beforeToolExecution
  if (!hook) return { ...call, cleared: true }
  const veto = (why: string) => new Refusal(new BulkheadError('HookVetoed', why))
  try {
    const answer = hook(viewOf(call, call.decision.approvalKey), call.signal)
    const goOn = answer instanceof Promise ? await untilAborted(answer, call.signal) : answer
    return goOn === false ? veto(SKIPPED_BY_HOOK) : { ...call, cleared: true }
  } catch (thrown) {
    call.signal.throwIfAborted()
    return veto(`The call of "${call.tool.name}" was skipped: a before-hook failed: ${messageOf(thrown)}.`)
  }
}
