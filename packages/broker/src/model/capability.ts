import type { BrokerMethod, CallEffect, CompartmentTool, EffectsLedger } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'

/** A tool call in flight: what it may do, and who hears of it. */
export interface OpenCall {
  readonly callId: string
  /** What the host knows it by, where the compartment knows it by another: a call of the same id may not have ended there yet. */
  readonly hostCallId?: string
  readonly tool: CompartmentTool
  readonly signal: AbortSignal
  /** Set by the broker with the first capability call. */
  effects?: EffectsLedger<CallEffect>
  onProgress?(text: string): void
  onUpdate?(partial: Json): void
}

/** One capability call: judged by the grant of the call it is made in, its arguments still a stranger's. */
export type Capability = (call: OpenCall, args: readonly Json[]) => Json | Promise<Json>
export type Capabilities = Partial<Readonly<Record<BrokerMethod, Capability>>>

/** A capability that holds sockets or processes open between calls of its methods. */
export interface CapabilityUnit {
  readonly capabilities: Capabilities
  /** Ends whatever a call has open; called when the call ends, however it does. */
  endCall(callId: string): void
  /** Idempotent. Ends every call, and resolves when nothing is left. */
  close(): Promise<void>
}

export function textArgument(args: readonly Json[], index: number, name: string, maxChars = 1024 * 1024): string {
  const value = args[index]
  if (typeof value === 'string' && value.length <= maxChars) return value
  throw new BulkheadError('InputInvalid', `${name} must be a text of at most ${maxChars} characters.`)
}
