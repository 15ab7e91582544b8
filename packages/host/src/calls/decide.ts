import { CALL_LIMITS } from '@bulkhead/contract'
import { Refusal, type ValidatedCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'
import { validate } from './validate.ts'
import { JUDGE_CODES, type ArgumentsChange } from '../policy/consult.ts'
import { rule, type Ruling } from '../policy/evaluate.ts'
import { digestOf } from '../policy/stage-permit.ts'
import { deny, type DecisionStage, type Verdict } from '../policy/verdict.ts'

/** Who has put other arguments in place, and why. `before` and `after` are their digests. */
export interface MadeChange {
  readonly stage: DecisionStage
  readonly source: string
  readonly reason: string
  readonly before: string
  readonly after: string
}

export interface SettledRuling extends Ruling {
  /** Absent where there were none. */
  readonly changes?: readonly MadeChange[]
}

/**
 * The ruling on what will run. Whenever somebody changes the arguments they are validated and everybody is heard again, so a
 * change can lead to a deny and never past one. Asks nobody and remembers nothing but the arguments. At once where it can be.
 */
export const ruleInRounds = (call: ValidatedCall, host: HostContext): Settled => nextRound(call, host, [])

type Settled = SettledRuling | Promise<SettledRuling>

function nextRound(call: ValidatedCall, host: HostContext, made: readonly MadeChange[]): Settled {
  const ruling = rule(call, host)
  return ruling instanceof Promise ? ruling.then((known) => follow(call, host, made, known)) : follow(call, host, made, ruling)
}

function follow(call: ValidatedCall, host: HostContext, changes: readonly MadeChange[], ruling: Ruling): Settled {
  const { change } = ruling
  if (!change) return changes.length === 0 ? ruling : { ...ruling, changes }
  const made = make(change, call, changes.length)
  if (!('before' in made)) return { ...ruling, verdicts: [...ruling.verdicts, made], verdict: made, answerable: false, changes }
  return nextRound(call, host, [...changes, made])
}

/** Or why it cannot be made. */
function make(change: ArgumentsChange, call: ValidatedCall, count: number): MadeChange | Verdict {
  const { stage, source, reason } = change
  const { argumentChanges } = CALL_LIMITS
  if (count >= argumentChanges) {
    const why = `the arguments were changed ${argumentChanges} times, and the ${source} wants others still`
    return deny(stage, 'ArgumentsUnsettled', source, why)
  }
  const before = digestOf(call.args)
  const changed = validate(call, change.arguments)
  if (!(changed instanceof Refusal)) return { stage, source, reason, before, after: digestOf(changed.args) }
  const why = `the ${source} put arguments in place that the tool does not take: ${changed.error.message.replace(/\.$/, '')}`
  return deny(stage, JUDGE_CODES[stage], source, why)
}
