import { BulkheadError, copyJson, messageOf, untilAborted, type Json, type OutcomeBody } from '@bulkhead/contract'
import { eventFields, Refusal, viewOf, type CallView, type ClearedCall, type ExecutedCall } from '../call.ts'
import { freezeDeep } from '../hooks/freeze-deep.ts'
import type { HostContext } from '../host-context.ts'
import type { Guard, ResultAnswer } from '../permissions/judges/judge.ts'
import { isPromiseLike } from '../waiting/promise-like.ts'
import { sha256 } from '../encoding/sha256.ts'

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

/** Fails closed: a guard that throws, or says something unknown, has refused. */
async function judgeBy({ id, post }: Guard, view: CallView, call: ExecutedCall, host: HostContext): Promise<Refusal | undefined> {
  const { body } = call.reading
  const refuse = (why: string) => new Refusal(new BulkheadError(
    'GuardDenied', `The result of "${call.tool.name}" was withheld: ${why}.`, { data: { stage: 'guard', source: `guard ${id}` } },
  ))
  const reasonOf = ({ reason }: { readonly reason: unknown }) => reason === undefined || reason === '' ? `the guard ${id} gave no reason` : String(reason)
  let answer: ResultAnswer | undefined | void
  try {
    const pending = post!(view, freezeDeep(body), call.signal)
    answer = isPromiseLike(pending) ? await untilAborted(Promise.resolve(pending), call.signal) : pending
  } catch (thrown) {
    call.throwIfCancelled()
    return refuse(`the guard ${id} failed while judging: ${messageOf(thrown)}`)
  }
  if (answer === undefined) return undefined
  switch (answer?.action) {
    case 'allow': return undefined
    case 'deny': return refuse(reasonOf(answer))
    case 'change': break
    default: return refuse(`the answer of the guard ${id} was not one of the known ones`)
  }
  const copy = copyJson(answer.data)
  const changed = copy.ok ? withData(body, copy.value) : undefined
  if (!changed) return refuse(`the guard ${id} put something in its place that is no result`)
  host.events.emit({
    type: 'ToolInvocationChanged', ...eventFields(call), subject: 'result', stage: 'guard', source: `guard ${id}`,
    reason: reasonOf(answer), before: digestOf(body), after: digestOf(changed),
  })
  call.answer({ ...call.reading, body: changed })
  return undefined
}

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
