import type { BulkheadError, ToolInvocation } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { Reading } from '@bulkhead/contract/dialects'
import type { Resumption } from './interaction/paused-calls.ts'
import type { KeptApproval } from './approvals/kept-approval.ts'
import type { JournalEntry } from '../records/call-journal.ts'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import type { Decision } from './verdict.ts'
import type { BudgetSource, Reservation } from '../model/budget.ts'
import type { CancelScope } from '../model/cancel-scope.ts'
import type { SessionScope } from './session-scope.ts'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'

/** Where a call is made from. */
export interface CallScope {
  readonly session: SessionScope
  /** What is offered to it: fixed when its turn began. */
  readonly tools: OfferedTools
  /** What it uses is taken from. */
  readonly budget: BudgetSource
  /** Cancelled when the call must end: with ToolCancelled, TurnCancelled, SessionCancelled or HostClosed. */
  readonly cancel: CancelScope
  /** Cancelled when the whole turn must end; outside of one, the call itself. */
  readonly turn: CancelScope
  /** Set when another tool makes the call. */
  readonly parent: ParentCall | undefined
  /** Set when it goes on after a pause. */
  readonly resumption: Resumption | undefined
  /** Told when the call has settled and nothing of it is left. */
  readonly ended: (() => void) | undefined
}

/** A tool that calls a tool: the called one may have no power that the caller lacks. */
export interface ParentCall {
  readonly callId: string
  readonly tool: ToolEntry
  /** The tools that make the call, from the one the model called to this one. */
  readonly callers: readonly ToolEntry[]
  /** The attempt of it that makes the call. */
  readonly running: ToolInvocation
  /** Stops the time of every call that waits for this one. Returns what lets it go on. */
  pause(): () => void
}

const NO_CALLERS: readonly ToolEntry[] = Object.freeze([])

/** A call's own words, read once and not looked at yet. */
export interface Words {
  readonly id: unknown
  readonly name: unknown
  readonly input: unknown
  readonly timeoutMs: unknown
  /** Why what was said beside the call cannot be used. */
  readonly wrong: BulkheadError | undefined
}

/**
 * One call, from the caller's words to its end: one object that the stages fill in. Each stage writes through one method here
 * and hands on a stronger type, so a later stage cannot be given an earlier call.
 */
export class RawCall {
  /** As much of it as an outcome and an event can repeat. */
  readonly id: string
  readonly name: string
  readonly words: Words
  readonly scope: CallScope
  readonly startedAt: number
  timeoutMs: number | undefined = undefined
  /** Of the time of the call. It runs while the call waits for its extension to start and while the tool runs. */
  leftMs = 0
  received = false
  tool: ToolEntry | undefined = undefined
  args: JsonObject | undefined = undefined
  /** As they were asked for, where somebody has changed them. */
  proposed: JsonObject | undefined = undefined
  /** About the length of the arguments as JSON. */
  argsChars = 0
  decision: Decision | undefined = undefined
  /** What was approved before and lets it through. */
  approvals: readonly KeptApproval[] | undefined = undefined
  reservation: Reservation | undefined = undefined
  cleared = false
  reading: Reading | undefined = undefined
  /** How far it came: 0 until the tool is run. */
  attempt = 0
  /** For how long people were asked on its behalf, which is nobody else's time. */
  askedMs = 0
  /** Lets go of the extension the call is bound to. */
  release: (() => void) | undefined = undefined
  journal: JournalEntry | undefined = undefined
  /** How often the audit had lost records when the call was decided, where the audit is required. */
  lossesBefore = 0

  constructor(id: string, name: string, words: Words, scope: CallScope, startedAt: number) {
    this.id = id
    this.name = name
    this.words = words
    this.scope = scope
    this.startedAt = startedAt
  }

  get session(): SessionScope {
    return this.scope.session
  }

  get parent(): ParentCall | undefined {
    return this.scope.parent
  }

  /** The tools that make the call, from the one the model called; none where the model itself makes it. */
  get callers(): readonly ToolEntry[] {
    return this.scope.parent?.callers ?? NO_CALLERS
  }

  /** Aborted with a BulkheadError as its reason. Made when somebody asks for it: most calls end by themselves. */
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
    this.release = tool.extension.holds.enter()
    return this as ResolvedCall
  }

  /** Contract: the arguments are frozen. Called again when somebody who may changes them: all that was judged is judged anew. */
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

  permit(decision: Decision): AuthorizedCall {
    this.decision = decision
    return this as AuthorizedCall
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

  /** Nothing of it is left. */
  end(): void {
    this.release?.()
    this.journal?.close()
    this.scope.ended?.()
  }
}

/** It has an id to answer under, a name to look up, and a deadline that makes sense. */
export type ReceivedCall = RawCall & { readonly received: true }

/** Exists, is enabled, and is this one of this origin. */
export type ResolvedCall = ReceivedCall & { readonly tool: ToolEntry }

/** The arguments are plain JSON within limits and satisfy the schema. They are a frozen copy: nobody can change them any more. */
export type ValidatedCall = ResolvedCall & { readonly args: JsonObject }

/** Every policy agrees, and so does a person where one had to be asked. */
export type AuthorizedCall = ValidatedCall & { readonly decision: Decision }

export type BudgetedCall = AuthorizedCall & { readonly reservation: Reservation }

/** No before-hook skipped it: it may run. */
export type ClearedCall = BudgetedCall & { readonly cleared: true }

/** The tool has answered, in whichever of the accepted shapes; here it is read. */
export type ExecutedCall = ClearedCall & { readonly reading: Reading }

/** A stage's no: a value, not a throw. */
export class Refusal {
  readonly error: BulkheadError

  constructor(error: BulkheadError) {
    this.error = error
  }
}

/** The fields every event of a call carries. */
export const eventFields = (call: RawCall) => ({
  sessionId: call.session.id, callId: call.id, tool: call.name, origin: call.tool?.origin ?? null,
})
