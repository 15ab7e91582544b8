import {
  BulkheadError, COMPARTMENT_LIMITS, type BrokerMethod, type CallSteps, type CommandWall, type CompartmentServices,
  type CompartmentTool, type KeyUse, type MeasuredUse, type Power, type RuntimePart, type UseRules,
} from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** A running tool call: what it may do, and where its progress goes. */
export interface OpenCall {
  readonly callId: string
  /** The host's id, where it differs: a call with the same id may still be running in the compartment. */
  readonly hostCallId?: string
  /** The same whenever the call runs again. */
  readonly idempotencyKey?: string | undefined
  /** The session that makes the call. */
  readonly sessionId?: string | undefined
  /** Whether a person or a rule allowed the call. */
  readonly isApproved?: boolean | undefined
  /** The wall that the host chose for its commands. */
  readonly wall?: CommandWall | undefined
  /** The rules about what it uses. */
  readonly uses?: UseRules | undefined
  /** How long its commands may run from now. */
  readonly commandMs?: number | undefined
  readonly tool: CompartmentTool
  readonly signal: AbortSignal
  /** What keeps the results of its steps. */
  readonly steps?: CallSteps | undefined
  /** Set by the broker with the first capability call. */
  effects?: EffectCounter
  /** Notes what begins, before it begins. The effect waits for the promise, and must not begin if this throws. */
  beginEffect?(what: string): Promise<void> | undefined
  onProgress?(text: string): void
  onUpdate?(partial: Json): void
  /** A command of the call sent the placeholder of a key. Must not throw. */
  onKeyUse?(use: KeyUse): void
  /** Absent: uses of the call are not measured. Must not throw. */
  readonly onUse?: ((use: MeasuredUse) => void) | undefined
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
    return new BulkheadError(
      this.code,
      `${this.what} ${this.remedies.caller}`,
      { cause: this, data: this.data ?? null },
    )
  }
}

/** Checks a service that all tools of the extension share against the ceilings of the call. */
export function requireUnderCeilings(
  { name, grant: { ceilings = [] } }: Pick<CompartmentTool, 'name' | 'grant'>, power: string, action: string,
  allows: (ceiling: Power) => boolean,
): void {
  if (ceilings.every(allows)) return
  const message = `A ceiling does not let the tool ${name} ${action}. Ask the operator to raise it.`
  throw new BulkheadError('CapabilityDenied', message, { data: { power } })
}

/** What the broker counts of one call. */
export type CallEffect = 'readBytes' | 'writtenBytes' | 'sentBytes' | 'nestedCalls'

/** Longer words about an effect are cut. */
const EFFECT_CHARS = 200

/** Counts the effects of one call, each up to its limit, and has them noted before they begin. */
export class EffectCounter {
  readonly #limits: Readonly<Record<CallEffect, number>>
  readonly #call: Pick<OpenCall, 'beginEffect'>
  readonly #counts = new Map<CallEffect, number>()

  constructor(limits: Readonly<Record<CallEffect, number>>, call: Pick<OpenCall, 'beginEffect'> = {}) {
    this.#limits = limits
    this.#call = call
  }

  /** How much of this effect there was. */
  of(effect: CallEffect): number {
    return this.#counts.get(effect) ?? 0
  }

  /**
   * Call it directly before a use that can change something, after every check, and await it. `what`: in words, such as
   * `writes src/a.ts`. Contract: the use must not begin if this throws or rejects.
   */
  begin(what: string): Promise<void> | undefined {
    return this.#call.beginEffect?.(what.length > EFFECT_CHARS ? `${what.slice(0, EFFECT_CHARS - 1)}…` : what)
  }

  /**
   * Call it before the effect. Contract: throws the error of the limit, and counts nothing, if the sum would exceed it.
   */
  add(effect: CallEffect, amount: number): void {
    const sum = (this.#counts.get(effect) ?? 0) + amount
    const most = this.#limits[effect]
    if (sum > most) {
      const message = `${effect} would exceed its limit of ${most}. Do less, or raise the limit.`
      throw new BulkheadError(COMPARTMENT_LIMITS[effect].error, message, { data: { limit: effect } })
    }
    this.#counts.set(effect, sum)
  }
}

/**
 * The parts of `runtime` a tool gets: those it declared, even if the grant is empty. A denial explains more than a
 * missing object.
 */
export function powersOf(
  { grant, requires }: CompartmentTool, services: CompartmentServices,
): ReadonlySet<RuntimePart> {
  const fs = isJsonObject(requires['fs']) ? requires['fs'] : ({} satisfies JsonObject as JsonObject)
  const powers = new Set<RuntimePart>()
  if (grant.fs.read.length > 0 || Array.isArray(fs['read'])) powers.add('fs.read')
  if (grant.fs.write.length > 0 || Array.isArray(fs['write'])) powers.add('fs.write')
  if (grant.net.hosts.length > 0 || requires['net'] !== undefined) powers.add('net')
  if (grant.shell.length > 0 || Array.isArray(requires['shell'])) powers.add('shell')
  if (grant.capabilities.includes('interact')) powers.add('interact')
  if (grant.capabilities.includes('tools.call')) powers.add('tools')
  if (grant.capabilities.includes('session')) powers.add('session')
  if (services.envDeclared.size > 0) powers.add('env')
  if (services.secrets !== undefined && services.secrets.size > 0) powers.add('secrets')
  if (services.state !== undefined) powers.add('state')
  return powers
}

/** A declared power that this platform cannot enforce is an error, never a warning. */
export function refuseUnenforceable({ name, grant }: CompartmentTool, services: CompartmentServices): void {
  const missing = [
    // Without process groups a command cannot be ended together with what it started.
    ...(grant.shell.length > 0 && process.platform === 'win32' ? ['shell'] : []),
    ...(grant.capabilities.includes('tools.call') && services.callTool === undefined ? ['tools.call'] : []),
  ]
  if (missing.length === 0) return
  throw new BulkheadError(
    'CapabilityUnavailable',
    `The tool ${name} declares ${missing.join(', ')}, which this host cannot enforce, `
      + 'so its compartment was not opened. Drop the declaration, or use a host that enforces it.',
    { data: { tool: name, missing } },
  )
}
