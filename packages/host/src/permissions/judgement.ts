import { messageOf } from '@bulkhead/contract'
import { viewOf, type ValidatedCall } from '../call.ts'
import { untilAborted } from '../cancellation.ts'
import type { CallMeaning } from './call-meaning.ts'
import type { Judge, SessionPolicy } from './session-policy.ts'
import { ask, deny, type DecisionStage, type Verdict } from './verdict.ts'

/**
 * Everything that speaks of a call, in order, up to the first deny. Nobody is asked and nothing runs, so that the same
 * chain can be shown to whoever wants to know why. At once where only policies speak; later where watchdogs or guards do.
 */
export function judge(call: ValidatedCall, meaning: CallMeaning): readonly Verdict[] | Promise<readonly Verdict[]> {
  if (denied(meaning.verdicts)) return meaning.verdicts
  const { lineage } = call.session.policy
  if (lineage.some(consults)) return judgeAndConsult(call, meaning)
  const verdicts: Verdict[] = [...meaning.verdicts]
  for (const policy of lineage) {
    const rule = policy.judgeRules(call.tool, meaning.subjects)
    verdicts.push(...beforeWatchdog(policy, call, rule))
    if (denied(verdicts)) break
    verdicts.push(...beforeGuards(policy, call, rule))
  }
  return verdicts
}

const consults = ({ watchdog, guards }: SessionPolicy): boolean => watchdog !== undefined || guards.length > 0

async function judgeAndConsult(call: ValidatedCall, { approvalKey, subjects, verdicts: read }: CallMeaning): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [...read]
  for (const policy of call.session.policy.lineage) {
    const rule = policy.judgeRules(call.tool, subjects)
    verdicts.push(...beforeWatchdog(policy, call, rule))
    if (denied(verdicts)) break
    if (policy.watchdog) verdicts.push(...await consult(policy.watchdog, 'watchdog', call, approvalKey))
    if (denied(verdicts)) break
    verdicts.push(...beforeGuards(policy, call, rule))
    for (const guard of call.tool.definition.gated ? policy.guards : []) {
      verdicts.push(...await consult(guard, 'guard', call, approvalKey))
      if (denied(verdicts)) return verdicts
    }
  }
  return verdicts
}

/** What the policy says by itself. */
function beforeWatchdog(policy: SessionPolicy, { tool }: ValidatedCall, rule: Verdict | undefined): readonly Verdict[] {
  const { floor } = policy.standing(tool)
  if (floor) return rule ? [rule, floor] : [floor]
  return rule ? [rule] : []
}

/** A rule that allows has answered what the mode would ask. */
function beforeGuards(policy: SessionPolicy, { tool }: ValidatedCall, rule: Verdict | undefined): readonly Verdict[] {
  if (!tool.definition.gated || rule?.action === 'allow') return []
  return [ask('security-mode', `mode ${policy.mode}`, 'the tool is gated', true)]
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
    call.throwIfCancelled()
    return refuse(`it failed while judging: ${messageOf(thrown)}`)
  }
}

const CODES = { watchdog: 'WatchdogDenied', guard: 'GuardDenied' } as const satisfies Partial<Record<DecisionStage, string>>
