import type { Json } from '@bulkhead/kit/json'
import { BulkheadError, type BrokerMethod, type CompartmentTool, type Power } from '@bulkhead/contract'
import type { EffectCounter } from './effects.ts'

/** A running tool call: what it may do, and where its progress goes. */
export interface OpenCall {
  readonly callId: string
  /** The host's id, where it differs: a call with the same id may still be running in the compartment. */
  readonly hostCallId?: string
  readonly tool: CompartmentTool
  readonly signal: AbortSignal
  /** Set by the broker with the first capability call. */
  effects?: EffectCounter
  onProgress?(text: string): void
  onUpdate?(partial: Json): void
}

/** One request. It is checked against the grant of its call. The arguments are untrusted. */
export type Capability = (call: OpenCall, args: readonly Json[]) => Json | Promise<Json>
export type Capabilities = Partial<Readonly<Record<BrokerMethod, Capability>>>

/** A capability that keeps sockets, watches or processes open between requests. */
export interface CapabilityUnit {
  readonly capabilities: Capabilities
  /** Ends everything the call has open. Runs when the call ends, for whatever reason. */
  endCall(callId: string): void
  /** Idempotent. Ends every call and resolves when nothing is left. */
  close(): Promise<void>
}

export function stringArgument(args: readonly Json[], index: number, name: string, maxChars = 1024 * 1024): string {
  const value = args[index]
  if (typeof value === 'string' && value.length <= maxChars) return value
  throw new BulkheadError('InputInvalid', `${name} must be a string of at most ${maxChars} characters.`)
}

/** What to do about a denial. The author of a tool can declare more; the caller of a bundled tool cannot. */
export interface Remedies {
  readonly author: string
  readonly caller: string
}

/** A denial with a remedy. Its message addresses the author of the tool; `toCaller` addresses the caller. */
export class Denial extends BulkheadError {
  readonly what: string
  readonly remedies: Remedies

  constructor(what: string, remedies: Remedies, data: Json) {
    super('CapabilityDenied', `${what} ${remedies.author}`, { data })
    this.what = what
    this.remedies = remedies
  }

  toCaller(): BulkheadError {
    return new BulkheadError(this.code, `${this.what} ${this.remedies.caller}`, { cause: this, data: this.data ?? null })
  }
}

/** Checks a service that all tools of the extension share against the ceilings of the call. */
export function requireUnderCeilings(
  { name, grant: { ceilings = [] } }: Pick<CompartmentTool, 'name' | 'grant'>, power: string, deed: string,
  allows: (ceiling: Power) => boolean,
): void {
  if (ceilings.every(allows)) return
  const message = `A ceiling does not let the tool ${name} ${deed}. Ask the operator to raise it.`
  throw new BulkheadError('CapabilityDenied', message, { data: { power } })
}
