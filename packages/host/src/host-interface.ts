import type {
  ArgumentsReader, BulkheadError, Clock, Diagnostic, EventListener, EventType, ExtensionDescriptor, Interactor, Layer,
  LifecycleState, Store, ToolListing,
} from '@bulkhead/contract'
import type { Extension } from './extensions/lifecycle/extension.ts'
import type { RegistryView } from './extensions/registry/offered-tools.ts'
import type { ReloadReport, ReloadRequest } from './extensions/reload/report.ts'
import type { StopReport } from './extensions/reload/retirement.ts'
import type { SmokeCheck } from './extensions/reload/trial.ts'
import type { BudgetLimits } from './model/budget.ts'
import type { ApprovalBook } from './policy/approvals/approval-book.ts'
import type { PausedCall } from './policy/interaction/paused-calls.ts'
import type { InterruptedCall, Owner } from './records/interrupted-calls.ts'
import type { ToolMetrics } from './records/metrics.ts'
import type { Sidecar } from './records/timeouts.ts'
import type { SessionOptions, Session } from './sessions/session.ts'
import type { Place } from './sessions/workspace.ts'

export interface HostOptions extends Place {
  readonly store: Store
  readonly clock?: Clock
  /** The folder {user-data} stands for. */
  readonly userData: string
  /** Looked up for declared names only. */
  readonly env: (name: string) => string | undefined
  readonly sidecar?: Sidecar
  /** Who writes to the store, where several processes share it. Default: this host alone. */
  readonly owner?: Owner
  /** Answers questions of an extension that starts without a call: an eager one, or one that is reloaded. */
  readonly interactor?: Interactor
  /** What a new generation must pass besides starting, before it takes over from one that runs. */
  readonly smokeCheck?: SmokeCheck
  /** Readers of the arguments of locked tools, by name, for every implementation of the tool. */
  readonly argumentsReaders?: ReadonlyMap<string, ArgumentsReader>
  /** How long running calls may go on when they must end. */
  readonly drainMs?: number
}

export interface Host {
  /** What people have approved of for longer than one call. */
  readonly approvals: ApprovalBook
  tools(): readonly ToolListing[]
  /** What answers to the name, with its origin and generation. */
  tool(name: string): ToolListing | undefined
  /** Every extension that is loaded, hidden ones and those that are being let go too. */
  extensions(): readonly ExtensionStatus[]
  /** The loader's and the registry's own: what is not offered, and why; and what a configuration or an open session says of no tool. */
  readonly diagnostics: readonly Diagnostic[]
  /**
   * Tries the walls of the operating system now, instead of when the first extension starts in a process. A wall that is missing is
   * a diagnostic from then on, and a `SuppressedError` event with the source `sandbox`.
   */
  tryWalls(): Promise<void>
  /**
   * Offers more extensions, whatever a reload finds. What is wrong with one of them becomes a diagnostic. Rejects, and changes
   * nothing, with HostClosed, or where one that is offered now would have to go: RegistrationConflict.
   */
  register(extensions: readonly ExtensionDescriptor[]): Promise<void>
  /**
   * Takes back one, of the layer that answers unless another is named; what it hid is offered again. It ends when the turns
   * that know it and its calls have. Resolves with whether there was one.
   */
  unregister(id: string, layer?: Layer): Promise<boolean>
  /** Takes back all. */
  clear(): Promise<void>
  /**
   * Brings what is offered to what there is now, without losing a call. Rejects, and changes nothing, with what the source
   * rejects with, ExtensionNotFound, or HostClosed; what is wrong with one extension is in the report.
   */
  reload(request?: ReloadRequest): Promise<ReloadReport>
  /**
   * From here on the host works in another folder. Sessions that are open stay in theirs, with its tools and rules, and what
   * they no longer need is unloaded when the last of them has closed.
   */
  switchWorkspace(place: Place): Promise<SwitchReport>
  /**
   * Rejects with HostClosed, and with ConfigInvalid, RequirementInvalid, ProjectPathInvalid or InputInvalid for options that
   * make no sense.
   */
  openSession(options?: SessionOptions): Promise<Session>
  /**
   * What is called from within `work`, in whichever session and however late, draws on a budget of its own: the async
   * context carries it. Without limits, those of the configuration.
   */
  runWorkflow<Value>(limits: BudgetLimits | undefined, work: () => Value): Value
  /** Calls that wait for an answer, or have one and wait to go on; `session.resume` does. Rejects with StoreUnavailable. */
  pausedCalls(): Promise<readonly PausedCall[]>
  /** Gives a paused call up. Rejects with StoreUnavailable. */
  forgetPaused(id: string): Promise<void>
  /** Calls that were open when a host of this store ended, each closed with an error outcome. Never rejects. */
  interruptedCalls(): Promise<readonly InterruptedCall[]>
  /** Resolves when everything that happened so far is in the store. Rejects with StoreUnavailable when the audit of some of it is not. */
  flush(): Promise<void>
  /** `types`: the events to receive, all by default. Returns a function that ends the subscription. Throws ConfigInvalid. */
  on(listener: EventListener, types?: readonly EventType[]): () => void
  /** What became of the calls so far, by tool. */
  metrics(): readonly ToolMetrics[]
  /**
   * Lets running calls end, cancels what is left, stops extensions in reverse order. Never rejects; idempotent.
   * Sandbox and store stay open: the caller that opened them closes them.
   */
  close(): Promise<CloseReport>
}

export interface CloseReport extends StopReport {
  /** Calls that had to be cancelled. */
  readonly cancelledCalls: number
}

export interface SwitchReport {
  /** Sessions that stay in the folder that was left. */
  readonly sessionsLeft: number
  /** Resolves when nothing of that folder runs any more: then its sandbox can be closed. */
  readonly unloaded: Promise<StopReport>
}

/** The status of one loaded extension, for operators. */
export interface ExtensionStatus {
  readonly id: string
  readonly version: string
  readonly layer: Layer
  /** Where it stands, for people. */
  readonly location: string
  readonly generation: number
  readonly state: LifecycleState
  /** offered: its tools can be called. hidden: one of a layer above or a fault stands before it. leaving: replaced, and still busy. */
  readonly standing: 'offered' | 'hidden' | 'leaving'
  readonly tools: readonly string[]
  /** Calls bound to it, those that wait for a person too. */
  readonly calls: number
  /** Why it failed last, while it is not active again. */
  readonly fault?: BulkheadError
  /** How long it rests before it may be started again. */
  readonly restMs?: number
}

export function statusOf(extension: Extension, view: RegistryView, isLeaving: boolean): ExtensionStatus {
  const { descriptor: { id, version, layer, location, manifest }, generation, state, fault, restMs } = extension
  return {
    id, version, layer, location, generation, state,
    standing: isLeaving ? 'leaving' : view.serves(extension) ? 'offered' : 'hidden',
    tools: manifest.tools.map(({ name }) => name),
    calls: extension.leases.size,
    ...(fault ? { fault } : {}),
    ...(restMs > 0 ? { restMs } : {}),
  }
}
