import type { BulkheadError } from '../model/bulkhead-error.ts'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { Layer, Placement } from '../model/names.ts'
import type { CompartmentLimits } from '../model/limits.ts'
import type { LifecyclePhase } from '../model/lifecycle.ts'
import type { Power } from '../policy/power.ts'
import type { ExtensionModule, StoredState } from '../author/extension.ts'
import type { CompartmentServices } from './capabilities.ts'

export type CompartmentCode =
  /** Verified bytes by path relative to the package, with `/` between segments. The code can import nothing else. */
  | { readonly kind: 'files'; readonly main: string; readonly files: ReadonlyMap<string, Uint8Array> }
  /** A module of the host, for the inline placement. */
  | { readonly kind: 'module'; readonly module: ExtensionModule }

export interface CompartmentTool {
  readonly name: string
  readonly grant: Power
  /** From the manifest. If the code has its own copy of either, it must be equal. */
  readonly inputSchema: JsonObject
  readonly requires: JsonObject
}

export interface CompartmentRequest {
  readonly extension: { readonly id: string; readonly version: string; readonly layer: Layer }
  readonly placement: Placement
  readonly code: CompartmentCode
  readonly tools: readonly CompartmentTool[]
  readonly config: JsonObject
  readonly limits: CompartmentLimits
  readonly services: CompartmentServices
  /** For code that keeps nothing between calls: how many compartments share its calls. Default: 1. Phases run in each. Not for inline. */
  readonly concurrency?: number
  readonly signal?: AbortSignal
}

export interface ToolInvocation {
  /** Unique among the open calls of this compartment. */
  readonly callId: string
  readonly tool: string
  readonly args: JsonObject
  /** Set if the ceiling of the session allows less than the grant of the tool. */
  readonly grant?: Power | undefined
  /** Aborting settles the call at once with the signal's reason. The tool is notified, and killed if it continues. */
  readonly signal: AbortSignal
  /** The session that makes the call. Queued calls of different sessions take turns. */
  readonly sessionId?: string
  /** The calling call: the same object that was passed to `call` for it. */
  readonly parent?: ToolInvocation | undefined
  /**
   * Calls one listener on cancellation, at once if the call is already cancelled. With it the sandbox reads `signal` only if necessary,
   * so the host need not create one for each call.
   */
  onCancel?(listener: (reason: BulkheadError) => void): void
  /** Contract of both callbacks: must not throw. */
  onProgress?(text: string): void
  onUpdate?(partial: Json): void
}

export type CompartmentEnd =
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly error: BulkheadError }

/** The running code of one extension. Every request settles exactly once, also if the compartment ends. */
export interface CompartmentSession {
  readonly id: string
  readonly placement: Placement
  /** The lifecycle phases and approval keys that the code implements. */
  readonly offers: { readonly phases: ReadonlySet<LifecyclePhase>; readonly approvalKeys: ReadonlySet<string> }
  /** Runs a phase under its deadline. A missing phase succeeds at once. */
  lifecycle(phase: LifecyclePhase): Promise<void>
  /**
   * Resolves with the tool's return value as JSON. Rejects with ToolExecutionFailed, or with the code that the tool gives. Waits if too
   * many calls run. Rejects with CompartmentGone if the compartment failed before the call was sent.
   */
  call(invocation: ToolInvocation): Promise<Json>
  /** Rejects with CompartmentGone as `call` does. */
  deriveApprovalKey(tool: string, args: JsonObject, signal: AbortSignal): Promise<string>
  /** Migrates stored state; the result is not validated. Rejects with SlotMigrationFailed, also if the code has no migration. */
  migrateState(stored: StoredState, signal: AbortSignal): Promise<Json>
  readonly inFlight: number
  /**
   * Set while a cancelled call still runs; settles when the call or its compartment has ended. A call that is sent earlier could be
   * killed together with it.
   */
  readonly quiet: Promise<void> | undefined
  /** Settles once, never rejects. */
  readonly ended: Promise<CompartmentEnd>
  /** Idempotent. Resolves when no process, thread, port or timer of the compartment is left. */
  close(reason?: BulkheadError): Promise<void>
}

/** An isolation feature of the operating system that does not work on this machine. */
export interface MissingWall {
  readonly message: string
  readonly cure: string
}

export interface Sandbox {
  /** Starts and locks down a compartment, and imports the code. Rejects with the reason and leaves nothing behind. */
  open(request: CompartmentRequest): Promise<CompartmentSession>
  /** Calls the listener for each missing feature, once that is known. Contract: the listener must not throw. */
  watchWalls?(listener: (missing: MissingWall) => void): void
  /** Checks the isolation of child processes now, instead of before the first one starts. Never rejects. */
  tryWalls?(): Promise<void>
  close(): Promise<void>
}
