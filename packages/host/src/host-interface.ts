import type {
  AgentDescriptor, AgentInput, AgentManifest, ArgumentsReader, BulkheadError, Clock, Diagnostic, EventListener,
  EventType, ExtensionDescriptor, Freeze, FreezeReport, Interactor, JoinedHost, Layer, LifecycleState, PasskeyRing, Placement,
  Store,
  ToolDefinition, ToolListing,
} from '@bulkhead/contract'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { HOOKS_FORM } from './calls/hooks.ts'
import type { Extension } from './extensions/lifecycle/extension.ts'
import type { RegistryView } from './extensions/registry/offered-tools.ts'
import type { ReloadReport, ReloadRequest } from './extensions/reload/report.ts'
import type { StopReport } from './extensions/reload/retirement.ts'
import type { SmokeCheck } from './extensions/reload/trial.ts'
import type { BudgetLimits } from './model/budget.ts'
import type { Hooks } from './model/hooks.ts'
import type { ApprovalBook } from './policy/approvals/approval-book.ts'
import type { PausedCall } from './policy/interaction/paused-record.ts'
import type { HostInside } from './host-inside.ts'
import type { AgentsRequire } from './policy/agent-bound.ts'
import type { InterruptedCall } from './records/interrupted-calls.ts'
import type { Owner } from './records/owner.ts'
import type { LoopLag } from './records/loop-lag.ts'
import type { ToolMetrics } from './records/metrics.ts'
import type { Sidecar } from './records/timeouts.ts'
import type { CloseReport } from './sessions/closing.ts'
import type { AgentRunner, Delegated, Delegation } from './sessions/delegation.ts'
import type { ResumeOptions } from './sessions/resumption.ts'
import type { SessionOptions, Session } from './sessions/session.ts'
import type { WallReport } from './sessions/wall-report.ts'
import type { Place } from './sessions/place.ts'

export interface HostOptions extends Place {
  readonly store: Store
  readonly clock?: Clock
  /** The folder of {user-data}. */
  readonly userData: string
  /** Looked up for declared names only. */
  readonly env: (name: string) => string | undefined
  readonly sidecar?: Sidecar
  /** The process that writes to the store, if several share it. Default: this host alone. */
  readonly owner?: Owner
  /** Answers questions of an extension that starts without a call: an eager one, or one that is reloaded. */
  readonly interactor?: Interactor
  /** The passkeys that rules may demand. Absent: no call is allowed that needs one. */
  readonly passkeys?: PasskeyRing
  /** What a new generation must pass besides starting, before it takes over from one that runs. */
  readonly smokeCheck?: SmokeCheck
  /** Readers of the arguments of locked tools, by name, for every implementation of the tool. */
  readonly argumentsReaders?: ReadonlyMap<string, ArgumentsReader>
  /** Agents that `openSession` knows by name, besides those of the report, which they hide. */
  readonly agents?: readonly AgentInput[]
  /**
   * What `requires` of an agent without a `ceiling` does: `narrows`, it is the ceiling; `adds`, it is part of the
   * surface of the session. Default: narrows.
   */
  readonly agentsRequire?: AgentsRequire
  /** Roles that later sessions may have, so that flags for them are not reported as unknown. Default: none. */
  readonly roles?: () => Iterable<string>
  /** Hooks of every session, before those of the session itself. */
  readonly hooks?: Hooks | readonly Hooks[]
  /** How long running calls may take when they must end. */
  readonly drainMs?: number
  /** Whether extensions with eager activation start with the host. Default: true. */
  readonly startsEager?: boolean
}

export const HOST_FORM: OptionForms<HostOptions> = {
  report: forms.object, workspace: forms.text, sandbox: forms.having('open'), source: forms.having('load'),
  store: forms.having('read', 'write'), clock: forms.having('now'), userData: forms.text, env: forms.method,
  sidecar: forms.having('save'), owner: forms.having('isGone'), interactor: forms.having('interact'),
  passkeys: forms.having('keys', 'use', 'seal', 'isSealed'),
  smokeCheck: forms.method, argumentsReaders: forms.having('get'), neverWritten: forms.list(forms.text),
  realPath: forms.method, readStart: forms.method, ignored: forms.method, countFiles: forms.method,
  findRoot: forms.method, commandVariables: forms.list(forms.object), watchServers: forms.method,
  hooks: forms.either(HOOKS_FORM, forms.list(HOOKS_FORM)), drainMs: forms.from(0), startsEager: forms.flag,
  agents: forms.list(forms.object), roles: forms.method, agentsRequire: forms.oneOf('narrows', 'adds'),
}

export interface Host {
  /** Approvals that last longer than one call. */
  readonly approvals: ApprovalBook
  tools(): readonly ToolListing[]
  /** The tool of this name, with its origin and generation. */
  tool(name: string): ToolListing | undefined
  /** The agents that `openSession` knows by name, those that cannot be used included. */
  agents(): readonly AgentDescriptor[]
  /** The agent of this name. Throws AgentNotFound, or AgentInvalid if it cannot be used. */
  agent(name: string): AgentManifest
  /** Every loaded extension, including hidden and retired ones. */
  extensions(): readonly ExtensionStatus[]
  /** Why something is not offered, and unknown names in the configuration and in the options of open sessions. */
  readonly diagnostics: readonly Diagnostic[]
  /**
   * Tries the isolation features of the operating system now, instead of when the first extension starts in a process.
   * A missing feature is a diagnostic from then on, and a `SuppressedError` event with the source `sandbox`.
   */
  tryWalls(): Promise<void>
  /**
   * What the operating system holds against tools, commands and local servers here, for people. Tried when it is first
   * asked for, which can take a second. Rejects if it cannot be tried now.
   */
  walls(): Promise<WallReport>
  /**
   * Registers extensions, independent of reloads. A fault of one of them becomes a diagnostic. Rejects, and changes
   * nothing, with HostClosed, or with RegistrationConflict if an offered extension would have to go.
   */
  register(extensions: readonly ExtensionDescriptor[]): Promise<void>
  /**
   * Unregisters an extension, of the layer in use unless another is named, and offers again what it hid. It stops after
   * its turns and calls. Resolves with whether there was one.
   */
  unregister(id: string, layer?: Layer): Promise<boolean>
  /** Unregisters all. */
  clear(): Promise<void>
  /**
   * Loads the current extensions without losing a call. Rejects, and changes nothing, with the error of the source,
   * ExtensionNotFound or HostClosed. The report has the faults of single extensions.
   */
  reload(request?: ReloadRequest): Promise<ReloadReport>
  /**
   * Switches the host to another folder. Open sessions stay in theirs, with its tools and rules. It is unloaded when
   * the last of them has closed.
   */
  switchWorkspace(place: Place): Promise<SwitchReport>
  /**
   * Rejects with HostClosed, with AgentNotFound or AgentInvalid, and with ConfigInvalid, RequirementInvalid,
   * ProjectPathInvalid or InputInvalid for invalid options.
   */
  openSession(options?: SessionOptions): Promise<Session>
  /**
   * Continues a session of this workspace whose host has closed or died, with its approvals, used budget, plan, to-do
   * list, undo, ids of calls and what extensions keep for it. It has the options that it was opened with, under today's
   * rules. Rejects with NotFound, also for a session of another principal, SessionActiveElsewhere while a host that runs
   * has it, and as `openSession` does.
   */
  resumeSession(id: string, options?: ResumeOptions): Promise<Session>
  /** The tools of an open session, without those of which every call is denied. Empty for an unknown id. */
  callableTools(sessionId: string): readonly ToolDefinition[]
  /**
   * Runs a sub-agent for a call of the tool `task`. Rejects with AgentNotFound, AgentInvalid, SubagentDepthExceeded,
   * and with what the runner throws.
   */
  delegate(delegation: Delegation, run: AgentRunner): Promise<Delegated>
  /**
   * Calls made within `work`, in any session and at any time, use a budget of their own: the async context carries it.
   * Without limits, those of the configuration apply.
   */
  runWorkflow<Value>(limits: BudgetLimits | undefined, work: () => Value): Value
  /** Calls that wait for an answer, or have one and wait for `session.resume`. Rejects with StoreUnavailable. */
  pausedCalls(): Promise<readonly PausedCall[]>
  /** Drops a paused call. Rejects with StoreUnavailable. */
  forgetPaused(id: string): Promise<void>
  /** Calls that were open when a host of this store ended, each closed with an error outcome. Never rejects. */
  interruptedCalls(): Promise<readonly InterruptedCall[]>
  /**
   * The hosts on the store, this one included: sessions, open questions and running calls of each, and the digest of its
   * rules. Rejects with StoreUnavailable.
   */
  hosts(): Promise<readonly JoinedHost[]>
  /**
   * Stops every host on the store from starting calls, nested calls and further attempts included: they end with
   * HostFrozen. Running calls go on unless they are cancelled. It is confirmed if the report names no unconfirmed host;
   * it is in force in any case. Rejects with StoreUnavailable.
   */
  freeze(order?: FreezeOrder): Promise<FreezeReport>
  /** Lets calls start again. Resolves with the freeze that it ended. Rejects with StoreUnavailable. */
  thaw(): Promise<Freeze | undefined>
  /** Resolves when all events so far are stored. Rejects with StoreUnavailable if audit records were lost. */
  flush(): Promise<void>
  /**
   * `types`: the events to receive, all by default. Returns a function that ends the subscription. Throws
   * ConfigInvalid.
   */
  on(listener: EventListener, types?: readonly EventType[]): () => void
  /** The outcomes of all calls so far, by tool. */
  metrics(): readonly ToolMetrics[]
  /** For an inspector. */
  readonly inside: HostInside
  /** For how long this process was too busy to serve calls, since the host was created. */
  loopLag(): LoopLag
  /**
   * Waits for running calls, cancels the rest, then stops extensions in reverse order. Never rejects; idempotent.
   * Sandbox and store stay open: the caller that opened them closes them.
   */
  close(): Promise<CloseReport>
}

export interface FreezeOrder {
  /** Who freezes, for the error of each call. Default: the id of the host. */
  readonly by?: string
  readonly reason?: string
  /** Whether running calls are cancelled. Default: false. */
  readonly cancel?: boolean
}

export interface SwitchReport {
  /** Sessions that stay in the folder that was left. */
  readonly sessionsLeft: number
  /** Resolves when nothing of that folder runs: then its sandbox can be closed. */
  readonly unloaded: Promise<StopReport>
}

/** The status of one loaded extension, for operators. */
export interface ExtensionStatus {
  readonly id: string
  readonly version: string
  readonly layer: Layer
  /** Its location, for display. */
  readonly location: string
  readonly generation: number
  readonly placement: Placement
  readonly state: LifecycleState
  /** offered: its tools can be called. hidden: by a layer above or a fault. leaving: replaced, and still busy. */
  readonly availability: 'offered' | 'hidden' | 'leaving'
  /** @deprecated Use `availability`. */
  readonly standing: 'offered' | 'hidden' | 'leaving'
  readonly tools: readonly string[]
  /** Calls bound to it, including those that wait for a person. */
  readonly calls: number
  /** How often it started again after its compartment had failed. */
  readonly restarts: number
  /** Why it failed last, until it is active again. */
  readonly fault?: BulkheadError
  /** How long it stays quarantined. */
  readonly restMs?: number
}

/** Of those that are registered, and of those that are leaving. */
export const statusesOf = (
  view: RegistryView, extensions: readonly Extension[], leaving: readonly Extension[],
): readonly ExtensionStatus[] => [
  ...extensions.map((extension) => statusOf(extension, view, false)),
  ...leaving.map((extension) => statusOf(extension, view, true)),
]

function statusOf(extension: Extension, view: RegistryView, isLeaving: boolean): ExtensionStatus {
  const { descriptor: { id, version, layer, location, manifest }, generation, state, fault, restMs } = extension
  const availability = isLeaving ? 'leaving' : view.serves(extension) ? 'offered' : 'hidden'
  return {
    id, version, layer, location, generation, state, placement: extension.arrangement.placement,
    availability, standing: availability,
    tools: manifest.tools.map(({ name }) => name),
    calls: extension.leases.size, restarts: extension.restarts,
    ...(fault ? { fault } : {}),
    ...(restMs > 0 ? { restMs } : {}),
  }
}
