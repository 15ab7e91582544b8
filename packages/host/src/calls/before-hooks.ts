import { BulkheadError, type Clock } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { CallView } from '../model/call.ts'
import { Refusal, type BudgetedCall, type ClearedCall } from '../policy/call.ts'
import { viewOf } from '../policy/call-view.ts'
import type { Hooks } from '../model/hooks.ts'
import type { HostContext } from '../policy/host-context.ts'
import { SKIPPED_BY_HOOK } from '../model/outcome.ts'
import { inTime } from '../model/in-time.ts'
import { isPromiseLike } from '../model/promise-like.ts'

type Cleared = ClearedCall | Refusal

/** The last word before the tool runs. At once, unless a hook takes its time. */
export function runBeforeHooks(call: BudgetedCall, { clock }: HostContext): Cleared | Promise<Cleared> {
  const { all } = call.session.hooks
  return all.length === 0 ? call.clear() : askFrom(0, all, call, viewOf(call, call.decision.approvalKey), clock)
}

function askFrom(first: number, all: readonly Hooks[], call: BudgetedCall, view: CallView, clock: Clock): Cleared | Promise<Cleared> {
  try {
    for (let index = first; index < all.length; index++) {
      const answer = all[index]!.beforeToolExecution?.(view, call.signal)
      if (answer === false) return veto(SKIPPED_BY_HOOK)
      if (!isPromiseLike(answer)) continue
      return inTime(answer, call, clock).then(
        (goOn) => goOn === false ? veto(SKIPPED_BY_HOOK) : askFrom(index + 1, all, call, view, clock),
        (thrown: unknown) => failed(call, thrown),
      )
    }
    return call.clear()
  } catch (thrown) {
    return failed(call, thrown)
  }
}

const veto = (why: string) => new Refusal(new BulkheadError('HookVetoed', why))

function failed(call: BudgetedCall, thrown: unknown): Refusal {
  call.throwIfCancelled()
  return veto(`The call of "${call.tool.name}" was skipped: a before-hook failed: ${messageOf(thrown)}.`)
}
