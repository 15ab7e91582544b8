import type {
  ArgumentsReader, BulkheadError, CallLog, CallProgress, ChangeStore, Clock, CommandVariable, CommandWalls,
  IgnoredFiles, ReaderContext, Sandbox, ToolInvocation,
} from '@bulkhead/contract'
import type { Reading } from '@bulkhead/contract/dialects'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { AdmittedCalls } from '../extensions/admission.ts'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import type { Registry } from '../extensions/registry/registry.ts'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { BudgetSource, Reservation } from '../model/budget.ts'
import type { CancelScope } from '../model/cancel-scope.ts'
import type { Leases, Ordered, TickOrder } from '../model/waiting.ts'
import type { AuditTrail } from '../records/audit-trail.ts'
import type { CallJournal, JournalEntry } from '../records/call-journal.ts'
import type { EventBus } from '../records/events.ts'
import type { MetricsRecorder } from '../records/metrics.ts'
import type { Sidecar } from '../records/timeouts.ts'
import type { KeptApproval } from './approvals/kept-approval.ts'
import type { CountFiles } from './approvals/offers.ts'
import type { Pausable, SessionScope } from './call-session.ts'
import type { Decision, MadeChange } from './decision.ts'
import type { PausedCalls, Resumption } from './interaction/paused-calls.ts'

/** Where a call is made from. */
export interface CallScope {
  readonly session: SessionScope
  /** The tools it may call, fixed when its turn began. */
  readonly tools: OfferedTools
  readonly budget: BudgetSource
  /** Cancelled when the call must end: with ToolCancelled, TurnCancelled, SessionCancelled or HostClosed. */
  readonly cancel: CancelScope
  /** Cancelled when the whole turn must end; outside of one, the call itself. */
  readonly turn: CancelScope
  /** 0 outside of a turn. */
  readonly turnNumber: number
  /** Set if another tool makes the call. */
  readonly parent: ParentCall | undefined
  /** Set if the tool reverts an earlier call with these arguments instead. */
  readonly reverts?: { readonly result: Json } | undefined
  /** Set if it continues after a pause. */
  readonly resumption: Resumption | undefined
  /** Of the caller, and inherited by the calls that the tool makes. */
  readonly onProgress: ((progress: CallProgress) => void) | undefined
  readonly onLog: ((line: CallLog) => void) | undefined
  /** Called when the call has settled and holds nothing any more. */
  readonly ended: (() => void) | undefined
}

/** A tool that calls a tool: the called tool may have no power that the caller lacks, unless it is a program. */
export interface ParentCall {
  readonly callId: string
  /** The call of the model. */
  readonly rootCallId: string
  readonly tool: ToolEntry
  /** The tools that make the call, from the one the model or a program called to this one. None for a program. */
  readonly callers: readonly ToolEntry[]
  /** The attempt that makes the call. */
  readonly running: ToolInvocation
  /**
   * The bundled `code_mode`, which the model called: its calls are the session's own, and its power does not limit them.
   */
  readonly isProgram: boolean
  /** Stops the time of every call that waits for this one. Returns the function that continues it. */
  pause(): () => void
}

const NO_CALLERS: readonly ToolEntry[] = Object.freeze([])
const NO_CHANGES: readonly MadeChange[] = Object.freeze([])

/** A call as the caller passed it, read once and not checked. */
export interface CallRequest {
  readonly id: unknown
  readonly name: unknown
  readonly args: unknown
  readonly timeoutMs: unknown
  /** Why the options of the call cannot be used. */
  readonly fault: BulkheadError | undefined
}

let calls = 0

/**
 * One call from request to outcome. Each step fills in a field through a method that returns a stronger type, so a
 * wrong order of steps does not compile.
 */
export class RawCall implements Ordered {
  /** Calls are numbered in the order in which they are made. */
  readonly number = ++calls
  place: Ordered['place']
  /** As much of the requested id as an outcome and an event can repeat. */
  readonly id: string
  readonly name: string
  readonly request: CallRequest
  readonly scope: CallScope
  readonly startedAt: number
  timeoutMs: number | undefined = undefined
  /** The time that is left. It runs while the call waits for its extension to start and while the tool runs. */
  leftMs = 0
  received = false
  tool: ToolEntry | undefined = undefined
  args: JsonObject | undefined = undefined
  /** The arguments as the model sent them, if a policy changed them. */
  proposed: JsonObject | undefined = undefined
  /** About the length of the arguments as JSON. */
  argsChars = 0
  evaluation: Decision | undefined = undefined
  /** How policies changed the arguments before the evaluation. */
  changes: readonly MadeChange[] = NO_CHANGES
  decision: Decision | undefined = undefined
  allowed = false
  /** Whether a person or a rule allowed it. */
  isApproved = false
  /** The earlier approvals that allow it. */
  approvals: readonly KeptApproval[] | undefined = undefined
  reservation: Reservation | undefined = undefined
  cleared = false
  reading: Reading | undefined = undefined
  /** 0 until the tool runs. */
  attempt = 0
  /** How long the call waited for people. */
  askedMs = 0
  /** Releases the extension that the call is bound to. */
  release: (() => void) | undefined = undefined
  /** Set while it counts among the calls that its extension takes on. */
  admitted: AdmittedCalls | undefined = undefined
  journal: JournalEntry | undefined = undefined
  /** If the audit is required: how often it had lost records when the call was decided. */
  lossesBefore = 0

  constructor(id: string, name: string, request: CallRequest, scope: CallScope, startedAt: number) {
    this.id = id
    this.name = name
    this.request = request
    this.scope = scope
    this.startedAt = startedAt
  }

  get session(): SessionScope {
    return this.scope.session
  }

  get parent(): ParentCall | undefined {
    return this.scope.parent
  }

  /** The call that waits for this one: of the tool that makes it, or of `task`. */
  get waiting(): Pausable | undefined {
    return this.scope.parent ?? this.session.waiting
  }

  /** The tools that make the call, from the one that the model called; none if the model makes it. */
  get callers(): readonly ToolEntry[] {
    return this.scope.parent?.callers ?? NO_CALLERS
  }

  /** The call of `code_mode` whose program makes this one. */
  get program(): string | undefined {
    const { parent } = this.scope
    return parent?.isProgram ? parent.callId : undefined
  }

  /** Aborted with a BulkheadError as its reason. Created on first use. */
  get signal(): AbortSignal {
    return this.scope.cancel.signal
  }

  throwIfCancelled(): void {
    this.scope.cancel.throwIfCancelled()
  }

  accept(timeoutMs: number | undefined): ReceivedCall {
    this.timeoutMs = timeoutMs
    this.received = true
    return this as ReceivedCall
  }

  bind(tool: ToolEntry): ResolvedCall {
    this.tool = tool
    this.leftMs = this.timeoutMs ?? tool.timeoutMs
    this.release = tool.extension.leases.acquire()
    return this as ResolvedCall
  }

  /** The arguments must be frozen. Called again when a policy changes them; then they are evaluated again. */
  fix(args: JsonObject, argsChars: number): ValidatedCall {
    this.proposed ??= this.args
    this.args = args
    this.argsChars = argsChars
    return this as ValidatedCall
  }

  relyOn(approvals: readonly KeptApproval[]): void {
    this.approvals = approvals
    this.session.approvals.use(approvals)
  }

  evaluated(evaluation: Decision, changes: readonly MadeChange[]): EvaluatedCall {
    this.evaluation = evaluation
    this.changes = changes
    return this as EvaluatedCall
  }

  decide(decision: Decision): DecidedCall {
    this.decision = decision
    return this as DecidedCall
  }

  allow(isApproved: boolean): AllowedCall {
    this.allowed = true
    this.isApproved = isApproved
    return this as AllowedCall
  }

  charge(reservation: Reservation): BudgetedCall {
    this.reservation = reservation
    return this as BudgetedCall
  }

  clear(): ClearedCall {
    this.cleared = true
    return this as ClearedCall
  }

  answer(reading: Reading): ExecutedCall {
    this.reading = reading
    return this as ExecutedCall
  }

  /** Releases everything that the call holds. */
  end(): void {
    this.release?.()
    this.admitted?.leave()
    this.journal?.close()
    this.scope.ended?.()
  }
}

/** It has an id, a name to look up, and a time limit in range. */
export type ReceivedCall = RawCall & { readonly received: true }

/** The tool exists and is enabled. The call means this tool of this origin from here on. */
export type ResolvedCall = ReceivedCall & { readonly tool: ToolEntry }

/** The arguments satisfy the limits and the schema. They are a frozen copy. */
export type ValidatedCall = ResolvedCall & { readonly args: JsonObject }

/** Every policy has evaluated the arguments. */
export type EvaluatedCall = ValidatedCall & { readonly evaluation: Decision }

/** Budget and audit are checked too. */
export type DecidedCall = EvaluatedCall & { readonly decision: Decision }

/** The decision is allow, or a person has answered yes. */
export type AllowedCall = DecidedCall & { readonly allowed: true }

export type BudgetedCall = AllowedCall & { readonly reservation: Reservation }

/** No before-hook vetoed it: it may run. */
export type ClearedCall = BudgetedCall & { readonly cleared: true }

/** The tool has answered. */
export type ExecutedCall = ClearedCall & { readonly reading: Reading }

/** The host, as the steps of a call see it. */
export interface HostContext {
  readonly registry: Registry
  readonly events: EventBus
  readonly clock: Clock
  readonly metrics: MetricsRecorder
  readonly journal: CallJournal
  readonly audit: () => AuditTrail | undefined
  readonly order: TickOrder
  readonly paused: PausedCalls
  readonly sidecar: Sidecar | undefined
  /** The open turns of every session. */
  readonly turns: Leases
  /** By the name of the tool. A reader, not the tool, tells the effects of a call. */
  readonly argumentsReaders: ReadonlyMap<string, ArgumentsReader>
  readonly workspace: string
  /** Canonical folders that no tool may write. */
  readonly neverWritten?: readonly string[]
  /** What calls changed. Absent if nothing is recorded. */
  readonly changes?: ChangeStore | undefined
  readonly commandWalls: () => Promise<CommandWalls>
  /** Shows what a call would write. */
  readonly diff?: Sandbox['diff']
  readonly whyUnrecorded?: Sandbox['whyUnrecorded']
  readonly whyNotStarted?: Sandbox['whyNotStarted']
  /** What commands get, for people. */
  readonly commandVariables?: readonly CommandVariable[] | undefined
  /** Follows the links of a path. */
  readonly realPath?: ((path: string) => string) | undefined
  readonly readStart?: ReaderContext['readStart']
  readonly ignored?: ((roots: readonly string[]) => IgnoredFiles | undefined) | undefined
  readonly countFiles?: CountFiles | undefined
}
