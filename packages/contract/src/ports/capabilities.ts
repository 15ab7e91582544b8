import type { InteractionRequest, InteractionResponse } from '../model/interaction.ts'
import type { Json } from '@bulkhead/kit/json'
import type { Outcome } from '../model/outcome.ts'

export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly text: string
  readonly callId: string | undefined
  /** Set on lines that the host adds to the log of the code. */
  readonly code?: 'LogTruncated'
}

/** The state slot of one extension. The host checks schema, version and drift. */
export interface StateAccess {
  read(): Promise<Json>
  write(data: Json): Promise<void>
}

/** A declared secret. Only the broker sees the value, and sends it only to these hosts and commands. */
export interface SecretGrant {
  /** undefined if it has no value. */
  readonly value: string | undefined
  readonly hosts: readonly string[]
  readonly commands: readonly string[]
}

/** The data that a session keeps for one extension, accessed by a running call. Rejects with StateInvalid for an invalid value. */
export interface SessionAccess {
  read(callId: string): Promise<{ readonly id: string; readonly data: Json }>
  write(callId: string, data: Json): Promise<void>
}

/** What the broker needs from the host, per compartment. An absent service is a power that the compartment does not have. */
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
}

/** The parts of `runtime` that a tool can be given. The broker checks each use again. */
export type RuntimePart = 'fs.read' | 'fs.write' | 'net' | 'shell' | 'env' | 'secrets' | 'state' | 'interact' | 'tools' | 'session'

/** What a compartment may request of the broker, each with the part of `runtime` it belongs to. `null`: every call may. */
export const BROKER_METHODS = {
  'fs.read': 'fs.read',
  'fs.list': 'fs.read',
  'fs.stat': 'fs.read',
  'fs.glob': 'fs.read',
  'fs.find': 'fs.read',
  'fs.search': 'fs.read',
  'fs.watch': 'fs.read',
  'fs.watch.next': 'fs.read',
  'fs.write': 'fs.write',
  'fs.edit': 'fs.write',
  'fs.remove': 'fs.write',
  'net.fetch': 'net',
  'net.read': 'net',
  'shell.run': 'shell',
  'shell.pipe': 'shell',
  'env.get': 'env',
  'secrets.handle': 'secrets',
  'state.read': 'state',
  'state.write': 'state',
  'interact': 'interact',
  'tools.call': 'tools',
  'session.read': 'session',
  'session.write': 'session',
  'progress': null,
  'update': null,
  'log': null,
} as const satisfies Record<string, RuntimePart | null>
export type BrokerMethod = keyof typeof BROKER_METHODS
