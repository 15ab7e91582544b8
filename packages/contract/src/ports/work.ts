import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { OutcomeOrigin } from '../model/outcome.ts'
import type { ToolDefinition } from './embedder.ts'

/** What a host tells other hosts about itself. */
export interface HostDescription {
  /** The folder that it works in. */
  readonly workspace: string
  /** Digest of the rules that it follows. Hosts of one folder that differ decide differently. */
  readonly rules: string
  /** Absent at first, and from versions that do not say it. */
  readonly use?: HostUse
}

/** What a host used lately, as it says itself. */
export interface HostUse {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly memoryBytes: number
  /** Of its processor time, 1 for each core. */
  readonly cpuShare: number
  /** How often compartments started again after they had failed. */
  readonly restarts: number
  /** The names of the walls that stand on its machine. Absent: none was needed yet. */
  readonly walls?: readonly string[]
}

export interface HostInfo extends HostDescription {
  /** Unique, now and later. Without `/`. */
  readonly id: string
  readonly pid: number
  /** The name of the machine or container. */
  readonly machine: string
  readonly version: string
}

/** A freeze of all hosts on the store. */
export interface Freeze {
  /** Milliseconds since 1970. */
  readonly since: number
  readonly by: string
  readonly reason?: string
  /** Running calls are cancelled, too. */
  readonly cancel?: boolean
}

export interface FreezeReport {
  readonly freeze: Freeze
  /** Hosts that have not confirmed it: each may have a start under way. Empty: the freeze is confirmed. */
  readonly unconfirmed: readonly JoinedHost[]
}

/** What the calls of one tool in one session have in common. */
export interface CallTerms {
  readonly sessionId: string
  readonly tool: string
  readonly origin: OutcomeOrigin
  readonly effects: ToolDefinition['effects']
  /** The tool that tells whether a call has happened. */
  readonly verify?: string
}

/** A call as the store keeps it while it is open. */
export interface OpenCall {
  /** The same object for each call of the tool in the session, so that a store can keep it once. */
  readonly terms: CallTerms
  readonly callId: string
  /** Where the outcome of a call with an idempotency key is kept. */
  readonly outcomeAt?: string
}

/** Something that a call began and that can have an effect. */
export interface BegunEffect {
  readonly attempt: number
  /** Milliseconds since 1970. */
  readonly at: number
  /** In words, such as `writes src/a.ts`. */
  readonly what: string
  /** The step of the call that it belongs to. */
  readonly step?: string
}

/** An open call of a host, as another host finds it. */
export interface ListedCall extends Omit<CallTerms, 'origin' | 'effects'> {
  readonly callId: string
  readonly origin: OutcomeOrigin | null
  /** Absent in entries of versions that did not note what a call begins. */
  readonly effects?: ToolDefinition['effects']
  readonly outcomeAt?: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly begun: readonly BegunEffect[]
}

export interface CallStart {
  /** Milliseconds since 1970. */
  readonly at: number
  /** The revision of the approvals that the decision rests on. undefined: it rests on none. */
  readonly revision: number | undefined
  /**
   * The tool runs in the thread of the host, and may act before this tick ends. Then the entry survives the process when
   * `start` resolves; otherwise when the tick ends, because until then the host reads no message of the tool.
   */
  readonly isInline: boolean
  /** The start is itself an effect, which is noted with it. */
  readonly begins?: BegunEffect
}

/** `changed`: the approvals are not those of `revision`. Nothing was started, and the call must be decided again. */
export type Started =
  | { readonly is: 'started' }
  | { readonly is: 'changed' }
  | { readonly is: 'frozen'; readonly freeze: Freeze }

/** One call of a seat, from before it is decided until it is settled. */
export interface CallEntry {
  /**
   * Before each attempt: checks that nothing is frozen, that the revision is the same, and that the seat is still that
   * of this host, and makes or keeps the entry, in one step. Rejects with StoreUnavailable, and then nothing may run: if
   * the store cannot be asked, and with `data.reason` `seat-lost` if the seat was taken over or removed. An entry that
   * cannot be saved where the check can be made may be lost; a call must not fail for that.
   */
  start(start: CallStart): Promise<Started>
  /**
   * Notes an effect before it begins. Rejects or throws StoreUnavailable, and then it must not begin: also if the seat
   * was taken over. Survives the process; on another machine it is as durable as the store. undefined: it is noted.
   */
  begin(effect: BegunEffect): Promise<void> | undefined
  /** The call is settled: the entry goes, also if a start is still under way. Idempotent; saved soon; must not throw. */
  end(): void
}

/** What a host shows to others besides its calls. */
export type ShownKind = 'session' | 'question'

export interface ShownRow {
  readonly id: string
  /** Plain JSON. `since` is its time in milliseconds since 1970. */
  readonly row: JsonObject
}

/** Called by the seat. Hints, so that waits are short: they prove nothing. Contract: must not throw. */
export interface SeatListener {
  /** Something was frozen or thawed. Where hosts must confirm a freeze, this one does so after the listener returned. */
  onGate(freeze: Freeze | undefined): void
  /** Approvals have changed. */
  onRevision(): void
  /** The seat was lost: it starts nothing any more. The host may join again, under another id. */
  onLost(): void
  /** A host is gone and has left something that `takeOver` may return. */
  onGone(): void
  /** An entry or a row could not be saved, and is lost or saved later. */
  onFault(error: unknown): void
}

/** One host on the store, from `join` to `leave`. Its heartbeat is the concern of the store. */
export interface Seat {
  readonly id: string
  /**
   * A call that is being decided. Must not throw. While the call waits for long, for a person or for its turn, the entry
   * is saved without being awaited, so that another host can close the call.
   */
  open(call: OpenCall): CallEntry
  describe(description: HostDescription): void
  /** Adds or replaces a row. Saved soon; must not throw. */
  show(kind: ShownKind, id: string, row: JsonObject): void
  /** Idempotent. */
  hide(kind: ShownKind, id: string): void
  /**
   * Takes over what a host left that is gone: its open calls. undefined if the host is not gone or if another host does
   * it; the claim of a host that is gone itself is void. From then on the seat of that host starts and begins nothing.
   * Rejects with StoreUnavailable.
   */
  takeOver(host: string): Promise<readonly ListedCall[] | undefined>
  /** Removes a host that was taken over, with all its rows. Rejects with StoreUnavailable. */
  discard(host: string): Promise<void>
  /** Resolves when everything so far is saved or lost. Never rejects. */
  settled(): Promise<void>
  /** Removes the seat. Calls that are still open stay, and the host counts as gone. Idempotent; never rejects. */
  leave(): Promise<void>
}

/** `silent`: its heartbeat is late. `gone`: it has ended or lost its seat, and others may take over. */
export type HostState = 'live' | 'silent' | 'gone'

export interface JoinedHost extends HostInfo {
  readonly state: HostState
  /** Milliseconds since 1970. */
  readonly since: number
  /** The age of its heartbeat. */
  readonly silentMs: number
  /** Whether it starts no call now because of the freeze in force. */
  readonly isFrozen: boolean
  readonly sessions: readonly ShownRow[]
  readonly questions: readonly ShownRow[]
  readonly calls: readonly ListedCall[]
}

/**
 * What the hosts on one store do, and the gate that each call passes. Every method rejects with StoreUnavailable if the
 * store cannot be asked.
 */
export interface Work {
  /** A host without sessions leaves its seat after this long, and joins again for the next one. Absent: it stays. */
  readonly restMs?: number | undefined
  join(host: HostInfo, listener: SeatListener): Promise<Seat>
  /** Every host with a seat, and those that are gone and have left something. Ordered by `since`. */
  hosts(): Promise<readonly JoinedHost[]>
  /** Whether the host with this id has ended or lost its seat. True for an unknown id, as far as that can be known. */
  isGone(host: string): Promise<boolean>
  /** Changes whenever any host writes or removes an approval, and with nothing else. */
  revision(): Promise<number>
  frozen(): Promise<Freeze | undefined>
  /**
   * When it resolves, no host starts a call, and each has either confirmed that or is in the report. A second freeze
   * replaces the first.
   */
  freeze(freeze: Omit<Freeze, 'since'>): Promise<FreezeReport>
  /** Resolves with the freeze that it ended. */
  thaw(): Promise<Freeze | undefined>
}

/** An open call from a record with the members of `ListedCall`. undefined for a record of an unknown form. */
export function readListedCall(value: Json): ListedCall | undefined {
  const record = isJsonObject(value) ? value : {} as JsonObject
  const { sessionId, callId, tool, origin = null, startedAt, begun, effects, verify, outcomeAt } = record
  if (typeof sessionId !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') return undefined
  return {
    sessionId, callId, tool, origin: origin as OutcomeOrigin | null, startedAt: timeOf(startedAt),
    begun: Array.isArray(begun) ? begun.map(readEffect) : [],
    ...(typeof effects === 'string' && { effects: effects as ToolDefinition['effects'] }),
    ...(typeof verify === 'string' && { verify }), ...(typeof outcomeAt === 'string' && { outcomeAt }),
  }
}

/** A note of an unknown form counts, without words. */
function readEffect(value: Json): BegunEffect {
  const { what, at, attempt, step } = isJsonObject(value) ? value : {} as JsonObject
  return {
    what: typeof what === 'string' ? what : 'something', at: timeOf(at),
    attempt: typeof attempt === 'number' ? attempt : 1, ...(typeof step === 'string' && { step }),
  }
}

/** 0 for what is no time. Earlier versions stored text. */
function timeOf(value: Json | undefined): number {
  const time = new Date(typeof value === 'number' ? value : String(value)).getTime()
  return Number.isNaN(time) ? 0 : time
}
