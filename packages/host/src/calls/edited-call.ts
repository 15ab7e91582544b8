import { BulkheadError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { Attempts } from '../model/call-run.ts'
import type { DecidedCall, HostContext } from '../policy/call.ts'
import { digestOf } from '../policy/model/stage-permit.ts'
import { ask } from '../policy/model/verdict.ts'
import { decide, evaluateCall, refreshBudget } from './decide.ts'
import { editedCall } from './receive.ts'

/** Why a call is allowed whose arguments a person changed. */
export const EDITED = 'a person changed the arguments, and approved this call'

/**
 * The decision on the arguments that a person wants instead: the schema and every policy judge them as those of the
 * model. Arguments that may not run change nothing: the person is asked about the earlier ones again, and sees why.
 */
export async function judgeEdit(
  asked: DecidedCall, wanted: JsonObject, attempts: Attempts, host: HostContext,
): Promise<DecidedCall> {
  const { call } = asked
  try {
    const edited = editedCall(call, wanted)
    const evaluated = await evaluateCall(edited, attempts, host)
    await refreshBudget(evaluated)
    const decided = decide(evaluated, host)
    const { verdict: { action, reason } } = decided.decision
    if (action === 'deny') return unchanged(asked, reason)
    const change = {
      stage: 'approval', source: 'person', reason: EDITED, before: digestOf(call.args), after: digestOf(edited.args),
    } as const
    attempts.allow(decided.call.timeMs)
    return { ...decided, changes: [change, ...decided.changes] }
  } catch (thrown) {
    call.throwIfCancelled()
    return unchanged(asked, BulkheadError.from(thrown).message)
  }
}

function unchanged(asked: DecidedCall, why: string): DecidedCall {
  const { decision } = asked
  const reason = `the changed arguments cannot run: ${why.replace(/\.$/, '')}`
  const asks = [...decision.asks.filter(({ source }) => source !== NOT_CHANGED), ask('approval', NOT_CHANGED, reason, [])]
  return { ...asked, decision: { ...decision, asks }, changes: [] }
}

/** No policy has this name. */
const NOT_CHANGED = 'the changed arguments'
