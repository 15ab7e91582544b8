import type { BulkheadError, ErrorOutcome, ListedCall, Store } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { errorBody } from '../model/outcome.ts'
import type { EventBus } from './events.ts'
import type { HostSeat } from './host-seat.ts'
import { interruption, notRecorded } from './interruption.ts'
import { readSteps } from './kept-steps.ts'
import { settleKey } from './recorded-outcomes.ts'

/** A call that was open when its host ended. */
export interface InterruptedCall {
  readonly sessionId: string
  readonly startedAt: string
  readonly outcome: ErrorOutcome
}

export interface InterruptionSources {
  readonly store: Store
  readonly seat: HostSeat
  readonly events: EventBus
  /** Resolves when the audit has written or lost all events so far. Never rejects. */
  readonly audited: () => Promise<void>
}

/** Closes the calls that ended hosts left open. If several hosts find them, the one that takes them over does it. */
export class InterruptedCalls {
  readonly #sources: InterruptionSources

  constructor(sources: InterruptionSources) {
    this.#sources = sources
  }

  /** Resolves with the calls that this host closed, of all hosts or of one. Rejects with StoreUnavailable. */
  async close(only?: string): Promise<readonly InterruptedCall[]> {
    const { seat: host } = this.#sources
    const seat = await host.join()
    const closed: InterruptedCall[] = []
    for (const { id, state } of await host.hosts()) {
      if (state !== 'gone' || id === seat.id || (only !== undefined && id !== only)) continue
      const calls = await seat.takeOver(id)
      if (calls === undefined) continue
      closed.push(...await this.#closeThose(calls, id))
      await seat.discard(id)
    }
    return closed
  }

  /** Whether nothing of a host is left. */
  async isSettled(owner: string): Promise<boolean> {
    return !(await this.#sources.seat.hosts()).some(({ id }) => id === owner)
  }

  /** An entry is removed only when the audit has it. If the host crashes in between, the next one reports it. */
  async #closeThose(calls: readonly ListedCall[], owner: string): Promise<readonly InterruptedCall[]> {
    const { store, audited } = this.#sources
    const fenced = await Promise.all(calls.map((call) => this.#withRemoteEffects(call)))
    const left = await Promise.all(fenced.map((call) => this.#withSteps(call)))
    const ended = await endedIn(store, left)
    for (const call of left) await this.#settleKey(call, owner, ended.has(call))
    const closed = left.filter((call) => !ended.has(call)).map((call) => this.#tell(call))
    if (closed.length > 0) await audited()
    return closed
  }

  /** Before the entry is removed: without one, its key would count as that of a call that began nothing. */
  async #settleKey(call: LeftCall, owner: string, hasEnded: boolean): Promise<void> {
    if (call.outcomeAt === undefined) return
    const error = hasEnded ? notRecorded(call) : interruption(call)
    const unknown = error.code === 'OutcomeUnknown' ? interruptedCall(call, error).outcome : undefined
    await settleKey(this.#sources.store, call.outcomeAt, owner, unknown)
  }

  /** What a worker began for it. From then on, no worker begins anything for it. */
  async #withRemoteEffects(call: ListedCall): Promise<ListedCall> {
    const begun = await this.#sources.store.placements?.close(call.sessionId, call.callId) ?? []
    return begun.length === 0 ? call : { ...call, begun: [...call.begun, ...begun] }
  }

  /** Only a call with an idempotency key can be made again as the same one, and so continue. */
  async #withSteps(call: ListedCall): Promise<LeftCall> {
    if (call.outcomeAt === undefined || call.begun.length === 0) return call
    const steps = await readSteps(this.#sources.store, call.outcomeAt)
    return steps ? { ...call, kept: new Set(steps.keys()) } : call
  }

  #tell(call: LeftCall): InterruptedCall {
    const interrupted = interruptedCall(call, interruption(call))
    const { sessionId, outcome: { metadata, error, error_text: message } } = interrupted
    const began = [...new Set(call.begun.map(({ what }) => what))]
    this.#sources.events.emit({
      type: 'ToolInvocationFailed', sessionId, callId: metadata.call_id, tool: metadata.tool, origin: metadata.origin,
      durationMs: 0, ...(began.length > 0 && { began }), errorClass: error.class, errorCode: error.code, message,
    })
    return interrupted
  }
}

/** `kept`: steps whose result is kept, of a call that can continue. */
interface LeftCall extends ListedCall {
  readonly kept?: ReadonlySet<string>
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
 * the journal. It may have had an audit of its own. Reads each audit backwards to the start of the first of them. Rejects
 * with StoreUnavailable.
 */
async function endedIn<Call extends NamedCall>(store: Store, calls: readonly Call[]): Promise<ReadonlySet<Call>> {
  const open = byName(calls)
  const since = calls.reduce((earliest, { startedAt }) => Math.min(earliest, startedAt), Infinity)
  const ended = new Set<Call>()
  if (open.size === 0) return ended
  for (const audit of await store.chains?.() ?? [store]) await findEnds(audit, open, since, ended)
  return ended
}

/** Moves calls from `open` to `ended`. */
async function findEnds<Call extends NamedCall>(
  audit: Pick<Store, 'records' | 'auditSpan'>, open: Map<string, Call>, since: number, ended: Set<Call>,
): Promise<void> {
  const { first, last } = await audit.auditSpan()
  for (let to = last; to > 0 && to >= first && open.size > 0;) {
    const from = Math.max(first, to - PAGE + 1)
    let latest = -Infinity
    for (const { record } of (await audit.records(from, to - from + 1)).toReversed()) {
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
}

/** Two open calls with one name cannot be distinguished, so neither counts as ended. */
function byName<Call extends NamedCall>(calls: readonly Call[]): Map<string, Call> {
  const groups = Map.groupBy(calls, ({ sessionId, callId }) => nameOf(sessionId, callId))
  return new Map([...groups].filter(([, { length }]) => length === 1).map(([name, [call]]) => [name, call!]))
}

const nameOf = (sessionId: Json | undefined, callId: Json | undefined): string => JSON.stringify([sessionId, callId])
