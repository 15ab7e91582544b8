import { randomUUID } from 'node:crypto'
import {
  BulkheadError, requireOptions, type AgentDescriptor, type AgentManifest, type ArgumentsReader, type Diagnostic, type EventListener,
  type EventType, type ExtensionDescriptor, type Freeze, type FreezeReport, type JoinedHost, type Layer, type ToolDefinition,
  type ToolListing,
} from '@bulkhead/contract'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { requireNodeVersion } from '@bulkhead/kit/node-version'
import { HookChain, refuseSlips } from './calls/hooks.ts'
import { createApprovalBook, type ApprovalBook } from './policy/approvals/approval-book.ts'
import { openAudit, secretsOf, type AuditTrail } from './records/audit-trail.ts'
import { EventBus, requireSubscription } from './records/events.ts'
import {
  HOST_FORM, statusesOf, type ExtensionStatus, type FreezeOrder, type Host, type HostOptions, type SwitchReport,
} from './host-interface.ts'
import { approvalsIn, insideOf, type HostInside } from './host-inside.ts'
import { LoopLagMonitor, type LoopLag } from './records/loop-lag.ts'
import { MetricsRecorder, type ToolMetrics } from './records/metrics.ts'
import type { ReloadReport, ReloadRequest } from './extensions/reload/report.ts'
import { BUDGET_FORM, Workflows, type BudgetLimits } from './model/budget.ts'
import { readAgents } from './sessions/agents.ts'
import { closeAll, type CloseReport } from './sessions/closing.ts'
import type { ResumeOptions } from './sessions/resumption.ts'
import type { SessionOptions, Session } from './sessions/session.ts'
import type { AgentRunner, Delegated, Delegation } from './sessions/delegation.ts'
import type { StopReport } from './extensions/reload/retirement.ts'
import { systemClock } from './model/system-clock.ts'
import type { InterruptedCall } from './records/interrupted-calls.ts'
import { CallJournal } from './records/call-journal.ts'
import { QuestionDesk } from './policy/interaction/question-desk.ts'
import type { PausedCall } from './policy/interaction/paused-record.ts'
import { sidecarWithTimeout, StoreWithTimeout } from './records/timeouts.ts'
import { UseListeners } from './records/use-listeners.ts'
import type { WallReport } from './sessions/wall-report.ts'
import type { Place } from './sessions/place.ts'
import { freezeHosts, takeSeat } from './shared-store.ts'
import { Workspace, type WorkspaceSources } from './sessions/workspace.ts'

const DRAIN_MS = 5_000

/** Creates a host. Throws ConfigInvalid for invalid options. */
export function createHost(options: HostOptions): Host {
  requireNodeVersion()
  requireOptions('createHost', options, HOST_FORM, 'report', 'workspace', 'sandbox', 'store', 'userData', 'env')
  for (const hooks of [options.hooks ?? []].flat()) refuseSlips(hooks)
  return new ToolHost(options)
}

class ToolHost implements Host {
  readonly approvals: ApprovalBook
  readonly inside: HostInside
  readonly #sources: WorkspaceSources
  /** Earlier workspaces that still have sessions. */
  readonly #left = new Map<Workspace, PromiseWithResolvers<StopReport>>()
  readonly #audit: AuditTrail | undefined
  readonly #metrics = new MetricsRecorder()
  readonly #loopLag = new LoopLagMonitor()
  #workspace: Workspace
  #closing: Promise<CloseReport> | undefined

  constructor(options: HostOptions) {
    const { userData, env, smokeCheck, interactor, passkeys, clock = systemClock } = options
    const { drainMs = DRAIN_MS, startsEager = true, agents = [], roles = () => [], agentsRequire = 'narrows' } = options
    const { argumentsReaders = new Map<string, ArgumentsReader>(), owner = { id: randomUUID(), isGone: () => true } } = options
    const store = new StoreWithTimeout(options.store, clock)
    const events = new EventBus(clock)
    const desk = new QuestionDesk(() => ({ ring: passkeys, now: clock.now() }))
    const seat = takeSeat({
      store, desk, given: options.store, owner, events, clock, workspaces: () => this.#workspaces, onGone: () => journal.recoverAgain(),
    })
    const journal: CallJournal = new CallJournal({ store, seat, events, clock, audited: async () => this.#audit?.settled() })
    this.#sources = {
      store, userData, env, events, clock, smokeCheck, interactor, argumentsReaders, drainMs, journal, seat, desk, passkeys,
      sidecar: options.sidecar && sidecarWithTimeout(options.sidecar, clock), startsEager, workflows: new Workflows(),
      metrics: this.#metrics, uses: new UseListeners(), audit: () => this.#audit, agents: readAgents(agents), roles, agentsRequire,
      hooks: new HookChain(undefined, [options.hooks ?? []].flat()),
    }
    this.#workspace = new Workspace(options, this.#sources)
    const registered = () => this.#registry.candidates
    this.#audit = openAudit({ config: options.report.config.merged.audit, store, events, env, registered })
    const { ledger } = this.#workspace.projectApprovals
    this.approvals = createApprovalBook({ ledger, now: () => clock.now(), open: () => approvalsIn(this.#workspaces) })
    this.inside = insideOf(desk, this.#sources.uses, () => this.#workspaces, this.#sources.hooks, secretsOf(registered, env))
    // Later, so that a listener that subscribes at once receives it.
    queueMicrotask(() => journal.recover())
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#workspace.diagnostics
  }

  tryWalls(): Promise<void> {
    return this.#workspace.tryWalls()
  }

  walls(): Promise<WallReport> {
    return this.#workspace.walls()
  }

  tools(): readonly ToolListing[] {
    return this.#registry.list()
  }

  tool(name: string): ToolListing | undefined {
    return this.#registry.view.listing(name)
  }

  agents(): readonly AgentDescriptor[] {
    return this.#workspace.agents.list()
  }

  agent(name: string): AgentManifest {
    return this.#workspace.agents.named(name).manifest
  }

  extensions(): readonly ExtensionStatus[] {
    return statusesOf(this.#registry.view, this.#registry.extensions(), this.#workspace.retirement.leaving)
  }

  on(listener: EventListener, types?: readonly EventType[]): () => void {
    requireSubscription(listener, types)
    return this.#sources.events.on(listener, types && new Set(types))
  }

  async register(extensions: readonly ExtensionDescriptor[]): Promise<void> {
    requireOptions('register', { extensions }, REGISTERED, 'extensions')
    return this.#change(({ context: { registry }, reloader }) => {
      const unwanted = registry.register(extensions)
      reloader.setApart(extensions)
      return unwanted
    })
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
    requireOptions('reload', request, RELOAD)
    return this.#workspace.reloader.reload(request)
  }

  async switchWorkspace(place: Place): Promise<SwitchReport> {
    this.#refuseClosed()
    const old = this.#workspace
    this.#workspace = new Workspace(place, this.#sources)
    const unloaded = Promise.withResolvers<StopReport>()
    this.#left.set(old, unloaded)
    this.#sources.seat.describe()
    this.#sources.events.emit({ type: 'WorkspaceSwitched', from: old.path, to: place.workspace })
    this.#unloadIfEmpty(old)
    return { sessionsLeft: old.sessions.size, unloaded: unloaded.promise }
  }

  metrics(): readonly ToolMetrics[] {
    return this.#metrics.snapshot()
  }

  loopLag(): LoopLag {
    return this.#loopLag.snapshot()
  }

  async openSession(options: SessionOptions = {}): Promise<Session> {
    return this.#open(async (workspace, onEnd) => workspace.openSession(options, onEnd))
  }

  async resumeSession(id: string, options: ResumeOptions = {}): Promise<Session> {
    return this.#open((workspace, onEnd) => workspace.resumeSession(id, options, onEnd))
  }

  callableTools(sessionId: string): readonly ToolDefinition[] {
    return this.#workspaces.flatMap((workspace) => workspace.callableTools(sessionId))
  }

  async delegate(delegation: Delegation, run: AgentRunner): Promise<Delegated> {
    const workspace = this.#workspaces.find(({ openSessions }) => openSessions.has(delegation.sessionId))
    return (workspace ?? this.#workspace).delegate(delegation, run)
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

  hosts(): Promise<readonly JoinedHost[]> {
    return this.#sources.seat.hosts()
  }

  freeze(order: FreezeOrder = {}): Promise<FreezeReport> {
    return freezeHosts(this.#sources.seat, order)
  }

  thaw(): Promise<Freeze | undefined> {
    return this.#sources.seat.thaw()
  }

  async flush(): Promise<void> {
    await Promise.all(this.#workspaces.map((workspace) => workspace.written()))
    // Waits for both, also if one of them fails.
    const [, audit] = await Promise.allSettled([this.#sources.journal.settled(), this.#audit?.flush()])
    if (audit.status === 'rejected') throw audit.reason
  }

  runWorkflow<Value>(limits: BudgetLimits | undefined, work: () => Value): Value {
    requireOptions('runWorkflow', { limits, work }, WORKFLOW, 'work')
    return this.#sources.workflows.run(limits ?? this.#workspace.settings.file.budget, work)
  }

  close(): Promise<CloseReport> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  get #workspaces(): readonly Workspace[] {
    return [this.#workspace, ...this.#left.keys()]
  }

  get #registry() {
    return this.#workspace.context.registry
  }

  #open(open: (workspace: Workspace, onEnd: () => void) => Promise<Session>): Promise<Session> {
    return this.#sources.seat.opening(async () => {
      const workspace = await this.#readyWorkspace()
      return open(workspace, () => this.#unloadIfEmpty(workspace))
    })
  }

  /** Resolves with the current workspace when it is ready. */
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

  /** Retires what a change made obsolete, once it is no longer in use. */
  async #change(change: (workspace: Workspace) => Parameters<Workspace['retirement']['retire']>[0]): Promise<void> {
    this.#refuseClosed()
    const workspace = this.#workspace
    await workspace.reloader.queue(() => {
      workspace.retirement.retire(change(workspace), unloaded())
      workspace.holdBack()
      workspace.reloader.startEager()
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
    const report = await closeAll(this.#workspaces, closed(), clock, drainMs)
    // A loss is reported as SuppressedError, which must be stored too.
    for (let times = 0; times < 2; times++) await this.flush().catch(() => undefined)
    await this.#sources.seat.leave()
    this.#loopLag.stop()
    return report
  }
}

const REGISTERED = { extensions: forms.list(forms.object) }
const RELOAD: OptionForms<ReloadRequest> = { report: forms.object, extensions: forms.list(forms.text) }
const WORKFLOW = { limits: BUDGET_FORM, work: forms.method }

const closed = () => new BulkheadError('HostClosed', 'The host is closed.')
const unloaded = () => new BulkheadError('ToolCancelled', 'The extension was unloaded.')
