import { messageOf } from '@bulkhead/contract'
import { viewOf, type ValidatedCall } from '../call.ts'
import { untilAborted } from '../cancellation.ts'
import type { CallMeaning } from './call-meaning.ts'
import type { Judge, SessionPolicy } from './session-policy.ts'
import { ask, deny, type DecisionStage, type Verdict } from './verdict.ts'

/**
 * Everything that speaks of a call, in order, up to the first deny. Nobody is asked and nothing runs, so that the same
 * chain can be shown to whoever wants to know why.
 */
export async function judge(call: ValidatedCall, meaning: CallMeaning): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [...meaning.verdicts]
  if (denied(verdicts)) return verdicts
  for (const policy of call.session.policy.lineage) {
    verdicts.push(...await judgeUnder(policy, call, meaning))
    if (denied(verdicts)) break
  }
  return verdicts
}

async function judgeUnder(
  policy: SessionPolicy, call: ValidatedCall, { approvalKey, subjects }: CallMeaning,
): Promise<readonly Verdict[]> {
  const { tool } = call
  const { floor } = policy.standing(tool)
  const rule = policy.judgeRules(tool, subjects)
  const verdicts = [rule, floor].filter((verdict) => verdict !== undefined)
  if (denied(verdicts)) return verdicts
  if (policy.watchdog) verdicts.push(...await consult(policy.watchdog, 'watchdog', call, approvalKey))
  if (denied(verdicts) || !tool.definition.gated) return verdicts
  // A rule that allows has answered what the mode would ask.
  if (rule?.action !== 'allow') verdicts.push(ask('security-mode', `mode ${policy.mode}`, 'the tool is gated', true))
  for (const guard of policy.guards) {
    verdicts.push(...await consult(guard, 'guard', call, approvalKey))
    if (denied(verdicts)) break
  }
  return verdicts
}

const denied = (verdicts: readonly Verdict[]): boolean => verdicts.some(({ action }) => action === 'deny')

/** Fails closed: a judge that throws, or says something unknown, has refused. */
async function consult(
  judgeCall: Judge, stage: 'watchdog' | 'guard', call: ValidatedCall, approvalKey: string,
): Promise<readonly Verdict[]> {
  const source = `${stage} ${judgeCall.name || 'without a name'}`
  const refuse = (reason: string) => [deny(stage, CODES[stage], source, reason)]
  try {
    const pending = judgeCall(viewOf(call, approvalKey), call.signal)
    const answer = pending instanceof Promise ? await untilAborted(pending, call.signal) : pending
    switch (answer?.action) {
      case undefined:
        return answer === undefined ? [] : refuse('its answer was not one of the known ones')
      case 'allow':
        return []
      case 'ask':
        return [ask(stage, source, answer.reason, false)]
      case 'deny':
        return refuse(answer.reason)
      default:
        return refuse('its answer was not one of the known ones')
    }
  } catch (thrown) {
    call.signal.throwIfAborted()
    return refuse(`it failed while judging: ${messageOf(thrown)}`)
  }
}

const CODES = { watchdog: 'WatchdogDenied', guard: 'GuardDenied' } as const satisfies Partial<Record<DecisionStage, string>>
