import {
  BulkheadError, type ArgumentsReader, type Clock, type Diagnostic, type EventListener, type LoadReport, type Sandbox, type Store,
  type ToolListing, type VariableValues,
} from '@bulkhead/contract'
import { settlesWithin } from './bounded-wait.ts'
import { EventBus } from './events.ts'
import type { HostContext, Sidecar } from './host-context.ts'
import { createNestedCaller } from './nested-calls.ts'
import { ProjectApprovals } from './permissions/approvals.ts'
import { Registry } from './registry.ts'
import { HostSession, type Session, type SessionOptions } from './session.ts'
import { Settings } from './settings.ts'
import { stopAll, type StopReport } from './shutdown.ts'
import { systemClock } from './system-clock.ts'
import { Validators } from './validators.ts'

export interface HostOptions {
  /** What a loader found: configuration, proven extensions, and what it disabled. */
  readonly report: LoadReport
  readonly sandbox: Sandbox
  readonly store: Store
  readonly clock?: Clock
  /** The canonical path {workspace} stands for. */
  readonly workspace: string
  /** The folder {user-data} stands for. */
  readonly userData: string
  /** Looked up for declared names only. */
  readonly env: (name: string) => string | undefined
  readonly sidecar?: Sidecar
  /** Readers of the arguments of locked tools, by name, whoever implements them. */
  readonly argumentsReaders?: ReadonlyMap<string, ArgumentsReader>
  /** How long `close` lets running calls go on. */
  readonly drainMs?: number
}

export interface Host {
  tools(): readonly ToolListing[]
  /** The loader's and the registry's own: what is not offered, and why. */
  readonly diagnostics: readonly Diagnostic[]
  /** Rejects with ConfigInvalid or RequirementInvalid for options that make no sense, and with HostClosed. */
  openSession(options?: SessionOptions): Promise<Session>
  /** Returns what ends the subscription. */
  on(listener: EventListener): () => void
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

const DRAIN_MS = 5_000

/** The owner of every extension's life and of every session. */
export function createHost(options: HostOptions): Host {
  return new ToolHost(options)
}

class ToolHost implements Host {
  readonly #options: HostOptions
  readonly #context: HostContext
  readonly #settings: Settings
  readonly #variables: VariableValues
  readonly #projectApprovals: ProjectApprovals
  readonly #sessions = new Set<HostSession>()
  #closing: Promise<CloseReport> | undefined

  constructor(options: HostOptions) {
    const { report, store, sandbox, workspace, userData, env, clock = systemClock } = options
    const events = new EventBus(clock)
    this.#options = options
    this.#settings = new Settings(report.config)
    this.#variables = { workspace: [workspace], 'user-data': [userData] }
    this.#projectApprovals = new ProjectApprovals(store, workspace, events, () => clock.now())
    const registry = new Registry({
      settings: this.#settings,
      variables: this.#variables,
      validators: new Validators(),
      callTool: createNestedCaller(() => this.#context),
      store, sandbox, workspace, env, events, clock,
    })
    registry.register(report.extensions)
    const { sidecar, argumentsReaders = new Map() } = options
    this.#context = { registry, events, clock, sidecar, argumentsReaders, workspace }
    // Later, so that whoever subscribes first hears of it. A failure shows as its state; its first call tries again.
    queueMicrotask(() => {
      for (const extension of registry.eager()) extension.start().catch(() => {})
    })
  }

  get diagnostics(): readonly Diagnostic[] {
    return [...this.#options.report.diagnostics, ...this.#context.registry.diagnostics]
  }

  tools(): readonly ToolListing[] {
    return this.#context.registry.list()
  }

  on(listener: EventListener): () => void {
    return this.#context.events.on(listener)
  }

  async openSession(options: SessionOptions = {}): Promise<Session> {
    await this.#projectApprovals.load()
    if (this.#closing) throw closed()
    const session = new HostSession(options, {
      host: this.#context,
      settings: this.#settings,
      variables: this.#variables,
      projectApprovals: this.#projectApprovals,
      onClose: (ended) => this.#sessions.delete(ended),
    })
    this.#sessions.add(session)
    return session
  }

  close(): Promise<CloseReport> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<CloseReport> {
    const { clock, registry } = this.#context
    const { drainMs = DRAIN_MS } = this.#options
    const sessions = [...this.#sessions]
    for (const session of sessions) session.refuse(closed())
    await settlesWithin(clock, drainMs, Promise.all(sessions.map((session) => session.settled())))
    const cancelledCalls = sessions.reduce((sum, session) => sum + session.openCalls, 0)
    for (const session of sessions) session.cancel(closed())
    await Promise.all(sessions.map((session) => session.close()))
    return { ...await stopAll(registry.clear(), closed(), drainMs), cancelledCalls }
  }
}

const closed = () => new BulkheadError('HostClosed', 'The host is closed.')
