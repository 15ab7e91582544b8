import type { JsonObject } from '@bulkhead/kit/json'
import type { ApprovalAnswer, ApprovalRequest, InteractionEnvelope, InteractionResponse } from '../model/interaction.ts'
import type { LifecycleState } from '../model/lifecycle.ts'
import type { Layer, ToolEffects, ToolKind, ToolMode } from '../model/names.ts'
import type { PowerItem } from '../policy/power-order.ts'
import type { RequirementSet, SecretManifest } from '../validation/requirements.ts'
import type { ConnectedServer, IntegrityStatus } from './loader.ts'

// Ports that an embedder may implement, and the tools that it sees.

/** Time, replaceable by tests. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds that never decrease, for durations. */
  monotonic(): number
  /**
   * Calls once after at least `ms`. Returns a function that cancels the timer. A pending timer must keep the process
   * alive, which may wait for nothing but the answer of a person.
   */
  after(ms: number, run: () => void): () => void
}

/**
 * Answers questions, usually by asking a person. The signal is aborted when the question was answered elsewhere or is
 * void.
 */
export interface Interactor {
  /**
   * Whether it accepts several questions at once and answers them in any order. Read for each question. Default: one at
   * a time.
   */
  readonly takesMany?: boolean
  /** Whether it accepts questions of the kind `Form`. Otherwise a form is asked field by field. */
  readonly takesForms?: boolean
  /** Whether it only observes questions and answers none. */
  readonly isNobody?: boolean
  interact(envelope: InteractionEnvelope, signal: AbortSignal): Promise<InteractionResponse>
}

/** Decides one call that needs approval. */
export interface Approver {
  approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer>
}

/**
 * A program with its own view of the workspace, such as an editor: files that it has open and not saved, and a terminal
 * that a person sees. It gets only what the broker has allowed for a call. Paths are absolute, with links resolved.
 */
export interface WorkspaceClient {
  /** The text of a file. undefined if it has no such file: then the disk is read. */
  readText?(path: string, call: ClientCall): Promise<string | undefined>
  writeText?(path: string, text: string, call: ClientCall): Promise<void>
  /** Runs a program until it ends. Contract: ends it when the signal is aborted. */
  run?(command: ClientCommand, call: ClientCall): Promise<ClientRun>
}

/** The call that a client works for. */
export interface ClientCall {
  readonly callId: string
  readonly signal: AbortSignal
}

/** A checked command. The client starts it without a shell. */
export interface ClientCommand {
  /** Absolute. */
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  /** The most output to keep. */
  readonly outputBytes: number
}

export interface ClientRun {
  readonly exitCode: number | null
  readonly signal: string | null
  /** Both streams, as the terminal shows them. */
  readonly output: string
  readonly truncated: boolean
}

/** The current stage of a workflow. */
export interface MachineStage {
  /** Identifies this run of the stage. */
  readonly stageExecutionId: string
  readonly name: string
  /** Starts at 1 and increases when the stage is retried. */
  readonly attempt: number
  /** Names of the tools that the stage may use without asking. */
  readonly allowedTools: readonly string[]
}

/**
 * A workflow attached to a session. Tools that its current stage lists are approved; for any other tool a person grants
 * the single call, or it is denied. It replaces the security mode and cannot allow what a rule, watchdog or guard
 * denies.
 */
export interface StateMachine {
  readonly id: string
  /** undefined if no stage is active; then the mode decides. Contract: quick; a throw denies the call. */
  stage(): MachineStage | undefined
}

/** A callable tool as the host knows it. */
export interface ToolDefinition {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly requires: RequirementSet
  readonly mode: ToolMode
  readonly kind: ToolKind
  readonly gated: boolean
  /** Whether a repetition is harmless, as `effects` says. */
  readonly idempotent: boolean
  /** As the manifest declares them, if the host believes it. */
  readonly effects: ToolEffects
  /** The tool that tells whether a call of this one has happened. It only reads. */
  readonly verify?: string
  readonly executor: 'local' | 'remote'
}

/** A row of `bulkhead tools`. */
export interface ToolListing extends ToolDefinition {
  readonly layer: Layer
  readonly extension: string
  readonly version: string
  /** Increases each time the extension is loaded again. */
  readonly generation: number
  readonly state: LifecycleState
  readonly integrity: IntegrityStatus
  /** Variables and secrets that the manifest of its extension declares. */
  readonly env: readonly string[]
  readonly secrets: readonly SecretManifest[]
  /** Everything it may do, under the ceiling of the configuration. */
  readonly may: readonly PowerItem[]
  readonly packageDigest: string
  /** Lower layers whose tool of the same name this one replaces, nearest first. */
  readonly shadows: readonly { readonly layer: Layer; readonly extension: string; readonly version: string }[]
  /** Set if an external server offers the tool. */
  readonly server?: Pick<ConnectedServer, 'kind' | 'name' | 'address' | 'unconfined'>
  /** Set if the manifest has `gated: false` but the requirements have effects. */
  readonly gatedByHost: boolean
}
