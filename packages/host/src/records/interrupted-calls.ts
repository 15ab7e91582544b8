import type { BulkheadError, ErrorOutcome, ListedCall, Seat, Store } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { errorBody } from '../model/outcome.ts'
import { dropQuestion, leaveOpen, questionsLeftBy, type LeftQuestion } from './asked-questions.ts'
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
      const closedNow = await this.#closeThose(calls, id, seat)
      if (closedNow === undefined) continue
      closed.push(...closedNow)
      await seat.discard(id)
    }
    return closed
  }

  /** Whether nothing of a host is left. */
  async isSettled(owner: string): Promise<boolean> {
    return !(await this.#sources.seat.hosts()).some(({ id }) => id === owner)
  }

  /**
   * An entry is removed only when the audit has it. If the host crashes in between, the next one reports it. undefined if
   * another one has taken the calls over.
   */
  async #closeThose(
    calls: readonly ListedCall[], owner: string, seat: Seat,
  ): Promise<readonly InterruptedCall[] | undefined> {
    const { store, audited } = this.#sources
    const questions = await questionsLeftBy(store, owner)
    const asked = new Map(questions.map((question) => [nameOf(question.sessionId, question.callId), question]))
    const fenced = await Promise.all(calls.map((call) => this.#withRemoteEffects(call)))
    const left = await Promise.all(fenced.map((call) =>
      this.#withSteps(call, asked.get(nameOf(call.sessionId, call.callId))?.place ?? call.outcomeAt)))
    const entries = new Map(left.map((call) => [nameOf(call.sessionId, call.callId), call]))
    // A call that waits for approval has not started, so the journal does not know it.
    const ended = await endedIn<NamedCall>(store, [
      ...left, ...[...asked].flatMap(([name, question]) => entries.has(name) ? [] : [question]),
    ])
    // Reading the audits takes its time, and meanwhile others may have taken this host for gone.
    if (await seat.takeOver(owner) === undefined) return undefined
    const waiting = new Set<LeftCall>()
    for (const [name, question] of asked) {
      const entry = entries.get(name)
      const hasEnded = ended.has(entry ?? question)
      // What it has begun would happen twice.
      const mayRun = !hasEnded && (entry === undefined || interruption(entry).code === 'CallInterrupted')
      const waits = question.isOpen || mayRun
      await this.#settleQuestion(question, owner, waits)
      if (waits && entry) waiting.add(entry)
      if (waits && !hasEnded) this.#tell(question)
    }
    const interrupted = left.filter((call) => !waiting.has(call))
    for (const call of interrupted) await this.#settleKey(call, owner, ended.has(call))
    const closed = interrupted.filter((call) => !ended.has(call)).map((call) => this.#close(call))
    if (closed.length + questions.length > 0) await audited()
    return closed
  }

  /** A call that waits has this outcome for its key, until it goes on. */
  async #settleQuestion(question: LeftQuestion, owner: string, waits: boolean): Promise<void> {
    const { store } = this.#sources
    if (!waits) return dropQuestion(store, question, owner)
    if (question.isKeyed && question.place !== undefined) await settleKey(store, question.place, owner, question.outcome)
    await leaveOpen(store, question, owner)
  }

  /** Before the entry is removed: without one, its key would count as that of a call that began nothing. */
  async #settleKey(call: LeftCall, owner: string, hasEnded: boolean): Promise<void> {
    if (call.outcomeAt === undefined) return
    const error = interruption(call)
    // A call that began nothing may be made again.
    const unknown = error.code !== 'OutcomeUnknown' ? undefined
      : interruptedCall(call, hasEnded ? notRecorded(call) : error).outcome
    await settleKey(this.#sources.store, call.outcomeAt, owner, unknown)
  }

  /** What a worker began for it. From then on, no worker begins anything for it. */
  async #withRemoteEffects(call: ListedCall): Promise<ListedCall> {
    const begun = await this.#sources.store.placements?.close(call.sessionId, call.callId) ?? []
    return begun.length === 0 ? call : { ...call, begun: [...call.begun, ...begun] }
  }

  /** Only a call with an idempotency key, or one that waits for an answer, can be made again as the same one. */
  async #withSteps(call: ListedCall, place: string | undefined): Promise<LeftCall> {
    if (place === undefined || call.begun.length === 0) return call
    const steps = await readSteps(this.#sources.store, place)
    return steps ? { ...call, kept: new Set(steps.keys()) } : call
  }

  #close(call: LeftCall): InterruptedCall {
    const closed = interruptedCall(call, interruption(call))
    this.#tell(closed, call.begun)
    return closed
  }

  #tell({ sessionId, outcome }: Pick<InterruptedCall, 'sessionId' | 'outcome'>, begun: ListedCall['begun'] = []): void {
    const { metadata, error, error_text: message } = outcome
    const began = [...new Set(begun.map(({ what }) => what))]
    this.#sources.events.emit({
      type: 'ToolInvocationFailed', sessionId, callId: metadata.call_id, tool: metadata.tool, origin: metadata.origin,
      durationMs: 0, ...(began.length > 0 && { began }), errorClass: error.class, errorCode: error.code, message,
    })
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

/** Adds those that end in this audit to `ended`. */
async function findEnds<Call extends NamedCall>(
  audit: Pick<Store, 'records' | 'auditSpan'>, calls: ReadonlyMap<string, Call>, since: number, ended: Set<Call>,
): Promise<void> {
  // In the audit of the host that ran a call is its start, and in that of another one may be its end.
  const open = new Map(calls)
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
