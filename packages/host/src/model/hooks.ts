import type { BulkheadError, Outcome, OutcomeBody, OutcomeOrigin, ToolDefinition } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'

/** What an embedder may hang onto each call. docs/guides/hooks.md has their order. */
export interface Hooks extends Observers {
  /** false skips the call. A throw or a missing answer counts as false: a hook that fails has not agreed. */
  beforeToolExecution?(call: CallView, signal: AbortSignal): boolean | void | Promise<boolean | void>
  /** Told, not waited for. A throw is reported as SuppressedError. */
  afterToolExecution?(call: CallView, outcome: Outcome): void | Promise<void>
  /** false drops the update, and so does a throw. Updates are not held up: anything but an immediate answer is none. */
  beforeToolExecutionUpdate?(call: CallView, partial: Json): boolean | void
  /** Told of updates that were not dropped. A throw is reported as SuppressedError. */
  afterToolExecutionUpdate?(call: CallView, partial: Json): void | Promise<void>
}

/** Observers receive what happens and cannot change it. The call does not wait for them; a throw is reported as SuppressedError. */
export interface Observers {
  /** Before each attempt. */
  onBeforeTool?(context: HookContext): void | Promise<void>
  /** Once, when the tool has succeeded. */
  onAfterTool?(context: HookContext): void | Promise<void>
  /** After each attempt that ended by an exception; a failure that the tool reports is none. */
  onToolError?(context: HookContext): void | Promise<void>
  /** After a call was refused. */
  onPermissionDenied?(context: HookContext): void | Promise<void>
  onTokenBudgetExceeded?(context: HookContext): void | Promise<void>
  onToolsDisabled?(context: HookContext): void | Promise<void>
}

export interface HookContext {
  readonly hookPoint: keyof Observers
  readonly toolName: string
  readonly callId: string
  /** null where the call did not come so far that they were read. */
  readonly parameters: JsonObject | null
  readonly role: string
  readonly result: OutcomeBody | null
  readonly error: BulkheadError | null
  /** Since the call came in. */
  readonly durationMs: number
  readonly attempt: number
  readonly workspace: string
  readonly sessionId: string
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
