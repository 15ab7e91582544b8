import type { ErrorCode } from '../model/errors.ts'
import { pagesBackwards, type AuditChainReader } from './backwards.ts'
import { callRowOf, type CallRow } from './call-row.ts'
import { eventRowOf, type EventRow } from './event-row.ts'
import { callKeyOf, isDecision, isEnd, numberIn, placedInOrder, textIn, timeOf, type PlacedRecord } from './records.ts'

/** Only what has all of these. */
export interface RowFilter {
  readonly tool?: string | undefined
  /** The id of a session, or the start of one. */
  readonly session?: string | undefined
  readonly principal?: string | undefined
  /** Calls that did not succeed, and faults. */
  readonly failed?: boolean | undefined
  /** Found in the tool, the subject, the reason or the message, whatever the case. */
  readonly text?: string | undefined
  /** ISO 8601 in UTC. Both ends are included. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** Without the records that are no calls. */
  readonly onlyCalls?: boolean | undefined
}

export type AuditTimelineRow = CallRow | EventRow

/** To find the beginning of calls that took long. */
const MOST_MORE_PAGES = 20

/** The latest rows, oldest first. Rejects with StoreUnavailable. */
export async function readRows(
  chains: readonly AuditChainReader[], filter: RowFilter, limit: number,
): Promise<readonly AuditTimelineRow[]> {
  const found: AuditTimelineRow[] = []
  const calls = new OpenCalls()
  const take = (row: AuditTimelineRow | undefined): void => {
    if (row && fits(row, filter)) found.push(row)
  }
  let more = 0
  for await (const { records, readUntil } of pagesBackwards(chains)) {
    if (!filter.onlyCalls) for (const one of records) take(eventRowOf(one))
    for (const call of calls.add(records, readUntil)) take(callRowOf(call))
    // Rows before this time are not wanted any more.
    const enough = found.map(({ at }) => at).filter((at) => at >= readUntil).toSorted().at(-limit)
    const from = [enough, filter.since].filter((time) => time !== undefined && time > readUntil).toSorted().at(-1)
    if (from !== undefined && (!calls.mayBegin(from) || ++more > MOST_MORE_PAGES)) break
  }
  for (const call of calls.rest()) take(callRowOf(call))
  return found.toSorted(inOrder).slice(-limit)
}

/** By time. Events of one time stay in the order of their chain. */
function inOrder(one: AuditTimelineRow, other: AuditTimelineRow): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1
  return one.position - other.position
}

/** Calls of which earlier records may follow. */
class OpenCalls {
  readonly #open = new Map<string, readonly PlacedRecord[]>()

  /** Whether one of them may have been decided at this time or later. */
  mayBegin(time: string): boolean {
    return this.#open.values().some((records) => records.every(({ record }) => timeOf(record) >= time))
  }

  /** Takes the records of an earlier page. Returns the calls that are complete with it. */
  add(page: readonly PlacedRecord[], readUntil: string): readonly (readonly PlacedRecord[])[] {
    for (const [key, records] of Map.groupBy(page, ({ record }) => callKeyOf(record))) {
      if (key !== undefined) this.#open.set(key, [...this.#open.get(key) ?? [], ...records])
    }
    const complete = [...this.#open].filter(([, records]) => isWhole(records, readUntil))
    for (const [key] of complete) this.#open.delete(key)
    return complete.map(([, records]) => records.toSorted(placedInOrder))
  }

  rest(): readonly (readonly PlacedRecord[])[] {
    return [...this.#open.values()].map((records) => records.toSorted(placedInOrder))
  }
}

/** Everything of a call is recorded between its start and its end. Of one that is open, only the decision is known. */
function isWhole(records: readonly PlacedRecord[], readUntil: string): boolean {
  if (readUntil === '') return true
  const decided = records.find(({ record }) => isDecision(record))?.record
  const isDecided = decided !== undefined && readUntil <= timeOf(decided)
  const end = records.find(({ record }) => isEnd(record))?.record
  if (end === undefined) return isDecided
  // When a call was interrupted is not known, so that its end has no duration.
  const tookMs = numberIn(end, 'durationMs') ?? 0
  if (tookMs === 0 && INTERRUPTED.has(textIn(end, 'errorCode'))) return isDecided
  return !(Date.parse(readUntil) >= Date.parse(timeOf(end)) - tookMs)
}

const INTERRUPTED: ReadonlySet<string | undefined> = new Set<ErrorCode>(['CallInterrupted', 'OutcomeUnknown'])

function fits(row: AuditTimelineRow, { tool, session, principal, failed, text, since, until }: RowFilter): boolean {
  return (tool === undefined || row.tool === tool)
    && (session === undefined || (row.session?.startsWith(session) ?? false))
    && (principal === undefined || row.principal === principal)
    && (since === undefined || row.at >= since) && (until === undefined || row.at <= until)
    && (!failed || (row.kind === 'event' ? row.isFault : row.state !== 'succeeded' && row.state !== 'open'))
    && (text === undefined || textOf(row).toLowerCase().includes(text.toLowerCase()))
}

const textOf = (row: AuditTimelineRow): string => (row.kind === 'event' ? [row.type, row.tool, row.subject]
  : [row.tool, row.subject, row.decision?.source, row.decision?.reason, row.errorCode, row.message, row.call])
  .filter((word) => word !== undefined).join('\n')
