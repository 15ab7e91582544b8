import type { Clock } from '@bulkhead/contract'
import type { ValidatedCall } from './call.ts'
import type { CallMeaning } from './call-view.ts'
import { isChange, type ArgumentsChange, type Said } from './consult.ts'
import type { Hearing, Speaker } from './policies.ts'
import type { Verdict } from './verdict.ts'

/** What everybody has said. Where somebody wants other arguments, nobody after them was heard: they will hear those. */
export interface Judgement {
  readonly verdicts: readonly Verdict[]
  readonly change?: ArgumentsChange
}

/**
 * Everything that speaks of a call, in order, up to the first deny. Nobody is asked and nothing runs, so that the same
 * chain can be shown to whoever wants to know why. At once, unless somebody takes their time.
 */
export function judge(call: ValidatedCall, meaning: CallMeaning, clock: Clock): Judgement | Promise<Judgement> {
  const hearing: Hearing = { call, meaning, verdicts: [...meaning.verdicts], clock, ruled: undefined }
  return denied(hearing) ? hearing : hear(hearing, call.session.policy.speakers, 0)
}

function hear(hearing: Hearing, speakers: readonly Speaker[], from: number): Judgement | Promise<Judgement> {
  for (let index = from; index < speakers.length; index++) {
    const said = speakers[index]!(hearing)
    if (said instanceof Promise) return said.then((late) => take(hearing, late) ?? hear(hearing, speakers, index + 1))
    const over = take(hearing, said)
    if (over) return over
  }
  return hearing
}

/** What it has come to when nobody else need be heard. */
function take(hearing: Hearing, said: Said): Judgement | undefined {
  const { verdicts } = hearing
  if (said === undefined) return denied(hearing) ? hearing : undefined
  if (isChange(said)) return { verdicts, change: said }
  verdicts.push(said)
  return denied(hearing) ? hearing : undefined
}

const denied = ({ verdicts }: Hearing): boolean => verdicts.some(({ action }) => action === 'deny')
