import {
  ANY_COMMAND, BulkheadError, ERRORS, powerItems, powerPhrases, type ApprovalRequest, type CommandVariable,
  type CommandWall, type ErrorCode, type OutcomeOrigin, type RuleAction,
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
import { laterRules, type LaterRule } from '../policy/use-rules.ts'
import { headless, isOfAgent, isOfGrant, type DecisionStage, type Verdict } from '../policy/model/verdict.ts'
import { questionOf } from './approval-request.ts'
import { decide, evaluateCall, refreshBudget } from './decide.ts'
import { programTools, type ProgramTool } from './explain-program.ts'
import { frozenVerdict } from './gate.ts'
import { check, take } from './pipeline.ts'
import { propose, type Proposal } from './receive.ts'
import { unrecordedCommands } from './unrecorded-commands.ts'

export type DecidingStage = 'receive' | 'resolve' | 'validate' | DecisionStage

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
  /** The rules that may deny what the call uses while it runs, or ask about it. Absent if there are none. */
  readonly later?: readonly LaterRule[]
  /** What would change the answer, each a thing to do. Empty for a call that is allowed. */
  readonly remedies: readonly string[]
}

/**
 * The steps of `runCall` up to the decision. Watchdogs, guards and, if it derives the key, the tool are consulted as
 * for a call. Never rejects; nothing runs and nothing is stored.
 */
export async function explainCall(proposal: Proposal, host: HostContext): Promise<Explanation> {
  const run = new CallRun<StageRecord>(propose(proposal, host.clock))
  try {
    const validated = check(run, take(run))
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
  const { call, changes, decision: { verdicts, verdict, analysis, approvals: found = [] } } = decided
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
  // A rule that allows answers what a mode asks, and nothing else.
  const answeredByRule = verdicts.every(({ action, stage }) =>
    action !== 'ask' || stage === 'security-mode' || stage === 'tool-mode')
  const deciding = [final, ...verdicts]
    .filter(({ action }) => action === decision || (final.source === 'headless' && action === 'ask'))
  const hints = decision === 'allow' ? [] : deciding.flatMap(({ stage, code: own, source, cure }) =>
    remedies(stage, own, {
      source, cure, tool: call.tool.name, answeredByRule, approvalKey,
      forProject: !keyByTool && call.session.approvals.forProject,
    }))
  return conclude(call, {
    decision, ...(decision === 'deny' ? { code } : {}), ...(question && { question }), approvalKey, approvals,
    ...(changes.length === 0 ? {} : { arguments: call.args }), ...(program && { program }),
    ...(command && { wall }), ...(environment && { environment }), ...(notRecorded !== undefined && { notRecorded }), ...(later.length > 0 && { later }), chain,
    remedies: [...new Set(hints)],
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

interface RemedyContext {
  readonly source: string
  /** What the verdict itself advises. */
  readonly cure?: string | undefined
  readonly tool: string
  readonly approvalKey: string
  /** Whether it can be approved for the project. */
  readonly forProject?: boolean | undefined
  /** Whether a rule that allows would answer every verdict that asks. */
  readonly answeredByRule?: boolean | undefined
}

const NOTHING: RemedyContext = { source: '', tool: '', approvalKey: '' }

/** How to change the verdict of a stage, one instruction each. */
function remedies(stage: DecidingStage, code: ErrorCode, context: RemedyContext = NOTHING): readonly string[] {
  const { source, cure, tool, forProject, answeredByRule, approvalKey } = context
  switch (stage) {
    case 'receive':
      return ['Give the call an id and the name of a tool.']
    case 'resolve':
      return code === 'ToolsDisabled' ? ['Switch the tool on in the configuration.'] : ['Call a tool that is listed.']
    case 'validate':
      return ['Send arguments that satisfy the input schema of the tool.']
    case 'capability':
      if (cure !== undefined && isOfGrant(source)) return [cure]
      return [
        `${isOfAgent(source) ? `Add it to the ${source}` : 'Raise the ceiling'}, or call a tool that can do less.`,
      ]
    case 'role':
      return [`Turn on the ${source}.`]
    case 'rules':
      return [
        source.startsWith('machine ') ? 'Ask the administrator of this machine.'
          : `Change or remove the ${source.replace(/^the /, '')}.`,
      ]
    case 'state-machine':
      return [`Wait for a stage of the ${source} that lists "${tool}", or have a person grant the call.`]
    case 'watchdog':
    case 'guard':
      return [cure ?? `Change the arguments so that the ${source} accepts them.`]
    case 'tool-mode':
    case 'security-mode':
      return [
        `Approve the key "${approvalKey}" for the session${forProject ? ' or the project' : ''}.`,
        `Put "${tool}:${approvalKey}" on the allowlist, and set the mode to allowlist.`,
        ...(answeredByRule ? [`Add a rule that allows "${tool}" for this key.`] : []),
      ]
    case 'freeze':
    case 'budget':
    case 'audit':
      return [ERRORS[code].cure]
    case 'approval':
      if (source === 'headless') return ['Open the session with an interactor or an approver.']
      return [code === 'ApprovalDenied' ? 'Ask again.' : ERRORS[code].cure]
  }
}
