import { allowsNeed, beyond, CALL_LIMITS, SUBAGENTS, type PowerItem } from '@bulkhead/contract'
import type { KeptApproval } from './approvals/kept-approval.ts'
import { analyzeCall } from './call-analysis.ts'
import type { ValidatedCall } from './call.ts'
import { analysisByKey, type CallAnalysis, type Decision } from './checked-call.ts'
import { inWords } from './describe-power.ts'
import type { ArgumentsChange } from './guards.ts'
import type { HostContext } from './host-context.ts'
import { evaluatePolicies } from './policies.ts'
import { allow, ceilingVerdict, deny, strictest, type Verdict } from './verdict.ts'

/** What the policies say about the arguments as they are now. `change`: one of them wants other arguments. */
export interface Evaluated extends Decision {
  readonly change?: ArgumentsChange
}

/** Evaluates one call under every policy. Asks no one and stores nothing, so `explain` can share it. */
export async function evaluate(call: ValidatedCall, host: HostContext): Promise<Evaluated> {
  const { tool, session: { policy } } = call
  const { denied, lost } = policy.standing(tool)
  const refused = (lost && !isReadByHost(call, host) ? lost : undefined) ?? denied ?? beyondParent(call)
  if (refused) return final(refused, analysisByKey(tool.name))
  const analysis = needsKey(call, host) ? await analyzeCall(call, host) : analysisByKey(tool.name)
  const excess = beyondCeiling(call, analysis)
  if (excess) return final(excess, analysis)

  const verdicts = [...analysis.verdicts]
  const change = await evaluatePolicies({ call, analysis, verdicts, clock: host.clock, ruled: undefined }, policy.policies)
  const verdict = strictest(verdicts) ?? (analysis.onlyReads ? ONLY_READS : NO_OBJECTION)
  if (change) return { verdicts, verdict, analysis, answerable: false, change }
  if (verdict.action !== 'ask') return { verdicts, verdict, analysis, answerable: false }

  const asks = verdicts.filter(({ action }) => action === 'ask')
  const answerable = asks.every(({ answeredByApproval }) => answeredByApproval)
  // No earlier answer covers a tool that the stage does not list.
  if (asks.some(({ permit }) => permit)) return { verdicts, verdict, analysis, answerable }
  const answer = answerByMode(call, analysis, answerable)
  if (answer) return { verdicts, verdict: answer, analysis, answerable }
  const approvals = answerable ? await findApprovals(call, analysis) : undefined
  return { verdicts, verdict: approvals?.[0]?.verdict ?? verdict, analysis, answerable, approvals }
}

const final = (verdict: Verdict, analysis: CallAnalysis): Evaluated =>
  ({ verdicts: [verdict], verdict, analysis, answerable: false })

/** The approvals that answer a call: one for the whole, or one for each subject. Reads them again if another process changed them. */
export async function findApprovals(call: ValidatedCall, analysis: CallAnalysis): Promise<readonly KeptApproval[] | undefined> {
  const { approvals } = call.session
  const known = approvals.answering(call, analysis)
  if (!approvals.isStale(known)) return known
  await approvals.refresh()
  return approvals.answering(call, analysis)
}

const ONLY_READS = allow('rules', 'no rule', 'it only reads inside the workspace, and nothing else asks')
const NO_OBJECTION = allow('rules', 'no rule', 'this tool requires no approval, and nothing else asks')

function answerByMode({ tool, session: { policy } }: ValidatedCall, { subjects }: CallAnalysis, answerable: boolean): Verdict | undefined {
  if (policy.mode === 'yolo') return allow('approval', 'mode yolo', 'this mode allows every call that would ask')
  const isListed = answerable && policy.allowlisted(tool, subjects)
  return isListed ? allow('approval', 'allowlist', 'the key is on the allowlist') : undefined
}

/** Whether the host itself reads from the arguments what a call needs. */
const isReadByHost = ({ tool: { name, origin } }: ValidatedCall, { argumentsReaders }: HostContext): boolean =>
  origin.layer === 'bundled' && argumentsReaders.has(name)

/** Under a ceiling, a call that is known to need more is denied before a person is asked. */
function beyondCeiling({ tool, session: { policy } }: ValidatedCall, { needs = [] }: CallAnalysis): Verdict | undefined {
  const { power } = policy.standing(tool)
  if (power.ceilings === undefined) return undefined
  const more = needs.filter((need) => !allowsNeed(power, need))
  return more.length === 0 ? undefined : ceilingVerdict(more.map(inWords), more.every((need) => allowsNeed(tool.grant, need)))
}

/** A tool cannot gain power by calling another: the called tool may reach nothing that the caller may not. */
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

/** The declaration of another tool cannot grant it. */
const isOfOneTool = ({ kind, subject }: PowerItem): boolean => kind === 'state' || subject === SUBAGENTS

/** Deriving a key can start a compartment: it is derived only if something looks at it. */
function needsKey(call: ValidatedCall, host: HostContext): boolean {
  const { tool, session: { policy } } = call
  const { floor, power } = policy.standing(tool)
  if (tool.definition.gated || floor || (power.ceilings !== undefined && isReadByHost(call, host))) return true
  return policy.lineage.some(({ rules, watchdogs }) => rules.length > 0 || watchdogs.length > 0)
}
