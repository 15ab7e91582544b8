import type { Json } from '@bulkhead/kit/json'
import type { InteractionRequest, InteractionResponse } from '../model/interaction.ts'
import type { Outcome } from '../model/outcome.ts'
import type { ChangeRecorder, UndoAccess } from './changes.ts'
import type { WorkspaceClient } from './embedder.ts'

export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly text: string
  readonly callId: string | undefined
  /** Set on lines that the host adds to the log of the code. */
  readonly code?: 'LogTruncated'
}

/**
 * The state slot of one extension, of the principal of a call. The host checks schema, version and drift. `callId`: the
 * call that accesses it; undefined outside of one.
 */
export interface StateAccess {
  read(callId?: string): Promise<Json>
  write(data: Json, callId?: string): Promise<void>
}

/** A declared secret. Only the broker sees the value, and sends it only to these hosts and commands. */
export interface SecretGrant {
  /** undefined if it has no value. */
  readonly value: string | undefined
  readonly hosts: readonly string[]
  readonly commands: readonly string[]
}

/**
 * The data that a session keeps for one extension, accessed by a running call. Rejects with StateInvalid for an invalid
 * value.
 */
export interface SessionAccess {
  read(callId: string): Promise<{ readonly id: string; readonly data: Json }>
  write(callId: string, data: Json): Promise<void>
}

/**
 * The steps of a call. What a step returned is kept until the call has ended, so that a call that continues or runs
 * again does not repeat it. They run one after the other, and each has its own name. Both methods reject with
 * InputInvalid if that is broken, and with StoreUnavailable.
 */
export interface CallSteps {
  /** Resolves with the kept result, or with undefined if the step must run. Then `end` follows. */
  begin(name: string): Promise<{ readonly result: Json } | undefined>
  /** Keeps the result. Without one the step has failed. */
  end(name: string, result?: Json): Promise<void>
}

/** What a call puts out, as it arrives. A file keeps what a model cannot see of it. */
export interface WholeOutput {
  /** `source`: lines of different ones are not mixed. Never rejects. While it is pending, add nothing more. */
  add(source: string, bytes: Uint8Array): Promise<void> | undefined
  /** A part of it is missing. */
  leaveOut(): void
}

/**
 * What the broker needs from the host, per compartment. An absent service is a power that the compartment does not
 * have.
 */
export interface CompartmentServices {
  /** Contract: must not throw and must not block. */
  log(entry: LogEntry): void
  readonly state?: StateAccess
  /** Declared variables that have a value. The broker denies any other name. */
  readonly env: ReadonlyMap<string, string>
  /** Every declared name, with or without a value. */
  readonly envDeclared: ReadonlySet<string>
  /** Every declared secret, by name. */
  readonly secrets?: ReadonlyMap<string, SecretGrant>
  /** `callId` is null during the phase `init`. */
  interact?(callId: string | null, request: InteractionRequest, signal: AbortSignal): Promise<InteractionResponse>
  callTool?(callId: string, name: string, args: Json, signal: AbortSignal): Promise<Outcome>
  readonly session?: SessionAccess
  /** Files of the host that a call may read in addition to its grant, by exact path. */
  lentFiles?(callId: string): ReadonlySet<string>
  /** Takes the whole output of a running call of a bundled tool, of which the result has a part. */
  wholeOutput?(callId: string): WholeOutput | undefined
  /** The client of the session that makes a call. */
  client?(callId: string): WorkspaceClient | undefined
  /** Absent: nothing can be undone. */
  readonly changes?: ChangeRecorder | undefined
  /** Only for the bundled tool that undoes changes. */
  readonly undo?: UndoAccess | undefined
}
