import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { ExtensionModule, StoredState } from '../author/extension.ts'
import type { BulkheadError } from '../model/errors.ts'
import type { LifecyclePhase } from '../model/lifecycle.ts'
import type { CompartmentLimits } from '../model/limits.ts'
import type { Layer, Placement } from '../model/names.ts'
import type { PreviewedWrites } from '../policy/approval-key.ts'
import { SUBAGENTS, type Power, type PowerCapability } from '../policy/power.ts'
import type { CodeOrigins } from './code-origins.ts'
import type { CommandWall, CommandWalls } from './command-walls.ts'
import type { CallSteps, CompartmentServices } from './compartment-services.ts'
import type { RemoteCode, RunsOn, WorkersFor } from './remote-code.ts'
import type { MeasuredUse } from './runtime-parts.ts'
import type { KeyUse } from './server-jail.ts'
import type { UseRules } from './use-rules.ts'

export type { CodeOrigins, WrittenPlace } from './code-origins.ts'

export type CompartmentCode =
  /** Verified bytes by path relative to the package, with `/` between segments. The code can import nothing else. */
  | {
      readonly kind: 'files'
      readonly main: string
      readonly files: ReadonlyMap<string, Uint8Array>
      readonly origins?: CodeOrigins | undefined
    }
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
  /**
   * For code that keeps nothing between calls: how many compartments share its calls. Default: 1. Phases run in each.
   * Not for inline.
   */
  readonly concurrency?: number
  /**
   * The code is loaded to read what it declares, which is not known yet: every module of Node with a shim exists, and
   * none can do anything.
   */
  readonly describes?: true
  /** Set if its calls run on workers. A sandbox without workers rejects with CapabilityUnavailable. */
  readonly remote?: RemoteCode | undefined
  readonly signal?: AbortSignal
}

/** Capabilities with which code makes others write. */
const MAKES_OTHERS_WRITE: ReadonlySet<PowerCapability> = new Set(['tools.call', SUBAGENTS])

/**
 * Whether the code of a compartment could change files of this machine, also those of the host's own code. A thread
 * shares the process of the host.
 */
export const mayChangeDisk = ({ placement, tools }: Pick<CompartmentRequest, 'placement' | 'tools'>): boolean =>
  placement === 'thread' || tools.some(({ grant: { fs, shell, capabilities } }) =>
    fs.write.length > 0 || shell.length > 0 || capabilities.some((name) => MAKES_OTHERS_WRITE.has(name)))

export interface ToolInvocation {
  /** Unique among the open calls of this compartment. */
  readonly callId: string
  readonly tool: string
  readonly args: JsonObject
  /** Set if the ceiling of the session allows less than the grant of the tool. */
  readonly grant?: Power | undefined
  /** Aborting settles the call at once with the signal's reason. The tool is notified, and killed if it continues. */
  readonly signal: AbortSignal
  /** The same whenever the call runs again. */
  readonly idempotencyKey?: string | undefined
  /** The session that makes the call. Queued calls of different sessions take turns. */
  readonly sessionId?: string
  /** Whether a person or a rule allowed the call. Commands of other calls get no variable with a password. */
  readonly isApproved?: boolean
  /** The wall around commands of the call, if the host chose it. The code cannot widen it. */
  readonly wall?: CommandWall | undefined
  /** Where a rule says that the call runs. Only a compartment with `remote` serves it. */
  readonly runsOn?: RunsOn | undefined
  /** The rules about what the call uses. */
  readonly uses?: UseRules | undefined
  /** How long the call may still take. Absent: no limit. */
  readonly leftMs?: number | undefined
  /** Whether a repetition is harmless, so that the call may begin its effects again. */
  readonly isRepeatable?: boolean
  /** The tool that tells whether the call has happened. */
  readonly verify?: string | undefined
  /** How long its commands may run from now. Then they are ended, and the tool gets their output. Absent: no limit. */
  readonly commandMs?: number | undefined
  /**
   * What limits the powers of the session beyond the grants of its tools. The code of a compartment can use the powers
   * of every call that runs in it, so calls with different limits do not run in one compartment at the same time.
   * Ignored for inline code, which is trusted. Absent: nothing.
   */
  readonly confinement?: string | undefined
  /** Calls `revert` of the tool instead, for an earlier call with these arguments and this result. */
  readonly reverts?: { readonly result: Json } | undefined
  /**
   * Called before each use that can have an effect: a write, a removal, a request other than GET and HEAD, a command
   * that may write. `what`: in words, such as `writes src/a.ts`. The effect waits for the promise, if there is one. It
   * must not begin if this throws or rejects, with StoreUnavailable or with the reason why the call is over. Absent:
   * nothing is noted.
   */
  beginEffect?(what: string): Promise<void> | undefined
  readonly steps?: CallSteps | undefined
  /** The calling call: the same object that was passed to `call` for it. */
  readonly parent?: ToolInvocation | undefined
  /**
   * Calls one listener on cancellation, at once if the call is already cancelled. With it the sandbox reads `signal`
   * only if necessary, so the host need not create one for each call.
   */
  onCancel?(listener: (reason: BulkheadError) => void): void
  /** Contract of both callbacks: must not throw. */
  onProgress?(text: string): void
  onUpdate?(partial: Json): void
  /** Called for each placeholder of a key that a command of the call sent. Contract: must not throw. */
  onKeyUse?(use: KeyUse): void
  /** Called after each use of a capability. Absent: none is measured. Contract: must not throw. */
  readonly onUse?: ((use: MeasuredUse) => void) | undefined
}

export type CompartmentEnd =
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly error: BulkheadError }

/** What one process or thread of a compartment uses now. */
export interface CompartmentUse {
  /** Of its process. Absent: it is a thread of this one. */
  readonly pid?: number
  readonly memoryBytes: number
  /** Processor time since it started. */
  readonly cpuMs: number
}

/** The running code of one extension. Every request settles exactly once, also if the compartment ends. */
export interface CompartmentSession {
  readonly id: string
  readonly placement: Placement
  /** The lifecycle phases, approval keys and reverts that the code implements. */
  readonly offers: {
    readonly phases: ReadonlySet<LifecyclePhase>
    readonly approvalKeys: ReadonlySet<string>
    /** The tools that can revert what they did. */
    readonly reverts?: ReadonlySet<string>
  }
  /** Runs a phase under its deadline. A missing phase succeeds at once. */
  lifecycle(phase: LifecyclePhase): Promise<void>
  /**
   * Resolves with the tool's return value as JSON. Rejects with ToolExecutionFailed, or with the code that the tool
   * gives. Waits if too many calls run. Rejects with CompartmentGone if the compartment failed before the call was
   * sent.
   */
  call(invocation: ToolInvocation): Promise<Json>
  /** Rejects with CompartmentGone as `call` does. */
  deriveApprovalKey(tool: string, args: JsonObject, signal: AbortSignal): Promise<string>
  /**
   * Migrates stored state; the result is not validated. Rejects with SlotMigrationFailed, also if the code has no
   * migration.
   */
  migrateState(stored: StoredState, signal: AbortSignal): Promise<Json>
  readonly inFlight: number
  /** What it uses now: one entry for each process or thread, none while it has none. Never rejects. Absent: unknown. */
  use?(): Promise<readonly CompartmentUse[]>
  /**
   * Set while a cancelled call still runs; settles when the call or its compartment has ended. A call that is sent
   * earlier could be killed together with it.
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

/** An isolation feature, and whether it works on this machine. */
export interface Wall {
  /** The program or mechanism, such as bwrap. */
  readonly name: string
  /** The code that it is around: extensions in a process, commands of tools, or local servers. */
  readonly around: 'process' | 'commands' | 'servers'
  readonly stands: boolean
  /** Why it does not stand. */
  readonly reason?: string
  /** What that code can do without it. */
  readonly cost: string
  /** How to get it. */
  readonly cure: string
  /** Whether such code is refused without it. */
  readonly isRequired: boolean
}

export interface Sandbox {
  /** Starts and locks down a compartment, and imports the code. Rejects with the reason and leaves nothing behind. */
  open(request: CompartmentRequest): Promise<CompartmentSession>
  /**
   * A call needs such a compartment, if it is allowed. What takes time and depends on neither the code nor the call may
   * begin now. Resolves when it has begun. Never rejects.
   */
  prepare?(coming: Pick<CompartmentRequest, 'placement' | 'limits'>): Promise<void>
  /** Calls the listener for each missing feature, once that is known. Contract: the listener must not throw. */
  watchWalls?(listener: (missing: MissingWall) => void): void
  /** Checks the isolation of child processes now, instead of before the first one starts. Never rejects. */
  tryWalls?(): Promise<void>
  /** What stands around commands here. Tried once. Rejects if it cannot be tried now. Absent: nothing. */
  commandWalls?(): Promise<CommandWalls>
  /**
   * A unified diff of what a tool with this grant would write. Reads only files that it may write, and writes nothing.
   * Rejects for a path outside of the grant, and for a file that cannot be changed like that.
   */
  diff?(writes: PreviewedWrites, grant: Power): Promise<string>
  /**
   * Why what commands of a tool with this grant change would not be recorded for undo, as part of a sentence. undefined
   * if it would. Reads the names and lengths of the files that they may write.
   */
  whyUnrecorded?(grant: Power, signal: AbortSignal): Promise<string | undefined>
  /**
   * Why a command of a tool with this grant would not start behind this wall, because of what rules deny: the error
   * that the command would get. undefined if it would start. Starts nothing.
   */
  whyNotStarted?(
    grant: Power, wall: CommandWall, denials: Pick<UseRules, 'deniedPaths' | 'deniesHosts'>,
  ): Promise<BulkheadError | undefined>
  /** The workers that would serve calls with this demand now, and why others would not. Absent: there are none. */
  workersFor?(runsOn: RunsOn): Promise<WorkersFor>
  /** All isolation features, tried as before the first process starts. Rejects if they cannot be tried now. */
  walls?(): Promise<readonly Wall[]>
  close(): Promise<void>
}
