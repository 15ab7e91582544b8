/**
 * What crosses between host and compartment. Each packet is one JSON text: an array of `[channel, message]`. The two
 * directions are apart: `call` carries the host's calls and their replies, `broker` the compartment's capability calls
 * and theirs, so that neither side can answer a question with a question.
 */
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { LifecyclePhase } from './model/lifecycle.ts'

export const CHANNELS = ['call', 'broker'] as const
export type Channel = (typeof CHANNELS)[number]

/** Comlink's request as far as it is let through: one method of a table, plain arguments, nothing else. */
export interface WireRequest {
  readonly id: string
  readonly type: 'APPLY'
  readonly path: readonly [method: string]
  readonly argumentList: readonly WireValue[]
}
export interface WireValue {
  readonly type: 'RAW'
  readonly value: Json
}
/** Comlink's reply: a plain value, or an error in the form of its throw handler. */
export type WireReply =
  | { readonly id: string; readonly type: 'RAW'; readonly value?: Json }
  | { readonly id: string; readonly type: 'HANDLER'; readonly name: 'throw'; readonly value: { readonly isError: true; readonly value: WireError } }

/** An error as data. Never a live object, never a prototype. */
export interface WireError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly data?: Json
  readonly stack?: string
  readonly cause?: WireError
}

export const WIRE_LIMITS = { idChars: 128, errorTextChars: 10_000, errorDepth: 4, jsonDepth: 72 } as const

/** What the host may ask of a compartment. */
export const COMPARTMENT_METHODS = ['load', 'lifecycle', 'execute', 'deriveApprovalKey', 'migrateState', 'abort'] as const
export interface CompartmentMethods {
  load(request: LoadRequest): LoadReply
  lifecycle(phase: LifecyclePhase): void
  execute(callId: string, tool: string, args: JsonObject): Json
  deriveApprovalKey(tool: string, args: JsonObject): Json
  migrateState(slotVersion: string, data: Json): Json
  abort(callId: string, reason: string): void
}

export interface LoadRequest {
  readonly id: string
  readonly main: string
  readonly config: JsonObject
  /** Base64 of each verified file by its path. */
  readonly files: readonly (readonly [path: string, base64: string])[]
  readonly tools: readonly { readonly name: string; readonly powers: readonly RuntimePart[] }[]
}
export interface LoadReply {
  readonly tools: readonly { readonly name: string; readonly approvalKey: boolean; readonly input?: Json; readonly requires?: Json }[]
  readonly phases: readonly LifecyclePhase[]
}

/** The parts of `runtime` a tool is given. The broker judges each use again. */
export const POWERS = ['fs.read', 'fs.write', 'net', 'shell', 'env', 'secrets', 'state', 'interact', 'tools', 'session'] as const
export type RuntimePart = (typeof POWERS)[number]

/** What a compartment may ask of the broker, each with the power it belongs to. `null`: every call has it. */
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
