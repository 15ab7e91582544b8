import { BulkheadError, requireOptions, type ErrorCode } from '@bulkhead/contract'
import { isPromiseLike } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { pointerStep, type Json } from '@bulkhead/kit/json'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import { forms, type OptionForm, type OptionForms } from '@bulkhead/kit/options'
import { closeNames, visibleText } from '@bulkhead/kit/text'
import { eventFields } from '../model/event-fields.ts'
import type { CallView, HookContext, Hooks, Observers } from '../model/hooks.ts'
import { inTime } from '../model/deadline.ts'
import { SKIPPED_BY_HOOK } from '../model/outcome.ts'
import {
  ValidatedCall, type AllowedCall, type BudgetedCall, type Call, type ClearedCall, type HostContext,
} from '../policy/call.ts'
import { viewOf } from '../policy/model/checked-call.ts'

/**
 * Asks the hooks before the tool runs. Throws HookVetoed if one vetoes, throws, or does not answer in time. Awaits
 * promises only, so that calls of sessions with and without hooks keep their order.
 */
export async function runBeforeHooks(budgeted: BudgetedCall, { clock }: HostContext): Promise<ClearedCall> {
  const { call, decision } = budgeted.allowed
  const { all } = call.session.hooks
  if (all.length === 0) return { cleared: budgeted }
  const view = viewOf(call, decision.analysis.approvalKey)
  for (const hooks of all) {
    let answer: boolean | void
    try {
      const pending = hooks.beforeToolExecution?.(view, call.signal)
      answer = isPromiseLike(pending) ? await inTime(pending, call, clock) : pending
    } catch (thrown) {
      call.throwIfCancelled()
      throw new BulkheadError(
        'HookVetoed', `The call of "${call.tool.name}" was skipped: a before-hook failed: ${messageOf(thrown)}.`,
      )
    }
    if (answer === false) throw new BulkheadError('HookVetoed', SKIPPED_BY_HOOK)
  }
  return { cleared: budgeted }
}

interface Seen {
  readonly attempt: number
  readonly result?: HookContext['result']
  readonly error?: HookContext['error']
}

/** Calls the observers, in order. Never throws. The caller checks that there are hooks. */
export function observe(hookPoint: keyof Observers, call: Call, host: HostContext, seen: Seen): void {
  let context: HookContext | undefined
  for (const hooks of call.session.hooks.all) {
    // Most hooks observe one point: the context is made for the first that observes this one.
    if (!(hookPoint in hooks)) continue
    notify(hookPoint, host, () => {
      context ??= contextOf(hookPoint, call, host, seen)
      return hooks[hookPoint]?.(context)
    })
  }
}

function contextOf(
  hookPoint: keyof Observers, call: Call, host: HostContext, { attempt, result = null, error = null }: Seen,
): HookContext {
  const { session } = call
  const args = call instanceof ValidatedCall ? call.args : null
  return Object.freeze({
    hookPoint, toolName: call.name, callId: call.id, arguments: args, parameters: args, role: session.policy.role,
    result: deepFreeze(result), error: error && Object.freeze(error),
    durationMs: Math.round(host.clock.monotonic() - call.startedAt), attempt, workspace: host.workspace,
    sessionId: session.id, ...(session.principal && { principal: session.principal }),
  })
}

/** Never throws. Reports what a hook throws, also what its promise rejects with. */
export const notify = (name: string, host: Pick<HostContext, 'events'>, hook: () => unknown): void =>
  runObserver(`hook ${name}`, host, hook)

/** Never throws. The source names the observer in the report. */
export function runObserver(source: string, { events }: Pick<HostContext, 'events'>, observer: () => unknown): void {
  const report = (thrown: unknown): void => events.suppressed(source, thrown)
  try {
    const answer = observer()
    if (isPromiseLike(answer)) Promise.resolve(answer).catch(report)
  } catch (thrown) {
    report(thrown)
  }
}

const DENIALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CapabilityDenied', 'RoleDenied', 'RuleDenied', 'WatchdogDenied', 'GuardDenied', 'ArgumentsUnsettled',
  'ApprovalDenied',
])

/** The observers of an error that ended a call before its tool ran. */
export function refusalPoint({ code }: BulkheadError): keyof Observers | undefined {
  if (code === 'ToolsDisabled') return 'onToolsDisabled'
  if (code === 'BudgetExhausted') return 'onTokenBudgetExceeded'
  return DENIALS.has(code) ? 'onPermissionDenied' : undefined
}

/**
 * Passes an update of a running tool to the listeners and to `deliver`, between its two hooks. Freezes it. Never throws.
 */
export function passUpdate(
  { call, decision }: AllowedCall, host: HostContext, update: Json, deliver: () => void,
): void {
  const { all } = call.session.hooks
  const partial = deepFreeze(update)
  const view = all.length === 0 ? undefined : viewOf(call, decision.analysis.approvalKey)
  if (view && !all.every((hooks) => mayPass(hooks, view, host, partial))) return
  host.events.emit({ type: 'ToolInvocationUpdated', ...eventFields(call), partial })
  deliver()
  for (const hooks of view ? all : []) {
    notify('afterToolExecutionUpdate', host, () => hooks.afterToolExecutionUpdate?.(view!, partial))
  }
}

function mayPass(hooks: Hooks, view: CallView, host: HostContext, partial: Json): boolean {
  let passes = false
  notify('beforeToolExecutionUpdate', host, () => {
    const answer: unknown = hooks.beforeToolExecutionUpdate?.(view, partial)
    const isLate = isPromiseLike(answer)
    passes = answer !== false && !isLate
    return isLate ? Promise.resolve(answer).then(tooLate) : undefined
  })
  return passes
}

function tooLate(): never {
  throw new Error('The hook returned a promise. Updates are not delayed, so this one was dropped.')
}

const NONE: readonly Hooks[] = Object.freeze([])

/** The hooks of a session, after those of the session it is a sub-agent of, each in the order they were added. */
export class HookChain {
  readonly #outer: HookChain | undefined
  /** The same hooks may be added twice, and each is removed separately. */
  readonly #entries = new Set<{ readonly hooks: Hooks }>()
  // Replaced, never changed: a call continues with the hooks it began with.
  #own = NONE

  constructor(outer: HookChain | undefined, own: readonly Hooks[]) {
    this.#outer = outer
    for (const hooks of own) this.add(hooks)
  }

  get all(): readonly Hooks[] {
    const outer = this.#outer?.all ?? NONE
    if (outer.length === 0) return this.#own
    return this.#own.length === 0 ? outer : [...outer, ...this.#own]
  }

  /** Used from the next call on. Returns the function that removes them; idempotent. */
  add(hooks: Hooks): () => void {
    const entry = { hooks }
    this.#entries.add(entry)
    this.#update()
    return () => {
      if (this.#entries.delete(entry)) this.#update()
    }
  }

  #update(): void {
    this.#own = [...this.#entries].map(({ hooks }) => hooks)
  }
}

const HOOKS: OptionForms<Hooks> = {
  beforeToolExecution: forms.method, afterToolExecution: forms.method, beforeToolExecutionUpdate: forms.method,
  afterToolExecutionUpdate: forms.method, onBeforeTool: forms.method, onAfterTool: forms.method,
  onToolError: forms.method,
  onPermissionDenied: forms.method, onTokenBudgetExceeded: forms.method, onToolsDisabled: forms.method,
}

/** Hooks may be an object with members of its own: only those named like a hook are checked. */
export const HOOKS_FORM: OptionForm = {
  words: 'an object of which each hook is a function',
  wrongIn: (hooks) => forms.object.wrongIn(hooks) ?? forms.atLeast(HOOKS).wrongIn({ ...hooks as Hooks }),
}

/** A misspelled hook would never be called. Throws ConfigInvalid. */
export function refuseSlips(hooks: Hooks): void {
  const slips = Object.entries(hooks).filter(([name, value]) =>
    typeof value === 'function' && closeNames(name, Object.keys(HOOKS)).length > 0)
  requireOptions('hooks', Object.fromEntries(slips), HOOKS)
  const name = Object.keys(hooks).find((key) => typeof hooks[key as keyof Hooks] === 'function')
  if (name === undefined || Object.keys(HOOKS).some((known) => known in hooks)) return
  throw new BulkheadError(
    'ConfigInvalid', `There is no hook "${visibleText(name)}". Hooks: ${Object.keys(HOOKS).join(', ')}.`,
    { data: { path: `/hooks${pointerStep(name)}` } },
  )
}
