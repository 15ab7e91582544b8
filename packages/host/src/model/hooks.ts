import type {
  AgentManifest, BulkheadError, Outcome, OutcomeBody, OutcomeOrigin, Principal, ToolDefinition,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'

/** Functions of an embedder that run around each call. docs/guides/hooks.md has their order. */
export interface Hooks extends Observers {
  /** false skips the call. So does a hook that throws or does not answer in time. */
  beforeToolExecution?(call: CallView, signal: AbortSignal): boolean | void | Promise<boolean | void>
  /** Not awaited. A throw is reported as SuppressedError. */
  afterToolExecution?(call: CallView, outcome: Outcome): void | Promise<void>
  /** false drops the update, and so does a throw. Must answer synchronously: updates do not wait. */
  beforeToolExecutionUpdate?(call: CallView, partial: Json): boolean | void
  /** Gets the updates that were not dropped. A throw is reported as SuppressedError. */
  afterToolExecutionUpdate?(call: CallView, partial: Json): void | Promise<void>
}

/**
 * Observers receive what happens and cannot change it. The call does not wait for them; a throw is reported as
 * SuppressedError.
 */
export interface Observers {
  /** Before each attempt. */
  onBeforeTool?(context: HookContext): void | Promise<void>
  /** Once, when the tool has succeeded. */
  onAfterTool?(context: HookContext): void | Promise<void>
  /** After each attempt that threw. A failure that the tool returns does not count. */
  onToolError?(context: HookContext): void | Promise<void>
  /** After a call was denied. */
  onPermissionDenied?(context: HookContext): void | Promise<void>
  onTokenBudgetExceeded?(context: HookContext): void | Promise<void>
  onToolsDisabled?(context: HookContext): void | Promise<void>
}

export interface HookContext {
  readonly hookPoint: keyof Observers
  readonly toolName: string
  readonly callId: string
  /** null if the call ended before they were read. */
  readonly arguments: JsonObject | null
  /** @deprecated Use `arguments`. */
  readonly parameters: JsonObject | null
  readonly role: string
  readonly result: OutcomeBody | null
  readonly error: BulkheadError | null
  /** Since the call was made. */
  readonly durationMs: number
  readonly attempt: number
  readonly workspace: string
  readonly sessionId: string
  /** Who the session is for. */
  readonly principal?: Principal
}

/** A call as watchdogs, guards and hooks see it. */
export interface CallView {
  readonly sessionId: string
  readonly callId: string
  readonly tool: ToolDefinition
  readonly origin: OutcomeOrigin
  readonly arguments: JsonObject
  /** @deprecated Use `arguments`. */
  readonly args: JsonObject
  readonly approvalKey: string
  /** What the session was opened for, if it has an agent. */
  readonly agent?: AgentManifest
  /** Who the session is for. */
  readonly principal?: Principal
}
