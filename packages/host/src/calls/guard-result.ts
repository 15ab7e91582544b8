import { hash } from 'node:crypto'
import { BulkheadError, type OutcomeBody } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Json } from '@bulkhead/kit/json'
import { copyJson, deepFreeze } from '@bulkhead/kit/json-copy'
import { eventFields } from '../model/event-fields.ts'
import type { CallView } from '../model/hooks.ts'
import { inTime } from '../model/deadline.ts'
import { isPromiseLike } from '@bulkhead/kit/deadlines'
import type { ExecutedCall, HostContext, ValidatedCall } from '../policy/call.ts'
import { viewOf } from '../policy/model/checked-call.ts'
import { reasonOf, type Guard, type ResultAnswer } from '../policy/guards.ts'

export const isResultGuarded = ({ session: { policy }, tool }: ValidatedCall): boolean =>
  policy.resultGuards.length > 0 && tool.definition.gated

/** Lets the guards check the result of a gated tool, and change it. Throws GuardDenied if one withholds it. */
export async function guardResult(executed: ExecutedCall, host: HostContext): Promise<ExecutedCall> {
  const { call, decision } = executed
  const { resultGuards } = call.session.policy
  const view = viewOf(call, decision.analysis.approvalKey)
  let guarded = executed
  for (const guard of resultGuards) guarded = await applyGuard(guard, view, guarded, host)
  return guarded
}

/** Fails closed: a throw, an unknown answer and no answer in time deny. */
async function applyGuard(
  { id, post }: Guard, view: CallView, executed: ExecutedCall, host: HostContext,
): Promise<ExecutedCall> {
  const { call, reading, reading: { body } } = executed
  let answer: ResultAnswer | undefined | void
  try {
    const pending = post!(view, deepFreeze(body), call.signal)
    answer = isPromiseLike(pending) ? await inTime(pending, call, host.clock) : pending
    const changed = readChange(answer, body, id)
    if (!changed) return executed
    host.events.emit({
      type: 'ToolInvocationChanged', ...eventFields(call), subject: 'result', stage: 'guard', source: `guard ${id}`,
      reason: changed.reason, before: digestOf(body), after: digestOf(changed.body),
    })
    return { ...executed, reading: { ...reading, body: changed.body } }
  } catch (thrown) {
    call.throwIfCancelled()
    const why = thrown instanceof Withheld ? thrown.message : `the guard ${id} failed: ${messageOf(thrown)}`
    const message = `The result of "${call.tool.name}" was withheld: ${why}.`
    throw new BulkheadError('GuardDenied', message, { data: { stage: 'guard', source: `guard ${id}` } })
  }
}

/** Why a guard withholds a result. */
class Withheld extends Error {}

/** Returns undefined if the result stays. Throws Withheld. */
function readChange(
  answer: ResultAnswer | undefined | void, body: OutcomeBody, id: string,
): { readonly body: OutcomeBody; readonly reason: string } | undefined {
  if (answer === undefined) return undefined
  switch (answer?.action) {
    case 'allow': return undefined
    case 'deny': throw new Withheld(reasonOf(answer, `guard ${id}`))
    case 'change': break
    default: throw new Withheld(`the guard ${id} returned an unknown answer`)
  }
  const copy = copyJson(answer.data)
  const changed = copy.ok ? withData(body, copy.value) : undefined
  if (!changed) throw new Withheld(`the guard ${id} returned something that is not a result`)
  return { body: changed, reason: reasonOf(answer, `guard ${id}`) }
}

/** Keeps nothing of the result: content and details may repeat what the guard removed. */
function withData(body: OutcomeBody, data: Json): OutcomeBody | undefined {
  const { completion } = body
  const rest = completion ? { completion } : {}
  if (body.type === 'output') return { type: 'output', data, ...rest }
  if (typeof data !== 'string') return undefined
  const { code, class: errorClass, retryable } = body.error
  return { type: 'error', error_text: data, error: { code, class: errorClass, retryable }, ...rest }
}

const digestOf = (body: OutcomeBody): string =>
  hash('sha256', JSON.stringify(body.type === 'output' ? body.data : body.error_text))
