import { BulkheadError, type ErrorCode, type OutcomeOrigin, type RuleAction } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { Approval } from '../policy/approvals/approval.ts'
import { changedWords, endedWords, standingWords } from '../policy/approvals/approval-words.ts'
import { Refusal, type RawCall, type ValidatedCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'
import { describePower } from '../policy/describe-power.ts'
import { remedies, type DecidingStage } from './remedies.ts'
import { ruleInRounds, type SettledRuling } from './decide.ts'
import { headless, type Verdict } from '../policy/verdict.ts'
import { propose, receive, type Proposal } from './receive.ts'
import { auditFault } from './required-audit.ts'
import { resolve } from './resolve.ts'
import { validate } from './validate.ts'

/**
 * One link of the chain that decides. `pass`: it has nothing against the call, and nothing for it. `change`: it put other arguments
 * in place, and what follows speaks of those. Hooks before the call are asked when it runs and not before: they are named, not heard.
 */
export interface ExplainedStep {
  readonly stage: DecidingStage | 'before-hooks'
  readonly action: RuleAction | 'pass' | 'change'
  readonly source: string
  readonly reason: string
}

/** What would become of a call, and why. */
export interface Explanation {
  readonly tool: string
  readonly origin: OutcomeOrigin | null
  /** ask: a person would be asked, now. */
  readonly decision: RuleAction
  /** For a deny: the code the call would end with. */
  readonly code?: ErrorCode
  /** What an approval would stand for; null where it did not come that far. */
  readonly approvalKey: string | null
  /** The approvals that let it through, where some do. */
  readonly approvals: readonly Approval[]
  /** What would run, where somebody has changed the arguments. */
  readonly arguments?: JsonObject
  readonly chain: readonly ExplainedStep[]
  /** What would change the answer, each a thing to do. Empty for a call that is allowed. */
  readonly remedies: readonly string[]
}

/**
 * Takes a call through the very stages that decide, and stops before anyone is asked. Watchdogs, guards and, where the key is
 * theirs to derive, the tool itself are consulted as for a call. Contract: never rejects; nothing runs and nothing is kept.
 */
export async function explainCall(proposal: Proposal, host: HostContext): Promise<Explanation> {
  const raw = propose(proposal, host.clock)
  const chain: ExplainedStep[] = []
  const pass = (stage: DecidingStage, source: string, reason: string) => chain.push({ stage, action: 'pass', source, reason })
  const refused = (stage: DecidingStage, { code, message }: BulkheadError): Explanation => {
    chain.push({ stage, action: 'deny', source: code, reason: message })
    return conclude(raw, { decision: 'deny', code, approvalKey: null, approvals: [], chain, remedies: remedies(stage, code) })
  }
  let stage: DecidingStage = 'receive'
  try {
    raw.throwIfCancelled()
    const received = receive(raw)
    if (received instanceof Refusal) return refused(stage, received.error)
    stage = 'resolve'
    const resolved = resolve(received)
    if (resolved instanceof Refusal) return refused(stage, resolved.error)
    const { origin: { layer, extension, version } } = resolved.tool
    pass(stage, 'registry', `"${resolved.name}" is the one of ${extension} ${version} in the ${layer} layer`)
    stage = 'validate'
    const validated = validate(resolved)
    if (validated instanceof Refusal) return refused(stage, validated.error)
    pass(stage, 'input schema', 'the arguments satisfy it')
    stage = 'approval'
    return explainRuling(validated, await ruleInRounds(validated, host), chain, host)
  } catch (thrown) {
    return refused(stage, BulkheadError.from(thrown))
  } finally {
    raw.release?.()
  }
}

function explainRuling(call: ValidatedCall, ruling: SettledRuling, chain: ExplainedStep[], host: HostContext): Explanation {
  const now = host.clock.now()
  const { verdicts, verdict, meaning: { approvalKey, keyByTool }, changes = [] } = ruling
  const final = verdict.action === 'ask' && call.session.interactions.isHeadless ? headless() : verdict
  const approvals = (ruling.approvals ?? []).map((approval) => approval.view(now))
  chain.push(...narrowedStep(call))
  chain.push(...changes.map(({ stage, source, reason }): ExplainedStep => ({ stage, action: 'change', source, reason })))
  chain.push(...verdicts.map(stepOf))
  if (verdict.action === 'ask') chain.push(...lostApprovals(call, ruling, now))
  if (approvals.length > 0) chain.push(...approvals.map((approval) => ({ ...stepOf(final), reason: standingWords(approval, now) })))
  else if (!verdicts.includes(final)) chain.push(stepOf(final))
  const { action: decision, code } = final
  const fault = decision === 'deny' ? undefined : auditFault(host)
  if (fault) {
    chain.push({ stage: 'audit', action: 'deny', source: 'audit', reason: fault.message })
    // A person would be asked all the same: the audit is looked at when the call is about to run.
    const { code: refusal } = fault
    if (decision === 'allow') {
      return conclude(call, { decision: 'deny', code: refusal, approvalKey, approvals, chain, remedies: remedies('audit', refusal) })
    }
  }
  if (decision !== 'deny') chain.push(...stillToCome(call))
  // A rule answers what the mode asks. What a tool that acts on this machine asks, no rule does.
  const answeredByRule = verdicts.every(({ action, stage }) => action !== 'ask' || stage === 'security-mode')
  const hints = decision === 'allow' ? [] : [...new Set([final, ...verdicts]
    .filter(({ action }) => action === decision || (final.source === 'headless' && action === 'ask'))
    .flatMap(({ stage, code: own, source }) => remedies(stage, own, { source, tool: call.tool.name, keyByTool, answeredByRule, approvalKey })))]
  const changed = changes.length === 0 ? {} : { arguments: call.args }
  return conclude(call, { decision, ...(decision === 'deny' ? { code } : {}), approvalKey, approvals, ...changed, chain, remedies: hints })
}

/** What ceilings leave of a tool, where they take something. */
function narrowedStep({ tool, session: { policy } }: ValidatedCall): readonly ExplainedStep[] {
  const { power } = policy.standing(tool)
  const [asked, left] = [describePower(tool.declared), describePower(power)]
  if (asked.join('\n') === left.join('\n')) return []
  const reason = `under the ceiling it may ${left.length === 0 ? 'do nothing' : left.join('; ')}`
  return [{ stage: 'capability', action: 'pass', source: 'ceiling', reason }]
}

function stillToCome({ session: { hooks } }: ValidatedCall): readonly ExplainedStep[] {
  const count = hooks.all.filter(({ beforeToolExecution }) => beforeToolExecution !== undefined).length
  if (count === 0) return []
  const reason = `${count === 1 ? 'one is' : `${count} are`} asked when the call is about to run, and may still veto it`
  return [{ stage: 'before-hooks', action: 'pass', source: 'beforeToolExecution', reason }]
}

/** Why it asks although it need not have once. */
function lostApprovals(call: ValidatedCall, { meaning }: SettledRuling, now: number): readonly ExplainedStep[] {
  const { approvals } = call.session
  const reasons = [
    ...approvals.former(call, meaning).map((approval) => endedWords(approval.view(now), now)),
    ...approvals.ofOthers(call, meaning).map((approval) => changedWords(approval, call)),
  ]
  return reasons.map((reason) => ({ stage: 'approval', action: 'pass', source: 'approval', reason }))
}

const stepOf = ({ stage, action, source, reason }: Verdict): ExplainedStep => ({ stage, action, source, reason })

const conclude = (call: RawCall, rest: Omit<Explanation, 'tool' | 'origin'>): Explanation =>
  ({ tool: call.name, origin: call.tool?.origin ?? null, ...rest })
