import { randomUUID } from 'node:crypto'
import { BulkheadError, requireOptions, type AgentManifest, type Outcome, type Rule, type ToolDefinition } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { forms } from '@bulkhead/kit/options'
import type { Approval } from '../policy/approvals/approval.ts'
import { explainCall, type Explanation } from '../calls/explain.ts'
import { HookChain, HOOKS_FORM, refuseSlips } from '../calls/hooks.ts'
import type { Hooks } from '../model/hooks.ts'
import { deniedAlways } from '../policy/evaluate.ts'
import { sessionFields } from '../model/event-fields.ts'
import type { SessionScope } from '../policy/call-session.ts'
import { surfaceOf, surfaceParts, type Surface, type SurfacePart } from '../policy/surface.ts'
import { goOnWith, type Claim, type Resumption } from '../policy/interaction/paused-calls.ts'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import { WaitGroup } from '../model/waiting.ts'
import { runCall } from '../calls/pipeline.ts'
import type { CallOptions, Proposal, ToolCall } from '../calls/receive.ts'
import {
  batchSizeOf, HostTurn, NO_OPTIONS, readCallAllOptions, readCallOptions, requireCalls, runAll, turnInvalid,
  type CallAllOptions, type Frame, type ReadOptions, type Turn,
} from './turn.ts'
import { callCancelled, CancelScope, sessionCancelled, type CancelReason } from '../model/cancel-scope.ts'
import { BackgroundTasks, type BackgroundTask, type EndedTask } from './background-tasks.ts'
import { DescribedTools } from './described-tools.ts'
import { openBudget, openScope, originIn, type OpeningSources, type SubagentOrigin } from './session-scope.ts'
import {
  checkOptions, refuseDeeper, requireProgramTool, selectedTools, type Session, type SessionOptions, type SubagentOptions,
} from './session.ts'
import { ToolSwitches } from './tool-switches.ts'
import type { SessionBudget } from '../model/budget.ts'
import type { KeptSession, Resumed } from './kept-session.ts'

export type SessionSources = OpeningSources<HostSession>

/** A conversation of a model with the tools, under one policy. */
export class HostSession implements Session {
  readonly id: string
  readonly depth: number
  readonly codeMode: boolean
  readonly agent: AgentManifest | undefined
  readonly background = new BackgroundTasks()
  readonly switches: ToolSwitches
  readonly release = (): Promise<void> => this.#end(true)
  readonly #options: SessionOptions
  readonly #sources: SessionSources
  readonly #parent: HostSession | undefined
  /** Lists of tools that all apply. */
  readonly #selected: readonly (readonly string[])[]
  readonly #cancel: CancelScope
  readonly #scope: SessionScope
  readonly #hooks: HookChain
  readonly #budget: SessionBudget
  readonly #kept: KeptSession | undefined
  readonly #described: DescribedTools
  /** Calls that run. */
  readonly #open = new WaitGroup()
  readonly #subagents = new Set<HostSession>()
  readonly #forgetSignal: (() => void) | undefined
  #turn: HostTurn | undefined
  #leaveTurn: (() => void) | undefined
  #turns = 0
  #closing: Promise<void> | undefined

  /** Throws the errors of `openSession`. */
  constructor(options: SubagentOptions & SessionOptions, sources: SessionSources, parent?: HostSession, resumed?: Resumed) {
    checkOptions(options, sources.workspace, parent !== undefined)
    const { events } = sources.host
    const { signal, background = false } = options
    const agent = sources.agents().of(options.agent)
    this.id = resumed?.record.id ?? randomUUID()
    this.agent = agent?.manifest
    this.depth = parent ? parent.depth + 1 : 0
    this.#options = options
    this.#sources = sources
    this.#parent = parent
    this.switches = new ToolSwitches(parent?.switches, () => events.emit({ type: 'ToolsChanged' }))
    this.codeMode = options.codeMode ?? parent?.codeMode ?? false
    this.#selected = [agent?.manifest.tools, options.tools].map((names) => selectedTools(names, this.codeMode))
      .filter((names) => names !== undefined)
    if (this.codeMode) requireProgramTool(this.#offered())
    this.#described = new DescribedTools(sources.agents)
    this.#hooks = new HookChain(parent ? parent.#hooks : sources.hooks, [options.hooks ?? []].flat())
    this.#kept = parent ? undefined : sources.keep?.({
      id: this.id, options, before: resumed, onLost: (reason) => this.#cancel.cancel(reason),
      scope: () => this.#scope, turns: () => this.#turns,
    })
    this.#scope = openScope({
      id: this.id, options, agent, outer: parent && parent.#scope, hooks: this.#hooks, over: () => this.#cancel.signal,
      kept: this.#kept, resumed,
    }, sources)
    this.#turns = resumed?.record.turns ?? 0
    this.#budget = openBudget(this.id, options, agent, sources, parent && parent.#budget)
    const turn = background ? undefined : parent && parent.#turn
    this.#cancel = parent ? (turn?.scope ?? parent.#cancel).begin() : new CancelScope()
    this.#forgetSignal = signal && this.#cancel.follow(signal, sessionCancelled)
    sources.open.set(this.id, this)
    sources.roles.add(this.#scope.policy.role)
    sources.onOpen(this)
    this.#kept?.begin()
    events.emit({
      type: 'SessionOpened', ...sessionFields(this.#scope), workspace: sources.workspace,
      ...(parent && { parentId: parent.id }), ...(agent && { agent: agent.name }),
    })
  }

  tools(): readonly ToolDefinition[] {
    return this.#turn?.tools() ?? this.#described.of(this.#offered())
  }

  deniedAlways(name: string): string | undefined {
    return deniedAlways(this.#offered().get(name), this.#scope.policy, this.#sources.host)?.reason
  }

  surface(): Surface {
    return surfaceOf(this.#surfaceParts())
  }

  #surfaceParts(): readonly SurfacePart[] {
    const parent = this.#parent && this.#parent.#surfaceParts()
    return surfaceParts(this.#offered(), this.#scope.policy, this.#sources.host, parent)
  }

  call(call: ToolCall, options: CallOptions = NO_OPTIONS): Promise<Outcome> {
    const read = options === NO_OPTIONS ? options : readCallOptions(options)
    return runCall(this.#propose(call, read, this.#enter(read.signal, 1)), this.#sources.host)
  }

  explain(call: ToolCall, added?: readonly Rule[]): Promise<Explanation> {
    const cancel = (this.#turn?.scope ?? this.#cancel).begin()
    const proposal = this.#propose(call, NO_OPTIONS, { cancel, turn: cancel, turnNumber: 0, tools: this.#offered() })
    return explainCall(proposal, this.#sources.host, added).finally(() => cancel.end())
  }

  approvals(): readonly Approval[] {
    return this.#scope.approvals.inForce()
  }

  /** It and all its sub-agents. */
  get family(): readonly HostSession[] {
    return [this, ...[...this.#subagents].flatMap(({ family }) => family)]
  }

  /** For the host: what embedders do not need, and a printed session does not show. */
  get parts() {
    return { options: this.#options, scope: this.#scope, cancel: this.#cancel }
  }

  addHooks(hooks: Hooks): () => void {
    requireOptions('addHooks', { hooks }, { hooks: HOOKS_FORM }, 'hooks')
    refuseSlips(hooks)
    return this.#hooks.add(hooks)
  }

  async resume(id: string, answer?: Json, options: CallOptions = NO_OPTIONS): Promise<Outcome> {
    const { host } = this.#sources
    const read = readCallOptions(options)
    const { ended, ...frame } = this.#enter(read.signal, 1)
    const run = ({ call, resumption }: Claim) => runCall(this.#propose(call, read, frame, resumption), host)
    return goOnWith({ id, answer, principal: this.#scope.principal?.id }, run, host).finally(ended)
  }

  async callAll(calls: readonly ToolCall[], options: CallAllOptions = {}): Promise<readonly Outcome[]> {
    const read = readCallAllOptions(options)
    const { strategy = this.#options.strategy ?? this.agent?.strategy ?? 'parallel', steering, signal } = read
    requireCalls(calls)
    const batchSize = batchSizeOf(strategy)
    const { ended, ...frame } = this.#enter(signal, calls.length)
    const proposals = [...calls].map((call) => this.#propose(call, read, frame))
    return runAll(proposals, { batchSize, steering, cancel: frame.cancel, host: this.#sources.host }).finally(ended)
  }

  /** Until `ended` is called, nothing the calls belong to is over. */
  #enter(signal: AbortSignal | undefined, calls: number): Frame {
    const turn = this.#turn
    const cancel = (turn?.scope ?? this.#cancel).begin()
    const forget = signal && cancel.follow(signal, callCancelled)
    this.#open.add(calls)
    turn?.open.add(calls)
    const ended = () => {
      forget?.()
      cancel.end()
      this.#open.done(calls)
      turn?.open.done(calls)
    }
    return { cancel, turn: turn?.scope ?? cancel, turnNumber: turn?.number ?? 0, tools: this.#offered(), ended }
  }

  beginTurn(options: { readonly signal?: AbortSignal } = {}): Turn {
    requireOptions('beginTurn', options, { signal: forms.signal })
    if (this.#turn) throw turnInvalid('A turn is under way; end it first.')
    if (this.#closing) throw sessionCancelled('user')
    const { host } = this.#sources
    const offered = this.#offered()
    this.#leaveTurn = host.turns.acquire()
    this.#turn = new HostTurn({
      number: ++this.#turns, scope: this.#cancel.begin(), offered, tools: () => this.#described.of(offered),
      signal: options.signal, results: this.background.deliver(),
    })
    host.events.emit({ type: 'TurnBegan', sessionId: this.id, turn: this.#turn.number })
    return this.#turn
  }

  async endTurn(): Promise<void> {
    const turn = this.#turn
    if (!turn) throw turnInvalid('There is no turn to end.')
    await turn.end()
    if (this.#turn !== turn) return
    this.#turn = undefined
    this.#sources.host.events.emit({ type: 'TurnEnded', sessionId: this.id, turn: turn.number })
    this.#leaveTurn?.()
  }

  async openSubagent(options: SubagentOptions = {}, by: SubagentOrigin = {}): Promise<HostSession> {
    refuseDeeper(this.depth)
    if (this.#closing) throw sessionCancelled('parent')
    const turn = this.#turn
    return new HostSession(options, {
      ...this.#sources, ...originIn(this.#scope, by),
      onOpen: (begun) => {
        this.#subagents.add(begun)
        if (!options.background) turn?.owns(begun)
      },
      onClose: (ended) => {
        this.#subagents.delete(ended)
        turn?.disowns(ended)
      },
    }, this)
  }

  tasks(): readonly BackgroundTask[] {
    return this.background.list()
  }

  taskResults(): readonly EndedTask[] {
    return this.background.deliver()
  }

  cancelTask(id: string): Promise<boolean> {
    return this.background.cancel(id)
  }

  cancel(reason: CancelReason = 'user'): void {
    this.#cancel.cancel(sessionCancelled(reason))
  }

  /** Resolves when no call is open, here or in a sub-agent. */
  async settled(): Promise<void> {
    while (this.openCalls > 0) await Promise.all(this.family.map((session) => session.#open.whenNone()))
  }

  get openCalls(): number {
    return this.family.reduce((sum, session) => sum + session.#open.size, 0)
  }

  close(): Promise<void> {
    return this.#end(false)
  }

  /** `stays`: another host may continue it. */
  #end(stays: boolean): Promise<void> {
    if (this.#closing) return this.#closing
    const { promise, resolve } = Promise.withResolvers<void>()
    // Before it begins: a listener of its end may close it as well.
    this.#closing = promise
    resolve(this.#close(stays))
    return promise
  }

  async #close(stays: boolean): Promise<void> {
    const { host: { events, sidecar }, open, onClose } = this.#sources
    this.#cancel.cancel(new BulkheadError('SessionCancelled', 'The session is closed.', { data: { reason: 'user' } }))
    this.#forgetSignal?.()
    await Promise.all([...this.#subagents].map((subagent) => subagent.close()))
    await this.settled()
    if (this.#turn) await this.endTurn()
    this.#cancel.end()
    await sidecar?.discard?.(this.id).catch((thrown: unknown) => events.suppressed('sidecar', thrown))
    await Promise.all([this.#budget.leave(stays), this.#scope.recording?.end()])
    await (stays ? this.#kept?.release() : this.#kept?.remove())
    events.emit({ type: 'SessionClosed', sessionId: this.id })
    open.delete(this.id)
    onClose(this)
  }

  #offered(): OfferedTools {
    if (this.#turn) return this.switches.left(this.#turn.offered)
    const all = this.#parent ? this.#parent.#offered() : this.#sources.host.registry.offered()
    const own = this.codeMode ? all.inCodeMode() : all
    return this.switches.left(this.#selected.reduce((left, names) => left.within(names), own))
  }

  #propose(call: ToolCall, options: ReadOptions<CallOptions>, frame: Frame, resumption?: Resumption): Proposal {
    const { timeoutMs, onProgress, onLog, isStep, wrong: fault } = options
    const { cancel, turn, turnNumber, tools, ended } = frame
    const budget = this.#budget.within(this.#sources.workflows.current)
    const at = { session: this.#scope, tools, budget, cancel, turn, turnNumber, parent: undefined }
    return { scope: { ...at, resumption, onProgress, onLog, ended }, call, timeoutMs, ...(isStep && { isStep }), fault }
  }
}
