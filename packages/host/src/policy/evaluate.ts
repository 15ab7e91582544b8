import { allowsNeed, beyond, CALL_LIMITS, SUBAGENTS, type PowerItem } from '@bulkhead/contract'
import type { KeptApproval } from './approvals/kept-approval.ts'
import type { ValidatedCall } from './call.ts'
import type { HostContext } from './host-context.ts'
import { estimateTokens } from '../model/budget.ts'
import { meaningOf } from './call-analysis.ts'
import { meaningByKey, type CallMeaning } from './call-view.ts'
import { inWords } from './describe-power.ts'
import { judge, type Judgement } from './judgement.ts'
import type { ArgumentsChange } from './consult.ts'
import { allow, ceilingVerdict, deny, strictest, type Verdict } from './verdict.ts'

/** What everything that speaks of a call comes to, before a person is asked. */
export interface Ruling {
  /** All that was said, in order. */
  readonly verdicts: readonly Verdict[]
  /** The one that decides. An `ask` is left only where nothing but a person's fresh word answers it. */
  readonly verdict: Verdict
  readonly meaning: CallMeaning
  /** For an ask: whether an approval answers it. */
  readonly answerable: boolean
  /** Those that did. */
  readonly approvals?: readonly KeptApproval[] | undefined
  /** Set where it is not over: somebody wants other arguments, on which everybody must be heard. */
  readonly change?: ArgumentsChange
}

/** Asks nobody and remembers nothing, so that the same ruling can be carried out and be explained. At once where it can be. */
export function rule(call: ValidatedCall, host: HostContext): Ruling | Promise<Ruling> {
  const { tool, session: { policy } } = call
  const { denied: forbidden, lost } = policy.standing(tool)
  const denied = (lost && !isRead(call, host) ? lost : undefined) ?? forbidden ?? beyondParent(call)
  if (denied) return { verdicts: [denied], verdict: denied, meaning: meaningByKey(tool.name), answerable: false }
  const meaning = needsKey(call, host) ? meaningOf(call, host) : meaningByKey(tool.name)
  return meaning instanceof Promise ? meaning.then((known) => ruleOn(call, known, host)) : ruleOn(call, meaning, host)
}

function ruleOn(call: ValidatedCall, meaning: CallMeaning, { clock }: HostContext): Ruling | Promise<Ruling> {
  const refused = beyondCeiling(call, meaning)
  if (refused) return { verdicts: [refused], verdict: refused, meaning, answerable: false }
  const judgement = judge(call, meaning, clock)
  return judgement instanceof Promise ? judgement.then((said) => conclude(call, meaning, said)) : conclude(call, meaning, judgement)
}

function conclude(call: ValidatedCall, meaning: CallMeaning, { verdicts, change }: Judgement): Ruling | Promise<Ruling> {
  const verdict = strictest(verdicts) ?? (meaning.onlyReads ? READS : UNOPPOSED)
  if (change) return { verdicts, verdict, meaning, answerable: false, change }
  const spent = verdict.action === 'deny' ? undefined : checkBudget(call)
  if (spent) return { verdicts: [...verdicts, spent], verdict: spent, meaning, answerable: false }
  if (verdict.action !== 'ask') return { verdicts, verdict, meaning, answerable: false }
  const asks = verdicts.filter(({ action }) => action === 'ask')
  const answerable = asks.every(({ answeredByApproval }) => answeredByApproval)
  // What a stage does not list, nobody has answered before.
  if (asks.some(({ permit }) => permit)) return { verdicts, verdict, meaning, answerable }
  const answer = answerWithoutPerson(call, meaning, answerable)
  if (answer) return { verdicts, verdict: answer, meaning, answerable }
  const found = answerable ? approvedBefore(call, meaning) : undefined
  const ruling = (approvals: readonly KeptApproval[] | undefined): Ruling =>
    ({ verdicts, verdict: approvals?.[0]?.verdict ?? verdict, meaning, answerable, approvals })
  return found instanceof Promise ? found.then(ruling) : ruling(found)
}

/** A verdict, not a reservation: that is made when the call is about to run, and fails if the budget was spent meanwhile. */
function checkBudget({ scope: { budget }, argsChars }: ValidatedCall): Verdict | undefined {
  const error = budget.check(estimateTokens(argsChars))
  return error && { ...deny('budget', error.code, `budget.${error.data.limit}`, error.message), error }
}

/** What a person has approved of: the whole, or each thing it stands for. Others may have changed it meanwhile. */
export function approvedBefore(
  call: ValidatedCall, meaning: CallMeaning,
): readonly KeptApproval[] | undefined | Promise<readonly KeptApproval[] | undefined> {
  const { approvals } = call.session
  const known = approvals.answering(call, meaning)
  return approvals.isStale(known) ? approvals.refresh().then(() => approvals.answering(call, meaning)) : known
}

const READS = allow('rules', 'no rule', 'it only reads inside the workspace, and nothing else asks')
const UNOPPOSED = allow('rules', 'no rule', 'this tool needs nobody to agree, and nothing else asks')

function answerWithoutPerson(call: ValidatedCall, meaning: CallMeaning, answerable: boolean): Verdict | undefined {
  const { tool, session: { policy } } = call
  if (policy.mode === 'yolo') return allow('approval', 'mode yolo', 'in this mode nobody is asked: what would ask is allowed')
  const isListed = answerable && policy.allowlisted(tool, meaning.subjects)
  return isListed ? allow('approval', 'allowlist', 'the key is on the allowlist') : undefined
}

/** Whether the host itself tells from the arguments what a call needs. */
const isRead = ({ tool: { name, origin } }: ValidatedCall, { argumentsReaders }: HostContext): boolean =>
  origin.layer === 'bundled' && argumentsReaders.has(name)

/** Where a ceiling stands, a call that is known to need more is refused before anybody is asked. */
function beyondCeiling({ tool, session: { policy } }: ValidatedCall, { needs = [] }: CallMeaning): Verdict | undefined {
  const { power } = policy.standing(tool)
  if (power.ceilings === undefined) return undefined
  const more = needs.filter((need) => !allowsNeed(power, need))
  return more.length === 0 ? undefined : ceilingVerdict(more.map(inWords), more.every((need) => allowsNeed(tool.grant, need)))
}

/** A tool cannot gain power by calling another: what that one may reach must lie within its own. */
function beyondParent({ tool, parent, session: { policy } }: ValidatedCall): Verdict | undefined {
  if (!parent) return undefined
  const { tool: caller, callers } = parent
  const { subagentDepth } = CALL_LIMITS
  const refused = (source: string, reason: string, cure: string): Verdict =>
    ({ ...deny('capability', 'CapabilityDenied', source, reason), cure })
  if (callers.length > subagentDepth) {
    const reason = `tools call each other ${subagentDepth} deep at most, and "${caller.name}", which calls it, is that deep`
    return refused('depth', reason, 'Do the rest in the tool itself, or hand it back for the model to call.')
  }
  const more = beyond(policy.standing(tool).power, policy.standing(caller).power)
  if (more.length === 0) return undefined
  const reason = `"${caller.name}", which calls it, may not ${more.map(inWords).join('; ')}`
  return refused(`powers of ${caller.name}`, reason, more.some(isOfOneTool)
    ? 'Hand it back for the model to call.' : `Declare it in \`requires\` of "${caller.name}", or call a tool that can do less.`)
}

/** No declaration of another tool gives it. */
const isOfOneTool = ({ kind, subject }: PowerItem): boolean => kind === 'state' || subject === SUBAGENTS

/** A key that nobody would look at is not worth starting a compartment for. */
function needsKey(call: ValidatedCall, host: HostContext): boolean {
  const { tool, session: { policy } } = call
  const { floor, power } = policy.standing(tool)
  if (tool.definition.gated || floor || (power.ceilings !== undefined && isRead(call, host))) return true
  return policy.lineage.some(({ rules, watchdogs }) => rules.length > 0 || watchdogs.length > 0)
}
