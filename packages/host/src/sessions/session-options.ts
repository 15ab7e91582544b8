import {
  BulkheadError, ruleSchema, SECURITY_MODES, type Approver, type Interactor, type RequirementSet, type Rule, type ScopedRule,
  type SecurityMode, type StateMachine, type VariableValues,
} from '@bulkhead/contract'
import type { Hooks } from '../hooks/hooks.ts'
import { asGuard, type Guard, type Judge } from '../permissions/judges/judge.ts'
import { SessionPolicy } from '../permissions/session-policy.ts'
import type { Settings } from '../configuration/settings.ts'
import type { BudgetLimits } from './budget.ts'
import { batchSizeOf, type ExecutionStrategy } from './strategy.ts'

export interface SessionOptions {
  /** Default: the configuration's, else `ask`. */
  readonly mode?: SecurityMode
  readonly rules?: readonly Rule[]
  readonly role?: string
  /** Flags such as `allow_bash` or `allow_bash_reviewer`, besides those of the configuration: a `false` in either forbids. */
  readonly roles?: Readonly<Record<string, boolean>>
  /** The names that are offered; others are as if they were not there. Default: all. */
  readonly tools?: readonly string[]
  /**
   * The person of this session; of several, the first to answer. Without any, and without an approver, whatever would ask
   * is denied.
   */
  readonly interactor?: Interactor | readonly Interactor[]
  /** Decides approvals instead of the interactor. */
  readonly approver?: Approver
  /** How long a person may take to answer. Default: for ever. */
  readonly interactionTimeoutMs?: number
  /**
   * A question of a tool that nobody answers is kept in the store, and its call ends as `clarification_needed`; `resume`
   * goes on with it, in this session or in one of a later host. Default: as in the session it is a sub-agent of.
   */
  readonly pause?: boolean
  /** What becomes of a call that needs a person's word when nobody can be asked: it is denied, or the whole turn ends. */
  readonly headless?: 'deny' | 'halt'
  /** The most any tool may be able to reach in this session. */
  readonly ceiling?: RequirementSet
  readonly budget?: BudgetLimits
  /** How `callAll` runs the calls of one response. Default: parallel. */
  readonly strategy?: ExecutionStrategy
  /** Must be the one the host works on: for embedders that hold sessions of several hosts. */
  readonly workspace?: string
  /** More can be added later. */
  readonly hooks?: Hooks | readonly Hooks[]
  /** Hears of every call that the rules let pass; of several, the first that refuses ends it. */
  readonly watchdog?: Judge | readonly Judge[]
  /** The workflow the session is attached to: for gated calls its stage is heard instead of the mode. */
  readonly stateMachine?: StateMachine
  /** Hear of every gated call, a function before it; the first that refuses ends it. */
  readonly guards?: readonly (Judge | Guard)[]
  /** Cancels the session and everything in it. */
  readonly signal?: AbortSignal
}

export interface OptionSources {
  readonly settings: Settings
  readonly variables: VariableValues
  readonly workspace: string
}

/** Throws ConfigInvalid, ProjectPathInvalid or InputInvalid for options that make no sense. */
export function checkOptions(options: SessionOptions, { workspace }: OptionSources): void {
  const { headless = 'deny', interactionTimeoutMs: timeout = 1, strategy = 'parallel' } = options
  if (headless !== 'deny' && headless !== 'halt') throw unusable('/headless', 'headless is "deny" or "halt".')
  if (!(timeout > 0)) throw unusable('/interactionTimeoutMs', 'interactionTimeoutMs is a number above 0.')
  batchSizeOf(strategy)
  checkJudges(options)
  if (options.workspace !== undefined && options.workspace !== workspace) {
    const message = `The session wants the workspace "${options.workspace}" and this host works on "${workspace}".`
    throw new BulkheadError('ProjectPathInvalid', message, { data: { workspace } })
  }
}

/** For those who do not compile: a watchdog that is none would watch over nothing. */
function checkJudges({ watchdog, guards = [], stateMachine, hooks }: SessionOptions): void {
  for (const judge of [watchdog ?? []].flat()) {
    if (typeof judge !== 'function') throw unusable('/watchdog', 'A watchdog is a function, or several in a list.')
  }
  for (const [index, guard] of guards.entries()) {
    if (!isGuard(guard)) throw unusable(`/guards/${index}`, 'A guard is a function, or has an id and a function pre, post or both.')
  }
  if (stateMachine !== undefined && !(typeof stateMachine?.id === 'string' && typeof stateMachine.stage === 'function')) {
    throw unusable('/stateMachine', 'A state machine has an id and a function stage.')
  }
  for (const each of [hooks ?? []].flat()) {
    if (typeof each !== 'object' || each === null) throw unusable('/hooks', 'Hooks are an object with functions, or several in a list.')
  }
}

function isGuard(guard: Judge | Guard): boolean {
  if (typeof guard !== 'object' || guard === null) return typeof guard === 'function'
  const judges: readonly unknown[] = [guard.pre, guard.post].filter((judge) => judge !== undefined)
  return typeof guard.id === 'string' && judges.length > 0 && judges.every((judge) => typeof judge === 'function')
}

/** Throws ConfigInvalid or RequirementInvalid. `parent`: whose sub-agent the session is. */
export function policyFrom(
  options: SessionOptions, { settings, variables }: OptionSources, parent?: SessionPolicy,
): SessionPolicy {
  return new SessionPolicy({
    mode: modeFrom(options.mode ?? settings.file.mode ?? 'ask'),
    allowlist: settings.file.allowlist ?? [],
    rules: (options.rules ?? []).map(readRule),
    role: options.role,
    roles: new Map(Object.entries(options.roles ?? {})),
    ceiling: options.ceiling,
    watchdogs: [options.watchdog ?? []].flat(),
    guards: (options.guards ?? []).map(asGuard),
    stateMachine: options.stateMachine,
    headless: options.headless ?? 'deny',
    settings,
    variables,
    parent,
  })
}

function modeFrom(mode: SecurityMode): SecurityMode {
  if (SECURITY_MODES.includes(mode)) return mode
  throw unusable('/mode', `The mode of a session is one of ${SECURITY_MODES.join(', ')}.`)
}

function readRule(rule: Rule, index: number): ScopedRule {
  const parsed = ruleSchema.safeParse(rule)
  if (parsed.success) return { ...parsed.data, scope: 'session', source: `the session#/rules/${index}` }
  const why = parsed.error.issues[0]?.message ?? 'not an object'
  throw unusable(`/rules/${index}`, `The rule ${index} of the session is not of the documented form: ${why}.`)
}

const unusable = (path: string, message: string) => new BulkheadError('ConfigInvalid', message, { data: { path } })
