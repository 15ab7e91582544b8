import { hash } from 'node:crypto'
import type {
  ArgumentsReader, BulkheadError, CallLog, CallProgress, ChangeStore, Clock, CommandVariable, CommandWalls,
  IgnoredFiles, PasskeyRing, ReaderContext, Sandbox, ToolInvocation,
} from '@bulkhead/contract'
import type { Reading } from '@bulkhead/contract/dialects'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import type { Registry } from '../extensions/registry/registry.ts'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { BudgetSource, Reservation } from '../model/budget.ts'
import type { CancelScope } from '../model/cancel-scope.ts'
import type { Leases, TickOrder } from '../model/waiting.ts'
import type { AuditTrail } from '../records/audit-trail.ts'
import type { CallJournal } from '../records/call-journal.ts'
import type { EventBus } from '../records/events.ts'
import type { HostSeat } from '../records/host-seat.ts'
import type { MetricsRecorder } from '../records/metrics.ts'
import type { RecordedOutcomes } from '../records/recorded-outcomes.ts'
import type { Recordings } from '../records/session-recording.ts'
import type { Sidecar } from '../records/timeouts.ts'
import type { UseListeners } from '../records/use-listeners.ts'
import type { KeptApproval } from './approvals/kept-approval.ts'
import type { CountFiles } from './approvals/offers.ts'
import type { WaitingCall, SessionScope } from './call-session.ts'
import type { Decision, MadeChange } from './decision.ts'
import type { QuestionDesk } from './interaction/question-desk.ts'
import type { PausedCalls, Resumption } from './interaction/paused-calls.ts'
import type { ReplayedCalls } from './stub.ts'

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
export interface ParentCall extends WaitingCall {
  readonly callId: string
  /** The call of the model. */
  readonly rootCallId: string
  readonly tool: ToolEntry
  /** The tools that make the call, from the one the model or a program called to this one. None for a program. */
  readonly callers: readonly ToolEntry[]
  /** The attempt that makes the call. */
  readonly running: ToolInvocation
  /**
   * The bundled `code_mode`, which the model called: its calls are the session's own, and its power does not limit
   * them.
   */
  readonly isProgram: boolean
}

/** A call as the caller passed it, read once and not checked. Frozen. */
export interface CallRequest {
  readonly id: unknown
  readonly name: unknown
  readonly args: unknown
  /** The idempotency key of the caller. */
  readonly key: unknown
  readonly timeoutMs: unknown
  /** What makes the call repeats it. */
  readonly isStep: boolean
  /** Why the options of the call cannot be used. */
  readonly fault: BulkheadError | undefined
}

const NO_CALLERS: readonly ToolEntry[] = Object.freeze([])

/**
 * A call that was made. Each stage takes the record of the one before and returns its own; none changes. Fields are
 * declared only: to define those of a derived class first costs a call 0.3 µs.
 */
export class Call {
  /** As much of the requested id as an outcome and an event can repeat. */
  declare readonly id: string
  declare readonly name: string
  declare readonly request: CallRequest
  declare readonly scope: CallScope
  declare readonly startedAt: number

  constructor({ id, name, request, scope, startedAt }: Pick<Call, 'id' | 'name' | 'request' | 'scope' | 'startedAt'>) {
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

  /** The idempotency key of the caller, once the call is received. */
  get ownKey(): string | undefined {
    return this.scope.resumption?.ownKey ?? this.request.key as string | undefined
  }

  /** The same whenever the call runs again: that of the caller, else one from the ids of its session and itself. */
  get idempotencyKey(): string {
    const { resumption } = this.scope
    return this.ownKey ?? resumption?.key ?? hash('sha256', JSON.stringify([this.session.id, this.id]))
  }

  /** The call that waits for this one: of the tool that makes it, or of `task`. */
  get waiting(): WaitingCall | undefined {
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
}

/** It has an id, a name to look up, and a time limit in range. */
export interface ReceivedCall {
  readonly call: Call
  readonly timeoutMs: number | undefined
}

/** The tool exists and is enabled. The call means this tool of this origin from here on. */
export class ResolvedCall extends Call {
  declare readonly timeoutMs: number | undefined
  declare readonly tool: ToolEntry

  constructor(call: Call, timeoutMs: number | undefined, tool: ToolEntry) {
    super(call)
    this.timeoutMs = timeoutMs
    this.tool = tool
  }
}

/** Arguments that satisfy the limits and the schema. */
export interface ValidArguments {
  /** A frozen copy. */
  readonly args: JsonObject
  /** About their length as JSON. */
  readonly argsChars: number
  /** The arguments as the model sent them, if a policy changed them. */
  readonly proposed: JsonObject | undefined
  /** The time for all attempts. */
  readonly timeMs: number
}

export class ValidatedCall extends ResolvedCall implements ValidArguments {
  declare readonly args: JsonObject
  declare readonly argsChars: number
  declare readonly proposed: JsonObject | undefined
  declare readonly timeMs: number

  constructor(call: ResolvedCall, { args, argsChars, proposed, timeMs }: ValidArguments) {
    super(call, call.timeoutMs, call.tool)
    this.args = args
    this.argsChars = argsChars
    this.proposed = proposed
    this.timeMs = timeMs
  }
}

/** Every policy has evaluated the arguments. `call` has them as the policies left them. */
export interface EvaluatedCall {
  readonly call: ValidatedCall
  readonly evaluation: Decision
  /** How policies changed the arguments before the evaluation. */
  readonly changes: readonly MadeChange[]
}

/** Budget and audit are checked too. */
export interface DecidedCall {
  readonly call: ValidatedCall
  readonly decision: Decision
  readonly changes: readonly MadeChange[]
}

/** The decision is allow, or a person has answered yes. */
export interface AllowedCall {
  readonly call: ValidatedCall
  readonly decision: Decision
  /** Whether a person or a rule allowed it. */
  readonly isApproved: boolean
  /** The earlier approvals that allow it. */
  readonly approvals: readonly KeptApproval[] | undefined
  /** The revision of the approvals that it rests on, if it rests on approvals of the project. */
  readonly revision: number | undefined
  /** If the audit is required: how often it had lost records when the call was decided. */
  readonly lossesBefore: number
}

export interface BudgetedCall {
  readonly allowed: AllowedCall
  readonly reservation: Reservation
}

/** No before-hook vetoed it: it may run. */
export interface ClearedCall {
  readonly cleared: BudgetedCall
}

/** It has passed the gate of the store: its first attempt may run. */
export interface StartedCall {
  readonly started: AllowedCall
}

/** The tool has answered. */
export interface ExecutedCall {
  readonly call: ValidatedCall
  readonly decision: Decision
  readonly reading: Reading
}

/** What the last stage of a call returned. */
export type StageRecord = Call | ReceivedCall | EvaluatedCall | DecidedCall | AllowedCall | ExecutedCall

export const callOf = (record: StageRecord): Call => 'call' in record ? record.call : record

/** The host, as the steps of a call see it. */
export interface HostContext {
  readonly registry: Registry
  readonly events: EventBus
  readonly clock: Clock
  readonly metrics: MetricsRecorder
  readonly journal: CallJournal
  readonly seat: HostSeat
  readonly audit: () => AuditTrail | undefined
  /** They hear of each use of a capability. */
  readonly uses: UseListeners
  readonly order: TickOrder
  readonly paused: PausedCalls
  readonly desk: QuestionDesk
  /** Absent: no passkey is known, and no call is allowed that needs one. */
  readonly passkeys?: PasskeyRing | undefined
  /** Of calls with an idempotency key. Absent if nothing outlives the process. */
  readonly outcomes: RecordedOutcomes | undefined
  readonly recordings: Recordings
  /** By the id of the session. */
  readonly replays: Map<string, ReplayedCalls>
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
  readonly workersFor?: Sandbox['workersFor']
  readonly whyNotStarted?: Sandbox['whyNotStarted']
  /** What commands get, for people. */
  readonly commandVariables?: readonly CommandVariable[] | undefined
  /** Follows the links of a path. */
  readonly realPath?: ((path: string) => string) | undefined
  readonly readStart?: ReaderContext['readStart']
  readonly ignored?: ((roots: readonly string[]) => IgnoredFiles | undefined) | undefined
  readonly countFiles?: CountFiles | undefined
}
