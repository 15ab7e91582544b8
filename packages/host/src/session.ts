import { randomUUID } from 'node:crypto'
import {
  BulkheadError, ruleSchema, SECURITY_MODES, type Approver, type Interactor, type Outcome, type RequirementSet, type Rule,
  type ScopedRule, type SecurityMode, type ToolDefinition, type VariableValues,
} from '@bulkhead/contract'
import { Budget, type BudgetLimits } from './budget.ts'
import { beginning } from './call.ts'
import { onAbort } from './cancellation.ts'
import type { Hooks } from './hooks.ts'
import type { HostContext } from './host-context.ts'
import { Interactions } from './interactions.ts'
import { Approvals, type ProjectApprovals } from './permissions/approvals.ts'
import { SessionPolicy, type Judge } from './permissions/session-policy.ts'
import { runCall } from './pipeline.ts'
import type { SessionScope } from './session-scope.ts'
import type { Settings } from './settings.ts'
import type { CallOptions, ToolCall } from './stages/receive.ts'

export interface SessionOptions {
  /** Default: the configuration's, else `ask`. */
  readonly mode?: SecurityMode
  readonly rules?: readonly Rule[]
  readonly role?: string
  /** The person of this session. Without one, and without an approver, whatever would ask is denied. */
  readonly interactor?: Interactor
  /** Decides approvals instead of the interactor. */
  readonly approver?: Approver
  /** The most any tool may be able to reach in this session. */
  readonly ceiling?: RequirementSet
  readonly budget?: BudgetLimits
  readonly hooks?: Hooks
  /** Hears of every call that the rules let pass. */
  readonly watchdog?: Judge
  /** Hear of every gated call; the first that refuses ends it. */
  readonly guards?: readonly Judge[]
  /** Cancels the session and everything in it. */
  readonly signal?: AbortSignal
}

export interface Session {
  readonly id: string
  tools(): readonly ToolDefinition[]
  /** Contract: never rejects. Every call ends in exactly one outcome. */
  call(call: ToolCall, options?: CallOptions): Promise<Outcome>
  /** Cancels what runs and resolves when it has settled. Idempotent. */
  close(): Promise<void>
}

export interface SessionSources {
  readonly host: HostContext
  readonly settings: Settings
  readonly variables: VariableValues
  readonly projectApprovals: ProjectApprovals
  readonly onClose: (session: HostSession) => void
}

/** A conversation of a model with the tools, under one policy. */
export class HostSession implements Session {
  readonly id = randomUUID()
  readonly #sources: SessionSources
  readonly #scope: SessionScope
  readonly #open = new Map<AbortController, Promise<Outcome>>()
  readonly #forgetSignal: () => void
  #cancelled: BulkheadError | undefined
  #closing: Promise<void> | undefined

  /** Throws ConfigInvalid or RequirementInvalid for options that make no sense. */
  constructor(options: SessionOptions, sources: SessionSources) {
    const { host: { events, clock } } = sources
    const { interactor, approver, signal } = options
    this.#sources = sources
    this.#scope = {
      id: this.id,
      policy: policyFrom(options, sources),
      approvals: new Approvals(sources.projectApprovals),
      interactions: new Interactions({ sessionId: this.id, interactor, approver, events, clock }),
      budget: new Budget(options.budget ?? sources.settings.file.budget),
      hooks: options.hooks ?? {},
    }
    events.emit({ type: 'SessionOpened', sessionId: this.id })
    this.#forgetSignal = signal ? onAbort(signal, () => this.cancel(cancelled('was cancelled', signal.reason))) : () => {}
  }

  tools(): readonly ToolDefinition[] {
    return this.#sources.host.registry.offered().enabled().map(({ tool }) => tool.definition)
  }

  call(call: ToolCall, options: CallOptions = {}): Promise<Outcome> {
    const controller = new AbortController()
    if (this.#cancelled) controller.abort(this.#cancelled)
    const { signal } = options
    const forget = signal && onAbort(signal, () => controller.abort(callCancelled(signal.reason)))
    const { host } = this.#sources
    const scope = { session: this.#scope, signal: controller.signal, progress: beginning(host.clock), parent: undefined }
    const outcome = runCall({ scope, call, timeoutMs: options.timeoutMs }, host)
    this.#open.set(controller, outcome)
    return outcome.finally(() => {
      forget?.()
      this.#open.delete(controller)
    })
  }

  /** Lets what runs go on; calls to come end with this reason. */
  refuse(reason: BulkheadError): void {
    this.#cancelled ??= reason
  }

  /** Ends every call with this reason, those to come too. */
  cancel(reason: BulkheadError): void {
    this.refuse(reason)
    for (const controller of this.#open.keys()) controller.abort(reason)
  }

  /** Resolves when no call is open. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open.values())
  }

  get openCalls(): number {
    return this.#open.size
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { host: { events, sidecar }, onClose } = this.#sources
    this.cancel(cancelled('is closed'))
    this.#forgetSignal()
    await this.settled()
    await sidecar?.discard?.(this.id).catch((thrown: unknown) => events.suppressed('sidecar', thrown))
    events.emit({ type: 'SessionClosed', sessionId: this.id })
    onClose(this)
  }
}

const callCancelled = (cause: unknown) => new BulkheadError('ToolCancelled', 'The call was cancelled.', { cause })
const cancelled = (how: string, cause?: unknown) => new BulkheadError('SessionCancelled', `The session ${how}.`, { cause })

function policyFrom(options: SessionOptions, { settings, variables }: SessionSources): SessionPolicy {
  return new SessionPolicy({
    mode: modeFrom(options.mode ?? settings.file.mode ?? 'ask'),
    allowlist: settings.file.allowlist ?? [],
    rules: (options.rules ?? []).map(readRule),
    role: options.role,
    ceiling: options.ceiling,
    watchdog: options.watchdog,
    guards: options.guards ?? [],
    settings,
    variables,
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
