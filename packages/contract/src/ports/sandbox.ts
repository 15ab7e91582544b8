import type { BulkheadError } from '../model/bulkhead-error.ts'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { Layer } from '../model/names.ts'
import type { CompartmentLimits } from '../model/limits.ts'
import type { LifecyclePhase } from '../model/lifecycle.ts'
import type { Power } from '../policy/power.ts'
import type { ExtensionModule, StoredState } from '../author/extension.ts'
import type { CompartmentServices } from './capabilities.ts'

export const PLACEMENTS = ['inline', 'thread', 'process'] as const
/** inline: the host's own thread, for bundled tools only. thread: a worker of the host. process: a worker in a child process. */
export type Placement = (typeof PLACEMENTS)[number]

export type CompartmentCode =
  /** Verified bytes by path relative to the package, `/` between segments; nothing else can be imported. */
  | { readonly kind: 'files'; readonly main: string; readonly files: ReadonlyMap<string, Uint8Array> }
  /** A module of ours, for the inline placement. */
  | { readonly kind: 'module'; readonly module: ExtensionModule }

export interface CompartmentTool {
  readonly name: string
  readonly grant: Power
  /** What the manifest declares; code that offers its own copy of either must offer the same. */
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
  /**
   * For code that keeps nothing between calls: over how many compartments its calls are spread, 1 unless given. Phases run
   * in each of them. Not for the inline placement.
   */
  readonly concurrency?: number
  readonly signal?: AbortSignal
}

export interface ToolInvocation {
  /** Of no other call in this compartment that has not settled. */
  readonly callId: string
  readonly tool: string
  readonly args: JsonObject
  /** What the call may do where that is less than what its tool may: under the ceiling of its session. */
  readonly grant?: Power | undefined
  /** Aborting settles the call at once with the signal's reason; the tool is told, and killed when it goes on. */
  readonly signal: AbortSignal
  /** The session that makes the call. Where calls wait for a place in the compartment, sessions take turns. */
  readonly sessionId?: string
  /** The call that made this one and waits for it: the same object that was passed to `call` for it. */
  readonly parent?: ToolInvocation | undefined
  /**
   * Tells one listener of the same, at once if it is so already. Where there is this, the signal is read only by those who
   * cannot do without one, so that it need not be made for each call.
   */
  onCancel?(listener: (reason: BulkheadError) => void): void
  /** Contract for both: must not throw. */
  onProgress?(text: string): void
  onUpdate?(partial: Json): void
}

export type CompartmentEnd =
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly error: BulkheadError }

/** One extension's code, running. Everything asked of it settles exactly once, also when it dies. */
export interface CompartmentSession {
  readonly id: string
  readonly placement: Placement
  /** Which lifecycle phases and approval keys the code offers. */
  readonly offers: { readonly phases: ReadonlySet<LifecyclePhase>; readonly approvalKeys: ReadonlySet<string> }
  /** Runs a phase under its deadline. A phase the code does not have succeeds at once. */
  lifecycle(phase: LifecyclePhase): Promise<void>
  /**
   * The tool's own return value as JSON; its throw as a BulkheadError of code ToolExecutionFailed or as it says. Waits for a place
   * where as many calls run as may. Rejects with CompartmentGone where the compartment failed before the call was sent to it.
   */
  call(invocation: ToolInvocation): Promise<Json>
  /** Rejects with CompartmentGone as `call` does. */
  deriveApprovalKey(tool: string, args: JsonObject, signal: AbortSignal): Promise<string>
  /** What the code makes of a stored state; nobody has judged it yet. Rejects with SlotMigrationFailed, also where it cannot. */
  migrateState(stored: StoredState, signal: AbortSignal): Promise<Json>
  readonly inFlight: number
  /**
   * Set while a cancelled call goes on in it; settles when that has ended, or its compartment has. A call sent before
   * could share the end of one it has nothing to do with.
   */
  readonly quiet: Promise<void> | undefined
  /** Settles once, never rejects. */
  readonly ended: Promise<CompartmentEnd>
  /** Idempotent. Resolves when nothing of the compartment is left: no process, thread, port or timer. */
  close(reason?: BulkheadError): Promise<void>
}

/** A wall of the operating system that does not work on this machine. */
export interface MissingWall {
  readonly message: string
  readonly cure: string
}

export interface Sandbox {
  /** Places, starts, locks down, and imports the code. Rejects with the reason and leaves nothing behind. */
  open(request: CompartmentRequest): Promise<CompartmentSession>
  /** Calls the listener for each wall that is missing, once that is known. Contract: it must not throw. */
  watchWalls?(listener: (missing: MissingWall) => void): void
  /** Tries the walls around child processes now, instead of before the first of them starts. Never rejects. */
  tryWalls?(): Promise<void>
  close(): Promise<void>
}
