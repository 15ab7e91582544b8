import { randomUUID } from 'node:crypto'
import {
  AGENT_TOOL, BulkheadError, NO_COMMAND_WALLS, type AgentDescriptor, type ArgumentsReader, type Clock, type Diagnostic,
  type Interactor, type MissingWall, type PasskeyRing, type Sandbox, type Store, type ToolDefinition, type VariableValues,
} from '@bulkhead/contract'
import { settlesWithin } from '@bulkhead/kit/deadlines'
import type { HookChain } from '../calls/hooks.ts'
import { stopAll, Retirement, type StopReport } from '../extensions/reload/retirement.ts'
import { Registry } from '../extensions/registry/registry.ts'
import { Reloader } from '../extensions/reload/reloader.ts'
import type { SmokeCheck } from '../extensions/reload/trial.ts'
import { wayBeside } from '../extensions/reload/plan.ts'
import { Validators } from '../extensions/schema-checks.ts'
import { Leases, TickOrder } from '../model/waiting.ts'
import { DEFAULT_ROLE, Settings } from '../model/settings.ts'
import { unknownNames } from '../model/unknown-names.ts'
import { ProjectApprovals } from '../policy/approvals/project-approvals.ts'
import { patternDiagnostics } from '../policy/command-safety/command-safety.ts'
import type { HostContext } from '../policy/call.ts'
import { Interactions } from '../policy/interaction/interactions.ts'
import { RecordedOutcomes } from '../records/recorded-outcomes.ts'
import type { QuestionDesk } from '../policy/interaction/question-desk.ts'
import { PausedCalls } from '../policy/interaction/paused-calls.ts'
import type { AgentsRequire } from '../policy/agent-bound.ts'
import { secretsOf, type AuditTrail } from '../records/audit-trail.ts'
import type { CallJournal } from '../records/call-journal.ts'
import type { EventBus } from '../records/events.ts'
import type { HostSeat } from '../records/host-seat.ts'
import type { MetricsRecorder } from '../records/metrics.ts'
import { retentionOf } from '../records/retention.ts'
import { Recordings } from '../records/session-recording.ts'
import type { Sidecar } from '../records/timeouts.ts'
import type { UseListeners } from '../records/use-listeners.ts'
import { Agents, ceilingDiagnostics, namingOf, readAgent } from './agents.ts'
import type { RunningCall } from '../calls/running-call.ts'
import { delegate, type AgentRunner, type Delegated, type Delegation } from './delegation.ts'
import { HostSession } from './host-session.ts'
import { knownNames, sessionNaming } from './naming.ts'
import type { Resumed } from './kept-session.ts'
import { resumedOptions, type ResumeOptions } from './resumption.ts'
import type { SessionOptions } from './session.ts'
import { nothingStored, SharedSessions } from './shared-sessions.ts'
import type { Place } from './place.ts'
import type { RootSources } from './roots.ts'
import { createNestedCaller, servicesFor } from './services.ts'
import { wallReport, type WallReport } from './wall-report.ts'
import type { Workflows } from '../model/budget.ts'

export interface WorkspaceSources {
  readonly store: Store
  readonly userData: string
  readonly env: (name: string) => string | undefined
  readonly events: EventBus
  readonly clock: Clock
  readonly sidecar: Sidecar | undefined
  readonly smokeCheck: SmokeCheck | undefined
  readonly interactor: Interactor | undefined
  readonly argumentsReaders: ReadonlyMap<string, ArgumentsReader>
  readonly drainMs: number
  readonly startsEager: boolean
  readonly workflows: Workflows
  /** Those of every session. */
  readonly hooks: HookChain
  readonly journal: CallJournal
  readonly audit: () => AuditTrail | undefined
  readonly metrics: MetricsRecorder
  readonly uses: UseListeners
  readonly seat: HostSeat
  readonly desk: QuestionDesk
  readonly passkeys: PasskeyRing | undefined
  /** Agents of the embedder. They hide those of the layers. */
  readonly agents: readonly AgentDescriptor[]
  readonly roles: () => Iterable<string>
  readonly agentsRequire: AgentsRequire
}

/**
 * Everything of one folder: its settings, its tools with their grants, its approvals, and its sessions. A session never
 * leaves its workspace, because its policy has the rules of that project.
 */
export class Workspace {
  readonly path: string
  readonly variables: VariableValues
  readonly context: HostContext
  readonly projectApprovals: ProjectApprovals
  readonly reloader: Reloader
  readonly retirement: Retirement
  readonly findRoot: RootSources['findRoot']
  readonly sessions = new Set<HostSession>()
  /** By id, sub-agents included. */
  readonly openSessions = new Map<string, HostSession>()
  /** The roles that sessions had, and the default. */
  readonly #roles = new Set([DEFAULT_ROLE])
  readonly #laterRoles: WorkspaceSources['roles']
  readonly #agentsRequire: AgentsRequire
  readonly #workflows: Workflows
  readonly #hooks: HookChain
  readonly #sandbox: Sandbox
  readonly #agents: readonly AgentDescriptor[]
  readonly #missingWalls: Diagnostic[] = []
  /** Absent if nothing outlives the host. */
  readonly #shared: SharedSessions | undefined
  #unloading: Promise<StopReport> | undefined

  constructor(place: Place, sources: WorkspaceSources) {
    const { report, workspace, sandbox, source, neverWritten = [], realPath, readStart, ignored } = place
    const { countFiles, commandVariables } = place
    this.#sandbox = sandbox
    this.findRoot = place.findRoot
    this.#agents = sources.agents
    this.#laterRoles = sources.roles
    this.#agentsRequire = sources.agentsRequire
    this.#workflows = sources.workflows
    this.#hooks = sources.hooks
    const { store, userData, env, events, clock, sidecar, smokeCheck, interactor, drainMs, journal, seat } = sources
    const { metrics, argumentsReaders, audit, uses, desk, passkeys } = sources
    const turns = new Leases()
    this.path = workspace
    this.variables = { workspace: [workspace], 'user-data': [userData] }
    const retention = retentionOf(report.config.merged)
    this.#shared = store.forgets ? undefined : new SharedSessions({
      store, workspace, owner: seat, clock, events, retention,
    })
    this.projectApprovals = new ProjectApprovals({ store, work: seat, workspace, events, clock, retention })
    const redaction = secretsOf(() => registry.candidates, env)
    const settleCallsOf = (host: string): Promise<boolean> => journal.settleCallsOf(host)
    const outcomes = store.forgets ? undefined : new RecordedOutcomes({
      store, workspace, owner: seat, keptMs: retention.outcomeMs, now: () => clock.now(), settleCallsOf, redaction,
    })
    const shared = { store, workspace, env, events, clock, sidecar, callTool: createNestedCaller(() => this.context) }
    const registry = new Registry({
      settings: new Settings(report.config),
      variables: this.variables,
      validators: new Validators(),
      services: (request) => servicesFor(request, shared),
      sandbox, events, clock,
    })
    registry.register(report.extensions)
    this.context = {
      registry, events, clock, sidecar, turns, journal, seat, audit, uses, metrics, argumentsReaders, workspace, neverWritten,
      realPath, readStart, ignored, countFiles, commandVariables, changes: store.changes,
      diff: sandbox.diff?.bind(sandbox),
      whyUnrecorded: sandbox.whyUnrecorded?.bind(sandbox),
      whyNotStarted: sandbox.whyNotStarted?.bind(sandbox),
      workersFor: sandbox.workersFor?.bind(sandbox),
      commandWalls: async () => await sandbox.commandWalls?.() ?? NO_COMMAND_WALLS,
      order: new TickOrder(), desk, passkeys,
      recordings: new Recordings({
        store, retention, redaction, now: () => clock.now(),
        failed: (thrown) => events.suppressed('recording a session', thrown),
      }),
      replays: new Map(),
      paused: new PausedCalls({
        store, workspace, owner: seat, retention, now: () => clock.now(), settleCallsOf,
        placeOf: outcomes && ((key, principal) => outcomes.placeOf(key, principal)),
      }),
      outcomes,
    }
    this.retirement = new Retirement({ turns, events, drainMs })
    const starter = interactor && new Interactions({
      sessionId: `host-${randomUUID()}`, interactors: [interactor], approver: undefined, timeoutMs: undefined, events,
      clock, desk,
    })
    this.reloader = new Reloader({
      registry, retirement: this.retirement, turns, report, source, check: smokeCheck, starter, events, clock,
      onReport: () => seat.describe(),
    })
    sandbox.watchWalls?.((missing) => {
      this.#missingWalls.push(wallDiagnostic(missing))
      events.emit({ type: 'SuppressedError', source: 'sandbox', message: `${missing.message} ${missing.cure}` })
    })
    place.watchServers?.(
      (fault) => events.emit({ type: 'ServerStartFailed', ...fault }),
      ({ refused: reason, ...use }) => events.emit(
        reason === undefined ? { type: 'KeyUsed', ...use } : { type: 'KeyRefused', ...use, reason }),
    )
    // Later, so that a listener that subscribes at once receives it.
    if (sources.startsEager) queueMicrotask(() => this.reloader.startEager())
  }

  /** As `resumeSession` of the host. `left` is called when the session has closed. */
  async resumeSession(id: string, options: ResumeOptions, left: () => void): Promise<HostSession> {
    if (!this.#shared) throw nothingStored(id)
    return this.#shared.resume(id, options.principal?.id, (resumed) => {
      const session = this.openSession(resumedOptions(resumed.record, options), left, resumed)
      this.context.sidecar?.reopen?.(id)
      return session
    })
  }

  /** `left` is called when the session has closed. Throws as the constructor of HostSession does. */
  openSession(options: SessionOptions, left: () => void, resumed?: Resumed): HostSession {
    void this.#shared?.purge()
    const { context: host, settings, variables, path: workspace, findRoot, projectApprovals, sessions } = this
    return new HostSession(options, {
      host, settings, variables, workspace, findRoot, projectApprovals, workflows: this.#workflows, hooks: this.#hooks,
      neverWritten: host.neverWritten ?? [], agentsRequire: this.#agentsRequire,
      open: this.openSessions, roles: this.#roles,
      agents: () => this.agents,
      keep: this.#shared?.keep, shareBudget: this.#shared?.shareBudget,
      onOpen: (begun) => sessions.add(begun),
      onClose: (ended) => {
        sessions.delete(ended)
        left()
      },
    }, undefined, resumed)
  }

  callableTools(sessionId: string): readonly ToolDefinition[] {
    const session = this.openSessions.get(sessionId)
    return session?.tools().filter(({ name }) => session.deniedAlways(name) === undefined) ?? []
  }

  async delegate(delegation: Delegation, run: AgentRunner): Promise<Delegated> {
    const { sessionId, callId } = delegation
    const parent = this.openSessions.get(sessionId)
    const call = [...this.context.registry.extensions(), ...this.retirement.leaving]
      .map(({ running }) => running.get(callId) as RunningCall | undefined)
      .find((running) => running?.tool === AGENT_TOOL && running.sessionId === sessionId)
    if (!parent || !call) throw new BulkheadError('ToolCancelled', 'The call that delegates is over.')
    return delegate(delegation, { parent, call, run, agents: this.agents, host: this.context })
  }

  /** An extension that may not exist beside a retired one of its id starts when that has ended. */
  holdBack(): void {
    for (const { descriptor: { id } } of this.retirement.leaving) {
      const next = this.context.registry.extension(id)
      if (!next || next.wasStarted) continue
      if (wayBeside(this.retirement.generations(id), next.descriptor).kind === 'wait') {
        next.startAfter(this.retirement.oneLeft(id))
      }
    }
  }

  get settings(): Settings {
    return this.context.registry.settings
  }

  get agents(): Agents {
    const { agents = [], diagnostics } = this.reloader.report
    return new Agents([...agents, ...this.#agents], diagnostics.some(({ code }) => code === 'ProjectTrustRequired'))
  }

  get diagnostics(): readonly Diagnostic[] {
    const { registry } = this.context
    const sessions = [...this.sessions].flatMap(({ family }) => family)
    const agents = [...this.agents.usable, ...sessions.flatMap(({ parts: { options: { agent } } }) =>
      typeof agent === 'object' ? [readAgent(agent)] : [])]
    const namings = [
      ...this.settings.layers, ...agents.map(namingOf), ...sessions.map(({ id, parts }) => sessionNaming(id, parts.options)),
    ]
    const roles = new Set([...this.#roles, ...this.#laterRoles()])
    const unknown = unknownNames(namings, knownNames(registry, this.reloader.report.absent, roles))
    return [
      ...this.reloader.diagnostics, ...registry.diagnostics, ...patternDiagnostics(this.settings.layers), ...unknown,
      ...this.settings.idleRules, ...ceilingDiagnostics(agents, this.#agentsRequire), ...this.#missingWalls,
    ]
  }

  /**
   * Tests the walls of the operating system if an extension here runs in a process. The diagnostics then include
   * missing ones.
   */
  async tryWalls(): Promise<void> {
    const isHeld = this.context.registry.extensions().some(({ arrangement }) => arrangement.placement === 'process')
    if (isHeld) await this.#sandbox.tryWalls?.()
  }

  async walls(): Promise<WallReport> {
    return wallReport(await this.#sandbox.walls?.() ?? [])
  }

  /** Resolves when approvals and recordings so far are in the store or lost. Never rejects. */
  async written(): Promise<void> {
    await Promise.all([this.projectApprovals.settled(), this.context.recordings.settled()])
  }

  /** Stops everything that runs here, dependents first. */
  unload(reason: BulkheadError, drainMs: number): Promise<StopReport> {
    this.#unloading ??= this.#unload(reason, drainMs)
    return this.#unloading
  }

  async #unload(reason: BulkheadError, drainMs: number): Promise<StopReport> {
    const { clock, registry } = this.context
    // It also stops what a reload has started and not offered yet.
    const reloaded = this.reloader.close(reason)
    const report = await stopAll([...this.retirement.leaving, ...registry.clear()], reason, drainMs)
    await settlesWithin(clock, drainMs, reloaded)
    await this.projectApprovals.settled()
    return report
  }
}

/** A missing wall has no location in a file. One setting decides about it. */
const wallDiagnostic = ({ message, cure }: MissingWall): Diagnostic => ({
  severity: 'warning', stage: 'configSchema', code: 'CapabilityUnavailable', layer: 'bundled', extensionId: null,
  location: 'the operating system', path: '/sandbox/os', message, cure,
})
