import {
  ANY_COMMAND, BulkheadError, powerItems, powerPhrases, type ApprovalRequest, type CommandVariable,
  type CommandWall, type ErrorCode, type OutcomeOrigin, type Rule, type RuleAction,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import {
  changedWords, endedWords, identityOf, identityOfCalled, otherQuestionWords, approvedWords, switchedOffWords,
  type Approval,
} from '../policy/approvals/approval.ts'
import { CallRun } from '../model/call-run.ts'
import {
  callOf, ResolvedCall, ValidatedCall, type Call, type DecidedCall, type HostContext, type StageRecord,
} from '../policy/call.ts'
import { asOfUser, smallestChange, withRules, type SmallestChange } from '../policy/smallest-change.ts'
import { laterRules, type LaterRule } from '../policy/use-rules.ts'
import { headless, type Verdict } from '../policy/model/verdict.ts'
import { explainPlace, type ExplainedPlace } from './call-place.ts'
import { questionOf } from './approval-request.ts'
import { decide, evaluateCall, refreshBudget } from './decide.ts'
import { programTools, type ProgramTool } from './explain-program.ts'
import { frozenVerdict } from './gate.ts'
import { check, take } from './pipeline.ts'
import { propose, type Proposal } from './receive.ts'
import { changeWords, remedies, type DecidingStage } from './remedies.ts'
import { unrecordedCommands } from './unrecorded-commands.ts'

/**
 * One step of the decision. `pass`: the step neither objects nor allows. `change`: it changed the arguments, and later
 * steps see the new ones. Before-hooks run only with the call, so they are listed but not run.
 */
export interface ExplainedStep {
  readonly stage: DecidingStage | 'before-hooks'
  readonly action: RuleAction | 'pass' | 'change'
  readonly source: string
  readonly reason: string
  /** For rules: the names of all that lead to this action, with the place of each. */
  readonly rules?: readonly string[]
}

/** Whether a call would be allowed, and why. */
export interface Explanation {
  readonly tool: string
  readonly origin: OutcomeOrigin | null
  /** ask: a person would be asked, now. */
  readonly decision: RuleAction
  /** For a deny: the code that the call would end with. */
  readonly code?: ErrorCode
  /** For an ask: the question, as a person would get it. */
  readonly question?: ApprovalRequest
  /** The key that an approval would cover; null if the decision ended before it was known. */
  readonly approvalKey: string | null
  /** The approvals that allow the call. */
  readonly approvals: readonly Approval[]
  /** The arguments that would run, if a policy changed them. */
  readonly arguments?: JsonObject
  readonly chain: readonly ExplainedStep[]
  /** For `code_mode`: the most that the program can do. Each of its calls is decided when it makes the call. */
  readonly program?: readonly ProgramTool[]
  /** For a tool that runs commands: the wall around them. */
  readonly wall?: CommandWall
  /** For a tool that may run any command: the environment variables of its commands. */
  readonly environment?: readonly CommandVariable[]
  /** Why undo could not put back what commands of the call change. Absent if it could, or if there are none. */
  readonly notRecorded?: string
  /** Where it would run instead of on this machine: the workers that would serve it, and why others would not. */
  readonly runsOn?: ExplainedPlace
  /** The rules that may deny what the call uses while it runs, or ask about it. Absent if there are none. */
  readonly later?: readonly LaterRule[]
  /**
   * The least change of rules that would allow the call without a question. Absent for a call that is allowed, and if no
   * rule of the user or the project can do that.
   */
  readonly change?: SmallestChange
  /** What would change the answer, each a thing to do. Empty for a call that is allowed. */
  readonly remedies: readonly string[]
}

/**
 * The steps of `runCall` up to the decision. Watchdogs, guards and, if it derives the key, the tool are consulted as
 * for a call. `added`: as if the user had these rules, too. Never rejects; nothing runs and nothing is stored.
 */
export async function explainCall(proposal: Proposal, host: HostContext, added: readonly Rule[] = []): Promise<Explanation> {
  const run = new CallRun<StageRecord>(propose(proposal, host.clock))
  try {
    const checked = check(run, take(run))
    const validated = added.length === 0 ? checked : run.reach(withRules(checked, { add: added.map(asOfUser), remove: new Set() }))
    await validated.session.approvals.refreshIfStale()
    const evaluated = await evaluateCall(validated, run.attempts, host)
    await refreshBudget(evaluated)
    const freeze = await host.seat.frozen()
    const refused = freeze && frozenVerdict(freeze, validated.tool.name)
    return await explainDecision(decide(evaluated, host, refused), host)
  } catch (thrown) {
    return explainRefusal(run.reached, BulkheadError.from(thrown))
  } finally {
    run.end()
  }
}

/** The call was refused before the policies were evaluated, or could not be evaluated. */
function explainRefusal(reached: StageRecord, { code, message }: BulkheadError): Explanation {
  const call = callOf(reached)
  const stage = stageAfter(reached)
  const chain: readonly ExplainedStep[] =
    [...checkedSteps(call), { stage, action: 'deny', source: code, reason: message }]
  return conclude(
    call, { decision: 'deny', code, approvalKey: null, approvals: [], chain, remedies: remedies(stage, code) },
  )
}

function stageAfter(reached: StageRecord): DecidingStage {
  const call = callOf(reached)
  if (call instanceof ValidatedCall) return 'approval'
  if (call instanceof ResolvedCall) return 'validate'
  return 'timeoutMs' in reached ? 'resolve' : 'receive'
}

function checkedSteps(call: Call): readonly ExplainedStep[] {
  if (!(call instanceof ResolvedCall)) return []
  const { name, tool: { origin: { layer, extension, version } } } = call
  const found = `"${name}" is the tool of ${extension} ${version} in the ${layer} layer`
  return [
    { stage: 'resolve', action: 'pass', source: 'registry', reason: found },
    ...(call instanceof ValidatedCall ? [
      { stage: 'validate', action: 'pass', source: 'input schema', reason: 'the arguments satisfy it' } as const,
    ] : []),
  ]
}

/** A command that is simple enough to need no wall, where none stands. */
const OPEN: CommandWall = { wall: 'open' }

const withKey = (variable: CommandVariable, { keys = [] }: CommandWall): CommandVariable =>
  variable.key ? { ...variable, key: { ...variable.key, given: keys.includes(variable.name) } } : variable

async function explainDecision(decided: DecidedCall, host: HostContext): Promise<Explanation> {
  const now = host.clock.now()
  const { call, changes, decision: { verdicts, verdict, asks, answerable, analysis, approvals: found = [] } } = decided
  const { approvalKey, keyByTool, command, wall = OPEN } = analysis
  const final = verdict.action === 'ask' && call.session.interactions.isHeadless ? headless() : verdict
  const { action: decision, code } = final
  const approvals = found.map((approval) => approval.view(now))
  const program = programTools(call, host)
  const environment = call.tool.grant.shell.some(({ cmd }) => cmd === ANY_COMMAND)
    ? host.commandVariables?.map((variable) => withKey(variable, wall)) : undefined
  const question = decision === 'ask' ? await questionOf(decided, host).whole() : undefined
  const notRecorded = decision === 'deny' ? undefined : await unrecordedCommands(call, analysis, host)
  const later = decision === 'deny' ? [] : laterRules(call, analysis, host)
  const runsOn = decision === 'deny' ? undefined : await explainPlace(call, analysis, host.workersFor)
  const chain: ExplainedStep[] = [
    ...checkedSteps(call),
    ...narrowedStep(call),
    ...changes.map(({ stage, source, reason }): ExplainedStep => ({ stage, action: 'change', source, reason })),
    ...verdicts.map(stepOf),
    ...(verdict.action === 'ask' ? lostApprovals(decided, now) : []),
    ...approvals.map((approval) => ({ ...stepOf(final), reason: approvedWords(approval, now) })),
    ...(approvals.length === 0 && !verdicts.includes(final) ? [stepOf(final)] : []),
    ...later.map(laterStep),
    ...(decision === 'deny' ? [] : pendingHooks(call)),
  ]
  const deciding = [final, ...verdicts]
    .filter(({ action }) => action === decision || (final.source === 'headless' && action === 'ask'))
  const change = decision === 'allow' ? undefined : await smallestChange(decided, host)
  const hints = decision === 'allow' ? [] : deciding.flatMap(({ stage, code: own, source, cure, addition }) =>
    remedies(stage, own, {
      source, cure, addition, tool: call.tool.name, approvalKey,
      forProject: !keyByTool && call.session.approvals.forProject, asksAnyway: asks.length > 0 && !answerable,
    }))
  return conclude(call, {
    decision, ...(decision === 'deny' ? { code } : {}), ...(question && { question }), approvalKey, approvals,
    ...(changes.length === 0 ? {} : { arguments: call.args }), ...(program && { program }),
    ...(command && { wall }), ...(environment && { environment }), ...(notRecorded !== undefined && { notRecorded }), ...(later.length > 0 && { later }),
    ...(runsOn && { runsOn }), chain,
    ...(change && { change }), remedies: [...new Set([...hints, ...(change ? changeWords(change) : [])])],
  })
}

/** The power that the ceilings leave to a tool, if they remove some. */
function narrowedStep({ tool, session: { policy } }: ValidatedCall): readonly ExplainedStep[] {
  const { declared, power } = policy.forTool(tool)
  const asked = powerPhrases(powerItems(declared), 'may')
  const left = powerPhrases(powerItems(power), 'may')
  if (asked.join('\n') === left.join('\n')) return []
  const reason = `under the ceiling it may ${left.length === 0 ? 'do nothing' : left.join('; ')}`
  return [{ stage: 'capability', action: 'pass', source: 'ceiling', reason }]
}

const laterStep = ({ action, rule }: LaterRule): ExplainedStep => {
  const reason = action === 'deny' ? `${rule} may deny a use while the call runs`
    : `${rule} may ask about a use while the call runs`
  return { stage: 'rules', action: 'pass', source: rule, reason }
}

function pendingHooks({ session: { hooks } }: ValidatedCall): readonly ExplainedStep[] {
  const count = hooks.all.filter(({ beforeToolExecution }) => beforeToolExecution !== undefined).length
  if (count === 0) return []
  const reason = `${count === 1 ? 'one hook runs' : `${count} hooks run`} before the tool, and may veto the call`
  return [{ stage: 'before-hooks', action: 'pass', source: 'beforeToolExecution', reason }]
}

/** Why it asks although it was approved once. */
function lostApprovals({ call, decision: { analysis } }: DecidedCall, now: number): readonly ExplainedStep[] {
  const { approvals } = call.session
  const reasons = [
    ...approvals.former(call, analysis).map((approval) => endedWords(approval.view(now), now)),
    ...approvals.switchedOff(call, analysis).map(switchedOffWords),
    ...approvals.ofOthers(call, analysis).map((approval) =>
      identityOf(approval) === identityOfCalled(call, call.session.principal?.id)
        ? otherQuestionWords(approval) : changedWords(approval, call)),
  ]
  return reasons.map((reason) => ({ stage: 'approval', action: 'pass', source: 'approval', reason }))
}

const stepOf = ({ stage, action, source, reason, rules }: Verdict): ExplainedStep =>
  ({ stage, action, source, reason, ...(rules && { rules }) })

const conclude = (call: Call, rest: Omit<Explanation, 'tool' | 'origin'>): Explanation =>
  ({ tool: call.name, origin: call instanceof ResolvedCall ? call.tool.origin : null, ...rest })
