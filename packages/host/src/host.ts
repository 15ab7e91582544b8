import {
  BulkheadError, type ArgumentsReader, type Clock, type Diagnostic, type EventListener, type ExtensionDescriptor, type Interactor,
  type Layer, type Store, type ToolListing,
} from '@bulkhead/contract'
import type { AuditTrail } from './audit/audit-trail.ts'
import { openAudit } from './audit/open-audit.ts'
import { settlesWithin } from './bounded-wait.ts'
import { EventBus } from './events.ts'
import { statusOf, type ExtensionStatus } from './extension-status.ts'
import type { Sidecar } from './host-context.ts'
import { MetricsRecorder, type ToolMetrics } from './metrics/tool-metrics.ts'
import type { ReloadReport, ReloadRequest } from './reload/reload-report.ts'
import type { SmokeCheck } from './reload/smoke-check.ts'
import type { BudgetLimits } from './sessions/budget.ts'
import type { SessionOptions } from './sessions/session-options.ts'
import { HostSession } from './sessions/host-session.ts'
import type { Session } from './sessions/session.ts'
import { Workflows } from './sessions/workflows.ts'
import type { StopReport } from './shutdown.ts'
import { systemClock } from './system-clock.ts'
import { OpenCalls, type InterruptedCall, type Owner } from './journal/open-calls.ts'
import type { PausedCall } from './interaction/paused-calls.ts'
import { Workspace, type Place, type WorkspaceSources } from './workspace.ts'

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
  /** Who is asked by an extension that is started by nobody's call: an eager one, or one that is reloaded. */
  readonly interactor?: Interactor
  /** What a new generation must pass besides starting, before it takes over from one that runs. */
  readonly smokeCheck?: SmokeCheck
  /** Readers of the arguments of locked tools, by name, whoever implements them. */
  readonly argumentsReaders?: ReadonlyMap<string, ArgumentsReader>
  /** How long running calls may go on when they must end. */
  readonly drainMs?: number
}

export interface Host {
  tools(): readonly ToolListing[]
  /** What answers to the name, with its origin and generation. */
  tool(name: string): ToolListing | undefined
  /** Every extension that is loaded, hidden ones and those that are being let go too. */
  extensions(): readonly ExtensionStatus[]
  /** The loader's and the registry's own: what is not offered, and why. */
  readonly diagnostics: readonly Diagnostic[]
  /** Offers more extensions. What is wrong with one of them becomes a diagnostic. Rejects with HostClosed. */
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
  /** Returns what ends the subscription. */
  on(listener: EventListener): () => void
  /** What became of the calls so far, by tool. */
  metrics(): readonly ToolMetrics[]
  /**
   * Lets running calls end, cancels what is left, stops extensions in reverse order. Never rejects; idempotent.
   * Sandbox and store stay open: whoever opened them closes them.
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

const DRAIN_MS = 5_000

/** The owner of every extension's life and of every session. */
export function createHost(options: HostOptions): Host {
  return new ToolHost(options)
}

class ToolHost implements Host {
  readonly #sources: WorkspaceSources
  /** Those that were left and have sessions. */
  readonly #left = new Map<Workspace, PromiseWithResolvers<StopReport>>()
  readonly #audit: AuditTrail | undefined
  readonly #metrics = new MetricsRecorder()
  #workspace: Workspace
  #closing: Promise<CloseReport> | undefined

  constructor(options: HostOptions) {
    const { store, userData, env, sidecar, smokeCheck, interactor, clock = systemClock, drainMs = DRAIN_MS } = options
    const { argumentsReaders = new Map<string, ArgumentsReader>() } = options
    const events = new EventBus(clock)
    const journal = new OpenCalls({ store, owner: options.owner, events, clock })
    this.#sources = {
      store, userData, env, events, clock, sidecar, smokeCheck, interactor, argumentsReaders, drainMs, journal,
      workflows: new Workflows(),
    }
    this.#workspace = new Workspace(options, this.#sources)
    const { config: { merged: { audit: config } } } = options.report
    events.on(this.#metrics.hear)
    this.#audit = openAudit({ config, store, events, env, registry: () => this.#registry })
    // Later, so that whoever subscribes first hears of it.
    queueMicrotask(() => journal.recover())
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#workspace.diagnostics
  }

  tools(): readonly ToolListing[] {
    return this.#registry.list()
  }

  tool(name: string): ToolListing | undefined {
    return this.#registry.view.listing(name)
  }

  extensions(): readonly ExtensionStatus[] {
    const { retirement: { leaving } } = this.#workspace
    const { view } = this.#registry
    return [
      ...this.#registry.extensions().map((extension) => statusOf(extension, view, false)),
      ...leaving.map((extension) => statusOf(extension, view, true)),
    ]
  }

  on(listener: EventListener): () => void {
    return this.#sources.events.on(listener)
  }

  register(extensions: readonly ExtensionDescriptor[]): Promise<void> {
    return this.#change(({ context: { registry } }) => registry.register(extensions))
  }

  async unregister(id: string, layer?: Layer): Promise<boolean> {
    let found = false
    await this.#change(({ context: { registry } }) => {
      const from = layer ?? registry.extension(id)?.descriptor.layer
      found = registry.candidates.some(({ descriptor }) => descriptor.id === id && descriptor.layer === from)
      return found ? registry.unregister(id, from!) : []
    })
    return found
  }

  clear(): Promise<void> {
    return this.#change(({ context: { registry } }) => registry.clear())
  }

  async reload(request: ReloadRequest = {}): Promise<ReloadReport> {
    this.#refuseClosed()
    return this.#workspace.reloader.reload(request)
  }

  async switchWorkspace(place: Place): Promise<SwitchReport> {
    this.#refuseClosed()
    const old = this.#workspace
    this.#workspace = new Workspace(place, this.#sources)
    this.#sources.events.emit({ type: 'WorkspaceSwitched', from: old.path, to: place.workspace })
    const unloaded = Promise.withResolvers<StopReport>()
    this.#left.set(old, unloaded)
    this.#unloadIfEmpty(old)
    return { sessionsLeft: old.sessions.size, unloaded: unloaded.promise }
  }

  metrics(): readonly ToolMetrics[] {
    return this.#metrics.snapshot()
  }

  async openSession(options: SessionOptions = {}): Promise<Session> {
    const workspace = await this.#readyWorkspace()
    const session = new HostSession(options, {
      host: workspace.context,
      settings: workspace.settings,
      variables: workspace.variables,
      workspace: workspace.path,
      projectApprovals: workspace.projectApprovals,
      onClose: (ended) => {
        workspace.sessions.delete(ended)
        this.#unloadIfEmpty(workspace)
      },
    })
    workspace.sessions.add(session)
    return session
  }

  pausedCalls(): Promise<readonly PausedCall[]> {
    return this.#workspace.context.paused.list()
  }

  forgetPaused(id: string): Promise<void> {
    return this.#workspace.context.paused.forget(id)
  }

  interruptedCalls(): Promise<readonly InterruptedCall[]> {
    return this.#sources.journal.recover()
  }

  async flush(): Promise<void> {
    await Promise.all([this.#sources.journal.settled(), this.#audit?.flush()])
  }

  runWorkflow<Value>(limits: BudgetLimits | undefined, work: () => Value): Value {
    return this.#sources.workflows.run(limits ?? this.#workspace.settings.file.budget, work)
  }

  close(): Promise<CloseReport> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  get #registry() {
    return this.#workspace.context.registry
  }

  /** The one that is current when it is ready. */
  async #readyWorkspace(): Promise<Workspace> {
    for (;;) {
      const workspace = this.#workspace
      await Promise.all([workspace.projectApprovals.load(), this.#sources.journal.recover()])
      this.#refuseClosed()
      if (workspace === this.#workspace) return workspace
    }
  }

  #refuseClosed(): void {
    if (this.#closing) throw closed()
  }

  /** What a change makes needless is let go of when nobody needs it any more. */
  async #change(change: (workspace: Workspace) => Parameters<Workspace['retirement']['retire']>[0]): Promise<void> {
    this.#refuseClosed()
    const workspace = this.#workspace
    await workspace.reloader.queue(() => {
      workspace.retirement.retire(change(workspace), unloaded())
      workspace.startEager()
    })
  }

  #unloadIfEmpty(workspace: Workspace): void {
    const left = this.#left.get(workspace)
    if (!left || workspace.sessions.size > 0) return
    this.#left.delete(workspace)
    left.resolve(workspace.unload(unloaded(), this.#sources.drainMs))
  }

  async #close(): Promise<CloseReport> {
    const { clock, drainMs } = this.#sources
    const workspaces = [this.#workspace, ...this.#left.keys()]
    const sessions = workspaces.flatMap((workspace) => [...workspace.sessions])
    for (const session of sessions) session.refuse(closed())
    await settlesWithin(clock, drainMs, Promise.all(sessions.map((session) => session.settled())))
    const cancelledCalls = sessions.reduce((sum, session) => sum + session.openCalls, 0)
    for (const session of sessions) session.cancelWith(closed())
    await Promise.all(sessions.map((session) => session.close()))
    const reports = await Promise.all(workspaces.map((workspace) => workspace.unload(closed(), drainMs)))
    // Whoever must know whether all was kept has flushed; a loss has been told as a SuppressedError.
    await this.flush().catch(() => undefined)
    return {
      stopped: reports.flatMap(({ stopped }) => stopped), faults: reports.flatMap(({ faults }) => faults), cancelledCalls,
    }
  }
}

const closed = () => new BulkheadError('HostClosed', 'The host is closed.')
const unloaded = () => new BulkheadError('ToolCancelled', 'The extension was unloaded.')
