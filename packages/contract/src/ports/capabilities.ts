import type { InteractionRequest, InteractionResponse } from '../model/interaction.ts'
import type { Json } from '@bulkhead/kit/json'
import type { Outcome } from '../model/outcome.ts'

export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly text: string
  readonly callId: string | undefined
  /** Set on what the host itself says about the log of the code. */
  readonly code?: 'LogTruncated'
}

/** The own state slot of one extension, already judged: schema, version and drift are the host's affair. */
export interface StateAccess {
  read(): Promise<Json>
  write(data: Json): Promise<void>
}

/** A declared secret. The broker alone sees the value, and lets it out to these hosts and commands only. */
export interface SecretGrant {
  /** undefined when it has none here. */
  readonly value: string | undefined
  readonly hosts: readonly string[]
  readonly commands: readonly string[]
}

/** What a session keeps of one extension, by a call that runs in it. Rejects with StateInvalid for what it does not keep. */
export interface SessionAccess {
  read(callId: string): Promise<{ readonly id: string; readonly data: Json }>
  write(callId: string, data: Json): Promise<void>
}

/**
 * What the broker cannot do by itself and asks the host for, per compartment. A service that is absent is a power that
 * the compartment does not have.
 */
export interface CompartmentServices {
  /** Contract: must not throw and must not block. */
  log(entry: LogEntry): void
  readonly state?: StateAccess
  /** Declared variables that have a value here. A name outside the map is refused by the broker. */
  readonly env: ReadonlyMap<string, string>
  /** Every declared name, with or without a value. */
  readonly envDeclared: ReadonlySet<string>
  /** Every declared secret by its name. */
  readonly secrets?: ReadonlyMap<string, SecretGrant>
  /** `callId` is null while the phase `init` asks. */
  interact?(callId: string | null, request: InteractionRequest, signal: AbortSignal): Promise<InteractionResponse>
  callTool?(callId: string, name: string, args: Json, signal: AbortSignal): Promise<Outcome>
  readonly session?: SessionAccess
  /** Files of the host's own that a call may read besides what its tool was granted, by the very paths it was told. */
  lentFiles?(callId: string): ReadonlySet<string>
}
