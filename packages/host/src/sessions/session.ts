import {
  BulkheadError, CALL_LIMITS, PROGRAM_TOOL, requireOptions, SECURITY_MODES, type AgentInput, type AgentManifest, type Approver,
  type Ceiling, type Interactor, type Outcome, type Principal, type Rule, type ScopedRule, type SecurityMode, type StateMachine,
  type ToolDefinition, type WorkspaceClient,
} from '@bulkhead/contract'
import { ceilingSet, firstFault, ruleSchema } from '@bulkhead/contract/validation'
import type { Json } from '@bulkhead/kit/json'
import { forms, type OptionForm, type OptionForms } from '@bulkhead/kit/options'
import type { Explanation } from '../calls/explain.ts'
import { HOOKS_FORM, refuseSlips } from '../calls/hooks.ts'
import type { CallOptions, ToolCall } from '../calls/receive.ts'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import { BUDGET_FORM, type BudgetLimits } from '../model/budget.ts'
import type { CancelReason } from '../model/cancel-scope.ts'
import type { Hooks } from '../model/hooks.ts'
import { DEFAULT_ROLE, isAsking } from '../model/settings.ts'
import type { Approval } from '../policy/approvals/approval.ts'
import { asGuard, type Guard, type CallCheck } from '../policy/guards.ts'
import type { Surface } from '../policy/surface.ts'
import { SessionPolicy, stricterMode, type Headless, type PolicySources } from '../policy/session-policy.ts'
import { rulesOf, type UsableAgent } from './agents.ts'
import type { BackgroundTask, EndedTask } from './background-tasks.ts'
import { checkPrincipal } from './principal.ts'
import { batchSizeOf, type CallAllOptions, type ExecutionStrategy, type Turn } from './turn.ts'

export interface Session {
  readonly id: string
  /** What it was opened for. */
  readonly agent: AgentManifest | undefined
  /** 0 for one that the host opened, and one more with each sub-agent. */
  readonly depth: number
  /** Whether the model is offered `code_mode` in place of the other tools. */
  readonly codeMode: boolean
  /** Those of the turn; outside of one, the present ones. */
  tools(): readonly ToolDefinition[]
  /** Why every call of a tool is denied here, whatever its arguments. undefined if one may be allowed. */
  deniedAlways(tool: string): string | undefined
  /**
   * What the session may use at most, in words and as data: the union of what its tools may do under every ceiling, and
   * of what its agent requires besides. Each tool stays within its own requirements.
   */
  surface(): Surface
  /** Contract: never rejects. Every call ends in exactly one outcome. */
  call(call: ToolCall, options?: CallOptions): Promise<Outcome>
  /** The approvals that apply to calls of this session: its own and those of its project. */
  approvals(): readonly Approval[]
  /** Whether a call would be allowed, and why. Asks no person and runs nothing. Contract: never rejects. */
  explain(call: ToolCall): Promise<Explanation>
  /** Adds hooks to this session and its sub-agents. Returns a function that removes them. Throws ConfigInvalid. */
  addHooks(hooks: Hooks): () => void
  /**
   * The calls of one response: all questions are asked first, in order; then the calls run by the strategy. Outcomes
   * come in the order of the calls, one for each. Rejects only for an invalid list or strategy.
   */
  callAll(calls: readonly ToolCall[], options?: CallAllOptions): Promise<readonly Outcome[]>
  /**
   * Resumes a paused call under the policy of this session: it runs again and receives the same answers as before. The
   * answer may be left out where it was given before. Rejects with NotFound, also for a call of another principal,
   * InteractionAlreadyAnswered, InputInvalid or StoreUnavailable, and then nothing has changed.
   */
  resume(id: string, answer?: Json, options?: CallOptions): Promise<Outcome>
  /** Fixes the offered tools until `endTurn`. Throws TurnInvalid inside of another turn, and ConfigInvalid. */
  beginTurn(options?: { readonly signal?: AbortSignal }): Turn
  /** Resolves when the calls of the turn have settled. Rejects with TurnInvalid when there is none. */
  endTurn(): Promise<void>
  /**
   * A session for a sub-agent, which can do no more than this one: it lives under both policies, draws from both
   * budgets, asks the same person unless it brings its own, and ends with this one, and with its turn. Rejects with
   * SubagentDepthExceeded five deep, and as `openSession` does.
   */
  openSubagent(options?: SubagentOptions): Promise<Session>
  /** Sub-agents that `task` started in the background, until their result is delivered. */
  tasks(): readonly BackgroundTask[]
  /** What background tasks have ended with, each once. `results` of a turn has the same: this is for use without turns. */
  taskResults(): readonly EndedTask[]
  /** Cancels a background task. Resolves when its result can be delivered, with whether it was running. */
  cancelTask(id: string): Promise<boolean>
  /** Cancels its turn, its calls and its sub-agents, and rejects later calls. */
  cancel(reason?: CancelReason): void
  /** Cancels what runs and resolves when it has settled. The session cannot be resumed. Idempotent. */
  close(): Promise<void>
  /** The same, and `resumeSession` of another host of the store can continue it. A host that closes does this. */
  release(): Promise<void>
}

export interface SessionOptions {
  /**
   * The user or client that it is for, as the embedder knows it. Approvals, state and paused calls of one principal are
   * not another's, and its sessions share the budget of the configuration. A sub-agent has that of its parent.
   */
  readonly principal?: Principal
  /** The agent that it is opened for: the name of one that the host knows, or a defined one. */
  readonly agent?: string | AgentInput
  /**
   * Further folders that `{workspace}` stands for, absolute or relative to the workspace. Relative paths of calls are
   * resolved in the workspace. A sub-agent has those of its parent.
   */
  readonly roots?: readonly string[]
  /** Files and folders that `{ad-hoc}` stands for. A file stands for itself only. */
  readonly adHoc?: readonly string[]
  /** Default: the configuration's, else `ask`. */
  readonly mode?: SecurityMode
  readonly rules?: readonly Rule[]
  /** The role whose flags apply to its calls, and that hooks report. Default: agent. */
  readonly role?: string
  /**
   * Flags such as `allow_bash` or `allow_bash_reviewer`, besides those of the configuration: a `false` in either
   * forbids.
   */
  readonly roles?: Readonly<Record<string, boolean>>
  /**
   * The tools that are offered: names, aliases (`read_file`), first parts of names (`web` for `web_fetch`), and
   * patterns with `*`. Default: all.
   */
  readonly tools?: readonly string[]
  /**
   * The model writes programs that call these tools, instead of calling them: `offeredTools` of the host has only
   * `code_mode`. Default: that of the parent session.
   */
  readonly codeMode?: boolean
  /**
   * The person of this session; of several, the first answer counts. Without any, and without an approver, calls that
   * would ask are denied.
   */
  readonly interactor?: Interactor | readonly Interactor[]
  /** Decides approvals instead of the interactor. */
  readonly approver?: Approver
  /** An editor, whose open files and terminal the tools use. Default: that of the parent session. */
  readonly client?: WorkspaceClient
  /** How long a person or an approver may take to answer. Default: no limit. */
  readonly interactionTimeoutMs?: number
  /**
   * A question of a tool that is not answered is saved in the store, and so is a call that no one approves. The call
   * ends as `clarification_needed`; `resume` continues it, in this session or in one of a later host. Default: that of the parent session.
   */
  readonly pause?: boolean
  /**
   * What happens to a question when no person can be asked here. Default: it is denied. `halt` ends the whole turn. `wait`
   * keeps it open for an answer from elsewhere: another process on the store, a link, a webhook or an inspector. It needs
   * a store that other processes can open. A sub-agent that asks the person of its parent does as its parent.
   */
  readonly headless?: Headless
  /** The most that any tool may do in this session. */
  readonly ceiling?: Ceiling
  readonly budget?: BudgetLimits
  /** How `callAll` runs the calls of one response. Default: parallel. */
  readonly strategy?: ExecutionStrategy
  /** Must be the host's workspace. For embedders with sessions of several hosts. */
  readonly workspace?: string
  /** More can be added later. */
  readonly hooks?: Hooks | readonly Hooks[]
  /** Evaluates every call that the rules allow. Of several, the first that denies ends it. */
  readonly watchdog?: CallCheck | readonly CallCheck[]
  /** The workflow the session is attached to: for gated calls its stage decides instead of the mode. */
  readonly stateMachine?: StateMachine
  /** Evaluate every gated call; a function runs before the call. The first that denies ends it. */
  readonly guards?: readonly (CallCheck | Guard)[]
  /**
   * Whether arguments and outcomes of its calls are kept, to replay them. The policy of the machine decides first. Default:
   * that of the parent session, else the configuration's.
   */
  readonly record?: boolean
  /** The id of an earlier session that this one continues. The tool `undo` reaches its changes too. */
  readonly continues?: string
  /** Cancels the session and everything in it. */
  readonly signal?: AbortSignal
}

export interface SubagentOptions extends Omit<SessionOptions, 'principal'> {
  /** Continues when the turn it is opened in ends. */
  readonly background?: boolean
}

/** The parts of a policy besides the options. */
interface PolicyMaterial extends Pick<
  PolicySources, 'settings' | 'variables' | 'hasOwnValues' | 'isTool' | 'agentsRequire'
> {
  readonly agent: UsableAgent | undefined
}

const GUARD: OptionForm = {
  words: 'a function, or an object with an id and a function pre, post or both',
  wrongIn: (guard) => isGuard(guard) ? undefined : { at: '', found: guard },
}
const STATE_MACHINE: OptionForm = {
  words: 'an object with an id and the function stage',
  wrongIn: (machine) => forms.having('stage').wrongIn(machine) ?? forms.text.wrongIn((machine as StateMachine).id),
}
const oneOrSeveral = (one: OptionForm): OptionForm =>
  ({ ...forms.either(forms.list(one), one), words: `${one.words}, or a list of such` })

const OPTIONS: OptionForms<SessionOptions & SubagentOptions> = {
  principal: forms.object,
  mode: forms.oneOf(...SECURITY_MODES), rules: forms.list(forms.anything), role: forms.text,
  roles: forms.values(forms.flag),
  tools: forms.list(forms.text), codeMode: forms.flag, interactor: oneOrSeveral(forms.having('interact')), approver: forms.having('approve'),
  interactionTimeoutMs: forms.above(0), pause: forms.flag, headless: forms.oneOf('deny', 'halt', 'wait'), ceiling: forms.object,
  budget: BUDGET_FORM, strategy: forms.anything, workspace: forms.text, hooks: oneOrSeveral(HOOKS_FORM),
  watchdog: oneOrSeveral(forms.method), stateMachine: STATE_MACHINE, guards: forms.list(GUARD), signal: forms.signal,
  background: forms.flag, record: forms.flag, continues: forms.text, agent: forms.either(forms.text, forms.object), roots: forms.list(forms.text),
  adHoc: forms.list(forms.text),
  client: forms.atLeast({ readText: forms.method, writeText: forms.method, run: forms.method }),
}

/** Throws ConfigInvalid, ProjectPathInvalid or InputInvalid for options that make no sense. */
export function checkOptions(options: SessionOptions, workspace: string, isSubagent: boolean): void {
  requireOptions('openSession', options, OPTIONS)
  if (options.principal !== undefined) checkPrincipal(options.principal, isSubagent)
  for (const hooks of [options.hooks ?? []].flat()) refuseSlips(hooks)
  if (options.ceiling !== undefined) checkCeiling(options.ceiling)
  const { strategy = 'parallel' } = options
  batchSizeOf(strategy)
  if (options.workspace !== undefined && options.workspace !== workspace) {
    const message = `The session wants the workspace "${options.workspace}" and this host works on "${workspace}".`
    throw new BulkheadError('ProjectPathInvalid', message, { data: { workspace } })
  }
}

/** Code mode needs its tool besides the selected ones. */
export const selectedTools = (tools: readonly string[] | undefined, codeMode: boolean): readonly string[] | undefined =>
  tools && [...tools, ...(codeMode ? [PROGRAM_TOOL] : [])]

/** Throws ToolsDisabled or ToolNotRegistered. */
export function requireProgramTool(offered: OfferedTools): void {
  const off = offered.switchedOff(PROGRAM_TOOL)
  if (off) throw new BulkheadError('ToolsDisabled', off, { data: { tool: PROGRAM_TOOL } })
  if (offered.get(PROGRAM_TOOL)) return
  throw new BulkheadError('ToolNotRegistered', `This host has no tool "${PROGRAM_TOOL}" for \`codeMode\`.`)
}

/** Throws SubagentDepthExceeded if a session of this depth may not open sub-agents. */
export function refuseDeeper(depth: number): void {
  const { subagentDepth } = CALL_LIMITS
  if (depth < subagentDepth) return
  const message = `Sub-agents open sub-agents ${subagentDepth} deep at most.`
  throw new BulkheadError('SubagentDepthExceeded', message, { data: { depth, limit: subagentDepth } })
}

function isGuard(guard: unknown): boolean {
  if (typeof guard !== 'object' || guard === null) return typeof guard === 'function'
  const { id, pre, post } = guard as Partial<Guard>
  const functions: readonly unknown[] = [pre, post].filter((each) => each !== undefined)
  return typeof id === 'string' && functions.length > 0 && functions.every((each) => typeof each === 'function')
}

/** Throws ConfigInvalid or RequirementInvalid. `parent`: whose sub-agent the session is. */
export function policyFrom(
  options: SessionOptions, { agent, ...material }: PolicyMaterial, parent?: SessionPolicy,
): SessionPolicy {
  const { settings } = material
  const ofOptions = isAsking(options.mode) ? 'written' : 'default'
  const modeAuthor = options.mode === undefined ? settings.modeAuthor : ofOptions
  return new SessionPolicy({
    ...material,
    mode: stricterMode(options.mode ?? settings.file.mode ?? 'ask', settings.machine.mode),
    modeAuthor,
    allowlist: settings.allowlist(modeAuthor === 'written'),
    rules: [...agent ? rulesOf(agent) : [], ...(options.rules ?? []).map(readRule)],
    role: options.role ?? DEFAULT_ROLE,
    roles: new Map(Object.entries(options.roles ?? {})),
    ceiling: options.ceiling,
    agent: agent?.manifest,
    watchdogs: [options.watchdog ?? []].flat(),
    guards: (options.guards ?? []).map(asGuard),
    stateMachine: options.stateMachine,
    headless: options.headless ?? 'deny',
    parent,
  })
}

function readRule(rule: Rule, index: number): ScopedRule {
  const parsed = ruleSchema.safeParse(rule)
  if (parsed.success) return { ...parsed.data, author: 'embedder', ofSession: true, source: `the session#/rules/${index}` }
  throw invalidOption(firstFault(parsed.error.issues, ruleSchema, '', `/rules/${index}`))
}

/** A misspelled key would take away what it was meant to leave. Throws ConfigInvalid. */
function checkCeiling(ceiling: Ceiling): void {
  const parsed = ceilingSet.safeParse(ceiling)
  if (!parsed.success) throw invalidOption(firstFault(parsed.error.issues, ceilingSet, '', '/ceiling'))
}

const invalidOption = ({ path, message }: ReturnType<typeof firstFault>): BulkheadError =>
  new BulkheadError('ConfigInvalid', `The options of openSession are invalid: ${message}`, { data: { path } })
