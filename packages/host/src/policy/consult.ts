import type { Clock } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson } from '@bulkhead/kit/json'
import { copyJson } from '@bulkhead/kit/json-copy'
import { viewOf, type CheckedCall } from './call-view.ts'
import { inTime } from '../model/in-time.ts'
import { isPromiseLike } from '../model/promise-like.ts'
import { ask, deny, type Verdict } from './verdict.ts'
import type { Judge, JudgeAnswer } from './guards.ts'

/** Somebody wants the call to run with other arguments. */
export interface ArgumentsChange {
  readonly stage: JudgeStage
  readonly source: string
  readonly reason: string
  readonly arguments: unknown
}

export type JudgeStage = 'watchdog' | 'guard'
export const JUDGE_CODES = { watchdog: 'WatchdogDenied', guard: 'GuardDenied' } as const satisfies Record<JudgeStage, string>

/** What a judge says; undefined for no objection. */
export type Said = Verdict | ArgumentsChange | undefined

export const isChange = (said: Verdict | ArgumentsChange): said is ArgumentsChange => 'arguments' in said

/** Fails closed: a judge that throws, says something unknown or nothing in time has refused. Rejects only when the call is cancelled. */
export function consult(
  judge: Judge, stage: JudgeStage, name: string, call: CheckedCall, approvalKey: string, clock: Clock,
): Said | Promise<Said> {
  const source = `${stage} ${name}`
  const failed = (thrown: unknown): Verdict => {
    call.throwIfCancelled()
    return deny(stage, JUDGE_CODES[stage], source, `the ${source} failed while judging: ${messageOf(thrown)}`)
  }
  try {
    const answer = judge(viewOf(call, approvalKey), call.signal)
    if (!isPromiseLike(answer)) return read(answer, stage, source, call)
    return inTime(answer, call, clock).then((said) => read(said, stage, source, call)).catch(failed)
  } catch (thrown) {
    return failed(thrown)
  }
}

function read(answer: JudgeAnswer | undefined | void, stage: JudgeStage, source: string, call: CheckedCall): Said {
  if (answer === undefined) return undefined
  switch (answer?.action) {
    case 'allow': return undefined
    case 'ask': return ask(stage, source, reasonIn(answer, source), false)
    case 'deny': return deny(stage, JUDGE_CODES[stage], source, reasonIn(answer, source))
    case 'change': return readChange(answer.arguments, { stage, source, reason: reasonIn(answer, source) }, call)
    default: return deny(stage, JUDGE_CODES[stage], source, `the answer of the ${source} was not one of the known ones`)
  }
}

const reasonIn = ({ reason }: { readonly reason: unknown }, source: string): string =>
  reason === undefined || reason === '' ? `the ${source} gave no reason` : String(reason)

/** Who wants what is there already has no objection. */
function readChange(wanted: unknown, by: Omit<ArgumentsChange, 'arguments'>, { args }: CheckedCall): Said {
  const copy = copyJson(wanted)
  if (copy.ok) return canonicalJson(copy.value) === canonicalJson(args) ? undefined : { ...by, arguments: copy.value }
  const { stage, source } = by
  return deny(stage, JUDGE_CODES[stage], source, `the ${source} put arguments in place that are no JSON: ${copy.fault.message}`)
}
