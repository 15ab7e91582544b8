import type { ApprovalRequest, Clock, InteractionRequest, SecurityMode, StateMachine } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { CallAnalysis, CheckedCall } from './model/checked-call.ts'
import type { CommandSafety } from './command-safety/command-safety.ts'
import { consult, nameOf, type Guard, type CallCheck, type Opinion } from './guards.ts'
import { evaluatePlanMode } from './plan-mode.ts'
import { presentStage, StagePermit } from './model/stage-permit.ts'
import { allow, ask, askOfMode, deny, type Verdict } from './model/verdict.ts'

/** One call while the policies evaluate it. */
export interface Evaluation {
  readonly call: CheckedCall
  readonly analysis: CallAnalysis
  readonly clock: Clock
  readonly verdicts: Verdict[]
  /** Whether rules of the session whose policies run allow the call: not at all, or also instead of its mode. */
  ruled: 'no' | 'allowed' | 'answers the mode'
}

/**
 * Rules, command safety or the mode: built in, and decided at once. It returns nothing if it has no opinion, and adds
 * further verdicts itself.
 */
interface BuiltInPolicy {
  readonly kind: 'built-in'
  evaluate(evaluation: Evaluation): Verdict | undefined
}

/** A watchdog or guard: code of the embedder. */
interface CustomPolicy {
  readonly kind: 'custom'
  evaluate(evaluation: Evaluation): Promise<Opinion | undefined>
}

export type Policy = BuiltInPolicy | CustomPolicy

/** What the policies of one session are made of. */
export interface PolicyParts {
  readonly mode: SecurityMode
  readonly gates: boolean
  readonly commandSafety: CommandSafety | undefined
  readonly watchdogs: readonly CallCheck[]
  readonly guards: readonly Guard[]
  readonly stateMachine: StateMachine | undefined
  /** Whether the session is in plan mode now. */
  readonly planning: boolean
  forTool(tool: ToolEntry): { readonly floor: Verdict | undefined }
  /** The allow of a call whose tool runs without a question, because of its mode. */
  runsByMode(tool: ToolEntry, analysis: CallAnalysis): Verdict | undefined
  evaluateRules(tool: ToolEntry, analysis: CallAnalysis): Verdict | undefined
  answersMode(tool: ToolEntry, analysis: CallAnalysis): boolean
}

/** The policies of one session, in order. */
export function policiesOf(session: PolicyParts): readonly Policy[] {
  const { commandSafety, watchdogs, guards } = session
  return [
    planMode(session),
    rulesAndToolMode(session),
    ...(commandSafety ? [commands(commandSafety)] : []),
    ...watchdogs.map(watchdogPolicy),
    ...(session.gates ? [gate(session)] : []),
    ...guards.filter(({ pre }) => pre !== undefined).map(guardPolicy),
  ]
}

const builtIn = (evaluate: BuiltInPolicy['evaluate']): Policy => ({ kind: 'built-in', evaluate })
const custom = (evaluate: CustomPolicy['evaluate']): Policy => ({ kind: 'custom', evaluate })

const planMode = (session: PolicyParts): Policy => builtIn(({ call, analysis }) =>
  session.planning ? evaluatePlanMode(call.tool, analysis) : undefined)

const rulesAndToolMode = (session: PolicyParts): Policy => builtIn((evaluation) => {
  const { call: { tool }, analysis, verdicts } = evaluation
  const ruled = session.evaluateRules(tool, analysis)
  if (ruled) verdicts.push(ruled)
  if (ruled?.action === 'allow') {
    evaluation.ruled = session.answersMode(tool, analysis) ? 'answers the mode' : 'allowed'
  } else evaluation.ruled = 'no'
  // A rule that allows answers the tool's own mode as it answers that of the session.
  const isAnswered = analysis.onlyReads === true || evaluation.ruled === 'answers the mode'
  return isAnswered ? undefined : session.forTool(tool).floor
})

/**
 * Critical findings deny and warnings ask, each time: the key of a third-party shell reveals little of what it runs.
 */
const commands = (commandSafety: CommandSafety): Policy => builtIn(({ call: { tool, args }, verdicts }) => {
  if (tool.grant.shell.length === 0) return undefined
  for (const { id, label, description, severity } of commandSafety.check(args)) {
    const [source, reason] = [`command safety ${id}`, `${label}: ${description.replace(/\.$/, '')}`]
    const isCritical = severity === 'critical'
    verdicts.push(
      isCritical ? deny('watchdog', 'WatchdogDenied', source, reason) : ask('watchdog', source, reason),
    )
  }
  return undefined
})

const watchdogPolicy = (watchdog: CallCheck): Policy => custom(({ call, analysis, clock }) =>
  consult(watchdog, { stage: 'watchdog', source: `watchdog ${nameOf(watchdog)}` }, call, analysis.approvalKey, clock))

/** A state machine replaces the mode. A rule that allows answers what the mode would ask. */
const gate = (session: PolicyParts): Policy => {
  const { stateMachine, mode } = session
  const asks = (reason: string): Verdict => askOfMode('security-mode', `mode ${mode}`, reason)
  const gated = asks('this tool requires approval')
  const written = asks('this tool requires approval, and a rule of a project does not answer a mode that was chosen')
  // A mode that a project chose does not answer these.
  const [unwalled, open] = [UNWALLED, WITHOUT_WALL].map((reason): Verdict => ({ ...asks(reason), isWritten: true }))
  const reveals = asks('this tool requires approval: the file can hold credentials or variables')
  return builtIn(({ call, analysis, ruled }) => {
    if (!call.tool.definition.gated && analysis.onlyReads !== 'reveals') return undefined
    const staged = stateMachine && evaluateStage(stateMachine, call)
    if (staged || ruled === 'answers the mode' || analysis.onlyReads === true) return staged
    const runs = session.runsByMode(call.tool, analysis)
    if (runs) return runs
    if (analysis.wall?.wall === 'open' && analysis.onlyReads !== 'unwalled') return open
    if (ruled === 'allowed') return written
    if (analysis.onlyReads === 'reveals') return reveals
    return analysis.onlyReads === 'unwalled' ? unwalled : gated
  })
}
const WITHOUT_WALL = 'this tool requires approval: the command would run without a wall, and can do everything that '
  + 'you can'
const UNWALLED = 'this tool requires approval: the command seems to only read, but no file wall stands around commands '
  + 'on this machine'

const guardPolicy = ({ id, pre }: Guard): Policy => custom(async ({ call, analysis, clock }) => {
  if (!call.tool.definition.gated) return undefined
  return consult(pre!, { stage: 'guard', source: `guard ${id}` }, call, analysis.approvalKey, clock)
})

/** The verdict of a state machine, or undefined if it is in no stage. Fails closed. */
function evaluateStage(machine: StateMachine, call: CheckedCall): Verdict | undefined {
  try {
    const stage = presentStage(machine)
    if (stage === undefined) return undefined
    const permit = new StagePermit(machine, stage, call)
    const named = `the stage "${stage.name}" of the state machine ${machine.id}`
    if (stage.allowedTools.includes(call.tool.name)) {
      return { ...allow('state-machine', 'sm-envelope', `${named} lists it`), permit }
    }
    return { ...ask('state-machine', `state machine ${machine.id}`, `${named} does not list it`), permit }
  } catch (thrown) {
    const reason = `the state machine ${machine.id} failed: ${messageOf(thrown)}`
    return deny('state-machine', 'ApprovalDenied', `state machine ${machine.id}`, reason)
  }
}

export const permitsIn = (verdicts: readonly Verdict[]): readonly StagePermit[] =>
  verdicts.flatMap(({ permit }) => permit ?? [])

/** The question to a person. It binds the permits to the arguments that the person sees. */
export function stageGrant(
  call: CheckedCall, permits: readonly StagePermit[], approval: ApprovalRequest,
): Extract<InteractionRequest, { kind: 'grantStageTool' }> {
  const [argsDigest = ''] = permits.map((permit) => permit.bindTo(call))
  const stage = visibleText([...new Set(permits.map((permit) => permit.stage))].join(', '))
  return { kind: 'grantStageTool', tool: call.tool.name, stage, argsDigest, approval }
}
