import type { BulkheadError, ErrorOutcome, OutcomeOrigin, Store } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { errorBody } from '../model/outcome.ts'
import type { EventBus } from './events.ts'
import type { Owner } from './owner.ts'
import { interruption, notRecorded, readTerms, type OpenCallTerms } from './interruption.ts'
import { readSteps } from './kept-steps.ts'
import { settleKey } from './recorded-outcomes.ts'
import { callsIn } from './journal-file.ts'

/** A call that was open when its host ended. */
export interface InterruptedCall {
  readonly sessionId: string
  readonly startedAt: string
  readonly outcome: ErrorOutcome
}

export interface InterruptionSources {
  readonly store: Store
  readonly owner: Owner
  readonly events: EventBus
  /** Resolves when the audit has written or lost all events so far. Never rejects. */
  readonly audited: () => Promise<void>
}

/**
 * Closes the calls that ended hosts left open. If several hosts find them, one does it: the one whose name is written
 * into the claim. The claim of a process that has ended is ignored, so that the next host reports the rest.
 */
export class InterruptedCalls {
  readonly #sources: InterruptionSources

  constructor(sources: InterruptionSources) {
    this.#sources = sources
  }

  /** Resolves with the calls that this host closed, of all hosts or of one. Rejects with StoreUnavailable. */
  async close(only?: string): Promise<readonly InterruptedCall[]> {
    const { store, owner: me } = this.#sources
    if (store.forgets) return []
    const closed: InterruptedCall[] = []
    for (const owner of await this.#owners()) {
      if (only !== undefined && owner !== only) continue
      if (owner === me.id || !me.isGone(owner) || !await this.#claim(owner)) continue
      try {
        closed.push(...await this.#closeThoseOf(owner))
      } finally {
        await this.#endClaim(owner)
      }
    }
    return closed
  }

  /** Whether nothing of a host is left. */
  async isSettled(owner: string): Promise<boolean> {
    return !(await this.#owners()).has(owner)
  }

  async #owners(): Promise<ReadonlySet<string>> {
    const { store } = this.#sources
    return new Set([...await store.notes?.owners() ?? [], ...(await store.list('call')).map(({ key }) => ownerIn(key))])
  }

  /** An entry is removed only when the audit has it. If the host crashes in between, the next one reports it. */
  async #closeThoseOf(owner: string): Promise<readonly InterruptedCall[]> {
    const { store, audited } = this.#sources
    const records = (await store.list('call', `${owner}/`)).filter(({ key }) => key !== claimOf(owner))
    const noted = await store.notes?.left(owner) ?? []
    const found = [...callsIn(noted), ...records.map(({ value }) => value)].flatMap(readRecord)
    const left = await Promise.all(found.map((call) => this.#withSteps(call)))
    const ended = await endedIn(store, left)
    for (const call of left) await this.#settleKey(call, owner, ended.has(call))
    const closed = left.filter((call) => !ended.has(call)).map((call) => this.#tell(call))
    if (closed.length > 0) await audited()
    await Promise.all(records.map(({ key }) => store.remove('call', key)))
    await store.notes?.discard(owner)
    return closed
  }

  /** Before the entry is removed: without one, its key would count as that of a call that began nothing. */
  async #settleKey(call: LeftCall, owner: string, hasEnded: boolean): Promise<void> {
    if (call.outcomeAt === undefined) return
    const error = hasEnded ? notRecorded(call) : interruption(call)
    const unknown = error.code === 'OutcomeUnknown' ? interruptedCall(call, error).outcome : undefined
    await settleKey(this.#sources.store, call.outcomeAt, owner, unknown)
  }

  /** Only a call with an idempotency key can be made again as the same one, and so continue. */
  async #withSteps(call: LeftCall): Promise<LeftCall> {
    if (call.outcomeAt === undefined || call.begun.length === 0) return call
    const steps = await readSteps(this.#sources.store, call.outcomeAt)
    return steps ? { ...call, kept: new Set(steps.keys()) } : call
  }

  async #claim(owner: string): Promise<boolean> {
    const { store, owner: me } = this.#sources
    const claim = await store.update('call', claimOf(owner), (stored) => {
      const by = claimant(stored)
      return by === undefined || by === me.id || me.isGone(by) ? { claimedBy: me.id } : stored
    })
    return claimant(claim) === me.id
  }

  /** A claim that cannot be removed ends with this process. */
  async #endClaim(owner: string): Promise<void> {
    const { store, events } = this.#sources
    await store.remove('call', claimOf(owner))
      .catch((thrown: unknown) => events.suppressed('closing interrupted calls', thrown))
  }

  #tell(call: LeftCall): InterruptedCall {
    const interrupted = interruptedCall(call, interruption(call))
    const { sessionId, outcome: { metadata, error, error_text: message } } = interrupted
    this.#sources.events.emit({
      type: 'ToolInvocationFailed', sessionId, callId: metadata.call_id, tool: metadata.tool, origin: metadata.origin,
      durationMs: 0, errorClass: error.class, errorCode: error.code, message,
    })
    return interrupted
  }
}

interface LeftCall extends NamedCall, OpenCallTerms {
  readonly origin: OutcomeOrigin | null
  /** Where the outcome of a call with an idempotency key is kept. */
  readonly outcomeAt: string | undefined
}

const ownerIn = (key: string): string => key.slice(0, key.lastIndexOf('/'))
/** Calls have numeric keys, so this cannot clash. */
const claimOf = (owner: string): string => `${owner}/claim`

function claimant(claim: Json | undefined): string | undefined {
  const by = isJsonObject(claim) ? claim['claimedBy'] : undefined
  return typeof by === 'string' ? by : undefined
}

/** Empty for an unknown form. */
function readRecord(value: Json): LeftCall[] {
  const record = isJsonObject(value) ? value : {} as JsonObject
  const { sessionId, callId, tool, origin = null, startedAt } = record
  if (typeof sessionId !== 'string' || typeof callId !== 'string' || typeof tool !== 'string') return []
  const time = new Date(typeof startedAt === 'number' ? startedAt : String(startedAt)).getTime()
  return [{
    sessionId, callId, tool, origin: origin as OutcomeOrigin | null, startedAt: Number.isNaN(time) ? 0 : time,
    outcomeAt: typeof record['outcomeAt'] === 'string' ? record['outcomeAt'] : undefined, ...readTerms(record),
  }]
}

function interruptedCall(
  { sessionId, callId, tool, origin, startedAt }: LeftCall, error: BulkheadError,
): InterruptedCall {
  return {
    sessionId,
    startedAt: new Date(startedAt).toISOString(),
    outcome: { ...errorBody(error), metadata: { call_id: callId, tool, origin, duration_ms: 0, attempt: 0 } },
  }
}

/** A call as the journal and the audit both name it. */
export interface NamedCall {
  readonly sessionId: string
  readonly callId: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
}

const ENDS: ReadonlySet<Json | undefined> =
  new Set(['ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled'])
/** Records read at a time. */
const PAGE = 1_000

/**
 * The calls that have an end in the audit: their host ended after it wrote the end and before it removed the call from
 * the journal. Reads the audit backwards to the start of the first of them. Rejects with StoreUnavailable.
 */
async function endedIn<Call extends NamedCall>(store: Store, calls: readonly Call[]): Promise<ReadonlySet<Call>> {
  const open = byName(calls)
  const since = calls.reduce((earliest, { startedAt }) => Math.min(earliest, startedAt), Infinity)
  const ended = new Set<Call>()
  if (open.size === 0) return ended
  const { first, last } = await store.auditSpan()
  for (let to = last; to > 0 && to >= first && open.size > 0;) {
    const from = Math.max(first, to - PAGE + 1)
    let latest = -Infinity
    for (const { record } of (await store.records(from, to - from + 1)).toReversed()) {
      const { type, sessionId, callId, at } = isJsonObject(record) ? record : {}
      const time = Date.parse(String(at))
      if (time > latest) latest = time
      const isEnd = ENDS.has(type)
      if (!isEnd && type !== 'ToolInvocationDecided') continue
      const name = nameOf(sessionId, callId)
      const call = open.get(name)
      // A session may reuse an id: only the last use is the open call, and it may have no record yet.
      if (call && isEnd && time >= call.startedAt) ended.add(call)
      open.delete(name)
    }
    if (latest < since) break
    to = from - 1
  }
  return ended
}

/** Two open calls with one name cannot be distinguished, so neither counts as ended. */
function byName<Call extends NamedCall>(calls: readonly Call[]): Map<string, Call> {
  const groups = Map.groupBy(calls, ({ sessionId, callId }) => nameOf(sessionId, callId))
  return new Map([...groups].filter(([, { length }]) => length === 1).map(([name, [call]]) => [name, call!]))
}

const nameOf = (sessionId: Json | undefined, callId: Json | undefined): string => JSON.stringify([sessionId, callId])
