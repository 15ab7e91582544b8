import type { BulkheadError, Clock, JsonObject, OutcomeOrigin, ToolDefinition } from '@bulkhead/contract'
import type { Reading } from '@bulkhead/contract/dialects'
import type { Resumption } from './interaction/paused-calls.ts'
import type { JournalEntry } from './journal/open-calls.ts'
import type { OfferedTools } from './offered-tools.ts'
import type { Decision } from './permissions/verdict.ts'
import type { BudgetSource, Reservation } from './sessions/budget.ts'
import type { CancelScope } from './sessions/cancel-scope.ts'
import type { SessionScope } from './sessions/session-scope.ts'
import type { ToolEntry } from './tool-entry.ts'

/** A call gains something with each stage it passes; a later stage cannot be given an earlier call. */
export interface RawCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly timeoutMs: number | undefined
  readonly session: SessionScope
  /** What is offered to it: fixed when its turn began. */
  readonly tools: OfferedTools
  /** What it uses is taken from. */
  readonly budget: BudgetSource
  /** Cancelled when the whole turn must end; outside of one, the call itself. */
  readonly turn: CancelScope
  /** Aborted with a BulkheadError as its reason: ToolCancelled, TurnCancelled, SessionCancelled or HostClosed. */
  readonly signal: AbortSignal
  readonly progress: CallProgress
  /** Set when another tool makes the call. */
  readonly parent: ParentCall | undefined
  /** Set when it goes on after a pause. */
  readonly resumption: Resumption | undefined
}

/** A tool that calls a tool: the called one may have no power that the caller lacks. */
export interface ParentCall {
  readonly tool: ToolEntry
  readonly depth: number
  /** Stops the time of every call that waits for this one. Returns what lets it go on. */
  pause(): () => void
}

/** Exists, is enabled, and is this one of this origin. */
export interface ResolvedCall extends RawCall {
  readonly tool: ToolEntry
}

/** The arguments are plain JSON within limits and satisfy the schema. They are a frozen copy: nobody can change them any more. */
export interface ValidatedCall extends ResolvedCall {
  readonly args: JsonObject
  readonly argsText: string
}

/** Every policy agrees, and so does a person where one had to be asked. */
export interface AuthorizedCall extends ValidatedCall {
  readonly decision: Decision
}

export interface BudgetedCall extends AuthorizedCall {
  readonly reservation: Reservation
}

/** No before-hook skipped it: it may run. */
export interface ClearedCall extends BudgetedCall {
  readonly cleared: true
}

/** The tool has answered, in whichever of the accepted shapes; here it is read. */
export interface ExecutedCall extends ClearedCall {
  readonly reading: Reading
}

/** How far a call came, for whoever settles it after a throw. Written by the pipeline and its stages alone. */
export interface CallProgress {
  readonly startedAt: number
  tool: ToolEntry | undefined
  budgeted: BudgetedCall | undefined
  /** 0 until the tool is run. */
  attempt: number
  /** Lets go of the extension the call is bound to. */
  release: (() => void) | undefined
  journal: JournalEntry | undefined
}

export const beginning = (clock: Clock): CallProgress =>
  ({ startedAt: clock.monotonic(), tool: undefined, budgeted: undefined, attempt: 0, release: undefined, journal: undefined })

/** A stage's no: a value, not a throw. */
export class Refusal {
  readonly error: BulkheadError

  constructor(error: BulkheadError) {
    this.error = error
  }
}

/** A call as watchdogs, guards and hooks are shown it. */
export interface CallView {
  readonly sessionId: string
  readonly callId: string
  readonly tool: ToolDefinition
  readonly origin: OutcomeOrigin
  readonly args: JsonObject
  readonly approvalKey: string
}

export const viewOf = (call: ValidatedCall, approvalKey: string): CallView => ({
  sessionId: call.session.id, callId: call.id, tool: call.tool.definition, origin: call.tool.origin, args: call.args, approvalKey,
})

/** The fields every event of a call carries. */
export const eventFields = (call: RawCall) => ({
  sessionId: call.session.id, callId: call.id, tool: call.name, origin: call.progress.tool?.origin ?? null,
})
