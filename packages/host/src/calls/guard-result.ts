import { BulkheadError, type OutcomeBody } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Json } from '@bulkhead/kit/json'
import { copyJson } from '@bulkhead/kit/json-copy'
import type { CallView } from '../model/call.ts'
import { eventFields, Refusal, type ClearedCall, type ExecutedCall } from '../policy/call.ts'
import { viewOf } from '../policy/call-view.ts'
import { freezeDeep } from './freeze-deep.ts'
import type { HostContext } from '../policy/host-context.ts'
import type { Guard, ResultAnswer } from '../policy/guards.ts'
import { inTime } from '../model/in-time.ts'
import { isPromiseLike } from '../model/promise-like.ts'
import { sha256 } from '../model/sha256.ts'

export const isResultJudged = ({ session: { policy }, tool }: ClearedCall): boolean =>
  policy.resultGuards.length > 0 && tool.definition.gated

/** What a gated tool has answered, as the guards leave it. */
export async function runAfterGuards(call: ExecutedCall, host: HostContext): Promise<ExecutedCall | Refusal> {
  const view = viewOf(call, call.decision.approvalKey)
  for (const guard of call.session.policy.resultGuards) {
    const refusal = await judgeBy(guard, view, call, host)
    if (refusal) return refusal
  }
  return call
}

/** Fails closed: a guard that throws, says something unknown or nothing in time has refused. */
async function judgeBy({ id, post }: Guard, view: CallView, call: ExecutedCall, host: HostContext): Promise<Refusal | undefined> {
  const { body } = call.reading
  const refuse = (why: string) => new Refusal(new BulkheadError(
    'GuardDenied', `The result of "${call.tool.name}" was withheld: ${why}.`, { data: { stage: 'guard', source: `guard ${id}` } },
  ))
  try {
    const pending = post!(view, freezeDeep(body), call.signal)
    return heed(isPromiseLike(pending) ? await inTime(pending, call, host.clock) : pending)
  } catch (thrown) {
    call.throwIfCancelled()
    return refuse(`the guard ${id} failed while judging: ${messageOf(thrown)}`)
  }

  function heed(answer: ResultAnswer | undefined | void): Refusal | undefined {
    if (answer === undefined) return undefined
    switch (answer?.action) {
      case 'allow': return undefined
      case 'deny': return refuse(reasonIn(answer, id))
      case 'change': break
      default: return refuse(`the answer of the guard ${id} was not one of the known ones`)
    }
    const copy = copyJson(answer.data)
    const changed = copy.ok ? withData(body, copy.value) : undefined
    if (!changed) return refuse(`the guard ${id} put something in its place that is no result`)
    host.events.emit({
      type: 'ToolInvocationChanged', ...eventFields(call), subject: 'result', stage: 'guard', source: `guard ${id}`,
      reason: reasonIn(answer, id), before: digestOf(body), after: digestOf(changed),
    })
    call.answer({ ...call.reading, body: changed })
    return undefined
  }
}

const reasonIn = ({ reason }: { readonly reason: unknown }, id: string): string =>
  reason === undefined || reason === '' ? `the guard ${id} gave no reason` : String(reason)

/** Nothing of what was there is left: content and details may repeat what the guard took out. */
function withData(body: OutcomeBody, data: Json): OutcomeBody | undefined {
  const { completion } = body
  const rest = completion ? { completion } : {}
  if (body.type === 'output') return { type: 'output', data, ...rest }
  if (typeof data !== 'string') return undefined
  const { code, class: errorClass, retryable } = body.error
  return { type: 'error', error_text: data, error: { code, class: errorClass, retryable }, ...rest }
}

const digestOf = (body: OutcomeBody): string => sha256(JSON.stringify(body.type === 'output' ? body.data : body.error_text))
