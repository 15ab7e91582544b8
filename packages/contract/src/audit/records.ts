import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { EventType } from '../model/events.ts'
import type { OutcomeOrigin } from '../model/outcome.ts'
import type { AuditEntry } from '../ports/store.ts'

/** A record of the audit, or an event of a host as it would be recorded. */
export interface PlacedRecord {
  readonly record: JsonObject
  /** Whose audit it is in. '' if the store has only one. */
  readonly host: string
  /** 0: it is not in an audit yet. */
  readonly position: number
  /** The link that covers it: its own, or that of the records which were written together with it. */
  readonly link: string | null
}

/** `after`: the link that covers the record after these. */
export function placed(
  entries: readonly AuditEntry[], host: string, after: string | null = null,
): readonly PlacedRecord[] {
  let covering = after
  const backwards = entries.toReversed().map(({ record, position, link }): PlacedRecord => {
    covering = link ?? covering
    return { record: isJsonObject(record) ? record : {}, host, position, link: covering }
  })
  return backwards.toReversed()
}

/** By time: the records of one call may be in several audits. */
export function placedInOrder(one: PlacedRecord, other: PlacedRecord): number {
  const [at, otherAt] = [timeOf(one.record), timeOf(other.record)]
  if (one.host !== other.host && at !== otherAt) return at < otherAt ? -1 : 1
  return one.position - other.position
}

/** Records may be of any version, so each member is checked. */
export function textIn(record: JsonObject, name: string): string | undefined {
  const value = record[name]
  return typeof value === 'string' ? value : undefined
}

export function numberIn(record: JsonObject, name: string): number | undefined {
  const value = record[name]
  return typeof value === 'number' ? value : undefined
}

export const typeOf = (record: JsonObject): string => textIn(record, 'type') ?? ''
export const timeOf = (record: JsonObject): string => textIn(record, 'at') ?? ''

/** null if there is none, or one of an unknown form. */
export function originIn({ origin }: JsonObject): OutcomeOrigin | null {
  if (!isJsonObject(origin)) return null
  const { layer, extension, version, digest } = origin
  const isOrigin = [layer, extension, version, digest].every((value: Json | undefined) => typeof value === 'string')
  return isOrigin ? origin as unknown as OutcomeOrigin : null
}

const ENDS: ReadonlySet<string> =
  new Set<EventType>(['ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled'])
const OF_CALLS: ReadonlySet<string> = new Set<EventType>([
  'ToolInvocationDecided', 'ToolInvocationChanged', 'InteractionRaised', 'InteractionAnswered', 'KeyUsed', 'KeyRefused',
])

export const isEnd = (record: JsonObject): boolean => ENDS.has(typeOf(record))

/** The decision about the whole call, and not about something that it uses while it runs. */
export const isDecision = (record: JsonObject): boolean =>
  typeOf(record) === 'ToolInvocationDecided' && record['use'] === undefined

/** Which call it is about. undefined: none. */
export function callKeyOf(record: JsonObject): string | undefined {
  const session = textIn(record, 'sessionId')
  const call = textIn(record, 'callId')
  if (session === undefined || call === undefined) return undefined
  return isEnd(record) || OF_CALLS.has(typeOf(record)) ? callKey(session, call) : undefined
}

export const callKey = (session: string, call: string): string => `${session}/${call}`
