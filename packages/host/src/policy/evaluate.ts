import {
  allowsNeed, beyond, CALL_LIMITS, powerItems, powerPhrases, PROGRAM_TOOL, SUBAGENTS, type CallNeed, type Power,
  type PowerItem,
} from '@bulkhead/contract'
import type { KeptApproval } from './approvals/kept-approval.ts'
import { analyzeCall, deriveKey } from './call-analysis.ts'
import { withClaims } from './claims.ts'
import { withWall } from './command-walls.ts'
import type { EvaluatedCall, HostContext, ValidatedCall } from './call.ts'
import type { Decision, MadeChange } from './decision.ts'
import { analysisByKey, type CallAnalysis } from './model/checked-call.ts'
import type { ArgumentsChange, Opinion } from './guards.ts'
import type { Evaluation } from './policies.ts'
import { filesLentTo } from './lent-files.ts'
import { keepsForModel } from './session-memory.ts'
import type { SessionPolicy } from './session-policy.ts'
import { ignoredPath, judgeCommands } from './use-rules.ts'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { Attempts } from '../model/call-run.ts'
import { allow, approve, ceilingVerdict, deny, grantVerdict, strictest, type Verdict } from './model/verdict.ts'

/** A call with other arguments. */
export interface Changed {
  readonly call: ValidatedCall
  readonly change: MadeChange
}

/** Makes a change that a policy wants. Returns the verdict that denies the call if the change cannot be made. */
type MakeChange = (change: ArgumentsChange, call: ValidatedCall, changesBefore: number) => Changed | Verdict

/**
 * Evaluates the call under every policy. A policy that changes the arguments starts the evaluation again, so a change
 * can lead to a deny but not past one. Asks no one and changes nothing, so `explain` can share it. `known`: the analysis
 * of an earlier evaluation of the same call.
 */
export async function evaluate(
  validated: ValidatedCall, attempts: Attempts, host: HostContext, makeChange: MakeChange, known?: CallAnalysis,
): Promise<EvaluatedCall> {
  const { tool, session: { policy } } = validated
  const changes: MadeChange[] = []
  let call = validated
  const { denied, lost } = policy.forTool(tool)
  const refused = (lost && !isReadByHost(tool, host) ? lost : undefined) ?? denied ?? beyondParent(call)
  if (refused) return { call, evaluation: final(refused, analysisByKey(tool.name)), changes }
  for (;;) {
    const found = known ?? (needsKey(call, host)
      ? analyzeCall(call, host) ?? await deriveKey(call, attempts, host.clock) : analysisByKey(tool.name))
    const claimed = known ?? withClaims(found, call, host)
    const analysis = claimed.command && !known ? await withWall(claimed, call, host) : claimed
    const excess = beyondGrant(call, analysis, host)
    if (excess) return { call, evaluation: final(excess, analysis), changes }
    const ignored = ignoredPath(call, analysis, host)
    if (ignored) return { call, evaluation: final(ignored, analysis), changes }

    const evaluation: Evaluation =
      { call, analysis, verdicts: [...analysis.verdicts], clock: host.clock, ruled: 'no' }
    let change: ArgumentsChange | undefined
    for (const each of policy.policies) {
      if (change || isDenied(evaluation)) break
      change =
        addOpinion(evaluation, each.kind === 'built-in' ? each.evaluate(evaluation) : await each.evaluate(evaluation))
    }
    if (change === undefined) {
      if ((analysis.command || analysis.startsBehind) && !isDenied(evaluation)) {
        addOpinion(evaluation, await judgeCommands(call, analysis, evaluation.verdicts, host))
      }
      const decision = conclude(evaluation, call)
      const needsFresh = 'approvals' in decision && await call.session.approvals.isStale(decision.approvals)
      if (!needsFresh) return { call, evaluation: decision, changes }
      await call.session.approvals.refresh()
      return { call, evaluation: conclude(evaluation, call), changes }
    }
    const made = makeChange(change, call, changes.length)
    if ('action' in made) {
      const verdicts = [...evaluation.verdicts, made]
      return { call, evaluation: { ...final(made, analysis), verdicts }, changes }
    }
    call = made.call
    attempts.allow(call.timeMs)
    changes.push(made.change)
  }
}

/** Kinds of tools of which every call needs what the tool declares. A command may need less. */
const NEED_ALL: ReadonlySet<string> = new Set(['read', 'search', 'edit', 'fetch'])

/** Why every call of a tool is denied, whatever its arguments. undefined if one may be allowed. */
export function deniedAlways(
  tool: ToolEntry | undefined, policy: SessionPolicy, host: HostContext,
): Verdict | undefined {
  if (tool === undefined) return undefined
  const { denied, lost } = policy.forTool(tool)
  const isLost = lost !== undefined && (NEED_ALL.has(tool.definition.kind) || !isReadByHost(tool, host))
  return isLost ? lost : denied ?? policy.lineage.map((each) => each.rules.denying(tool)).find((verdict) => verdict)
}

const final = (verdict: Verdict, analysis: CallAnalysis): Decision =>
  ({ verdicts: [verdict], verdict, analysis, asks: [], answerable: false })

const isDenied = ({ verdicts }: Evaluation): boolean => verdicts.some(({ action }) => action === 'deny')

/** Returns the change if the policy wants other arguments. */
function addOpinion({ verdicts }: Evaluation, opinion: Opinion | undefined): ArgumentsChange | undefined {
  if (opinion === undefined) return undefined
  if ('args' in opinion) return opinion
  verdicts.push(opinion)
  return undefined
}

/** What follows from the verdicts, the mode and earlier approvals. */
function conclude({ analysis: found, verdicts }: Evaluation, call: ValidatedCall): Decision {
  const verdict = strictest(verdicts) ?? (found.onlyReads === true ? ONLY_READS : NO_OBJECTION)
  if (verdict.action !== 'ask') return { verdicts, verdict, analysis: found, asks: [], answerable: false }
  const all = verdicts.filter(({ action }) => action === 'ask')
  // No earlier answer covers a tool that the stage does not list.
  const isStaged = all.some(({ permit }) => permit)
  const answer = isStaged ? undefined : answerByMode(call, found, all)
  const asks = answer ? all.filter((one) => !answer.answers(one)) : all
  const [first] = asks
  if (first === undefined) return { verdicts, verdict: answer!.verdict, analysis: found, asks, answerable: true }
  const questions = asks.length === 1 ? first.questions ?? []
    : [...new Set(asks.flatMap(({ questions: own = [] }) => own))]
  const analysis: CallAnalysis = { ...found, questions }
  const answerable = asks.every(({ questions: own }) => own !== undefined)
  if (isStaged || !answerable) return { verdicts, verdict: first, analysis, asks, answerable }
  return { verdicts, analysis, asks, answerable, ...answered(call, analysis, first) }
}

/** The part of a decision that rests on approvals. */
function answered(
  call: ValidatedCall, analysis: CallAnalysis, ask: Verdict,
): Pick<Decision, 'verdict' | 'approvals' | 'revision'> {
  const approvals = call.session.approvals.answering(call, analysis)
  if (approvals === undefined) return { verdict: ask, approvals }
  const revision = call.session.approvals.revisionOf(approvals)
  return { verdict: approvals[0]?.verdict ?? ask, approvals, revision }
}

/** The decision on the approvals as they are now. */
export const withFreshApprovals = (decision: Decision, call: ValidatedCall): Decision =>
  ({ ...decision, revision: undefined, ...answered(call, decision.analysis, decision.asks[0] ?? decision.verdict) })

/** The approvals that answer a call: one for the whole, or one for each subject. */
export async function findApprovals(
  call: ValidatedCall, analysis: CallAnalysis,
): Promise<readonly KeptApproval[] | undefined> {
  const { approvals } = call.session
  const known = approvals.answering(call, analysis)
  if (!await approvals.isStale(known)) return known
  await approvals.refresh()
  return approvals.answering(call, analysis)
}

const ONLY_READS = allow('rules', 'no rule', 'it only reads inside the workspace, and nothing else asks')
const NO_OBJECTION = allow('rules', 'no rule', 'this tool requires no approval, and nothing else asks')

interface ModeAnswer {
  readonly verdict: Verdict
  answers(ask: Verdict): boolean
}

/** Modes answer their own questions. What a rule, watchdog or guard asks stays a question. */
function answerByMode(
  { tool, session: { policy } }: ValidatedCall, analysis: CallAnalysis, asks: readonly Verdict[],
): ModeAnswer | undefined {
  if (policy.isModeOfProject && asks.some(({ isWritten }) => isWritten)) return undefined
  if (policy.mode === 'yolo' || policy.mode === 'learn') {
    return { verdict: policy.mode === 'yolo' ? YOLO : LEARN, answers: ({ ofMode }) => ofMode === true }
  }
  if (!policy.allowlisted(tool, analysis)) return undefined
  return { verdict: LISTED, answers: ({ ofMode, questions }) => ofMode === true && questions !== undefined }
}

const YOLO = allow('approval', 'mode yolo', 'this mode skips its own questions')
const LEARN = allow('approval', 'mode learn', 'a policy is learned, so no mode asks')
const LISTED = approve('approval', 'allowlist', 'the key is on the allowlist')

/** Whether the host itself reads from the arguments what a call needs. Of a program it reads only which tools it names. */
const isReadByHost = ({ name, origin }: ToolEntry, { argumentsReaders }: HostContext): boolean =>
  origin.layer === 'bundled' && argumentsReaders.has(name) && name !== PROGRAM_TOOL

/** A call that is known to need more than its tool may do is denied before watchdogs, people and budgets see it. */
function beyondGrant(
  call: ValidatedCall, { needs = [], command }: CallAnalysis, { realPath, sidecar }: HostContext,
): Verdict | undefined {
  if (needs.length === 0) return undefined
  const { tool, session: { policy } } = call
  const { declared, configured, ceilings } = policy.forTool(tool)
  for (const { source, power } of ceilings) {
    const more = needs.filter((need) => !mayAllow(power, need, realPath))
    if (more.length === 0) continue
    const { addition, ...verdict } = ceilingVerdict(more, source)
    // A wider ceiling does not help a tool that may not do it anyway.
    const isEnough = addition !== undefined && more.every((need) => mayAllow(declared, need, realPath))
    return isEnough ? { ...verdict, addition } : verdict
  }
  const lent = filesLentTo(call, tool.extension.descriptor, sidecar)
  // The hosts of a command are those that its wall lets through.
  const isAllowedElsewhere = ({ kind, subject }: CallNeed): boolean =>
    (command !== undefined && kind === 'net') || (kind === 'fs.read' && lent.has(subject))
  const more = needs.filter((need) => !isAllowedElsewhere(need) && !mayAllow(configured, need, realPath))
  return more.length === 0 || isOwnCode(tool) ? undefined : grantVerdict(more, tool)
}

/** Code of the embedder that declares nothing does what it does without a grant. */
const isOwnCode = ({ extension: { descriptor: { code } }, declared }: ToolEntry): boolean =>
  code.kind === 'module' && powerItems(declared).length === 0

/** A path that leads elsewhere by links is allowed where it leads. What is not known is left to the broker. */
function mayAllow(power: Power, need: CallNeed, realPath: HostContext['realPath']): boolean {
  if (allowsNeed(power, need)) return true
  if (realPath === undefined || (need.kind !== 'fs.read' && need.kind !== 'fs.write')) return false
  try {
    return allowsNeed(power, { ...need, subject: realPath(need.subject) })
  } catch {
    return true
  }
}

const HAND_BACK = 'Hand it back for the model to call.'

/**
 * A tool cannot gain power by calling another: the called tool may reach nothing that the caller may not, and nothing
 * that belongs to the session.
 */
function beyondParent({ tool, parent, session: { policy } }: ValidatedCall): Verdict | undefined {
  if (!parent || parent.isProgram) return undefined
  const { tool: caller, callers } = parent
  const { subagentDepth } = CALL_LIMITS
  const refused = (source: string, reason: string, cure: string): Verdict =>
    ({ ...deny('capability', 'CapabilityDenied', source, reason), cure })
  if (callers.length > subagentDepth) {
    const reason =
      `tools call each other ${subagentDepth} deep at most, and "${caller.name}", which calls it, is that deep`
    return refused('depth', reason, 'Do the rest in the tool itself, or hand it back for the model to call.')
  }
  if (keepsForModel(tool.extension.descriptor)) {
    const reason = `what it keeps belongs to the session, and "${caller.name}" makes the call`
    return refused('session', reason, HAND_BACK)
  }
  const more = beyond(policy.forTool(tool).power, policy.forTool(caller).power)
  if (more.length === 0) return undefined
  const reason = `"${caller.name}", which calls it, may not ${powerPhrases(more, 'may').join('; ')}`
  const cure = more.some(isOfOneTool) ? HAND_BACK
    : `Declare it in \`requires\` of "${caller.name}", or call a tool that can do less.`
  return refused(`powers of ${caller.name}`, reason, cure)
}

/** The declaration of another tool cannot grant it. */
const isOfOneTool = ({ kind, subject }: PowerItem): boolean => kind === 'state' || subject === SUBAGENTS

/** Deriving a key can start a compartment: it is derived only if something looks at it. */
function needsKey(call: ValidatedCall, host: HostContext): boolean {
  const { tool, session: { policy } } = call
  const { floor } = policy.forTool(tool)
  if (tool.definition.gated || floor) return true
  if (isReadByHost(tool, host) || tool.claims.length > 0) return true
  return policy.lineage.some(({ rules, watchdogs }) => rules.all.length > 0 || watchdogs.length > 0)
}
