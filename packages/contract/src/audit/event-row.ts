import type { JsonObject } from '@bulkhead/kit/json'
import type { EventType } from '../model/events.ts'
import { optional } from './call-row.ts'
import { callKeyOf, numberIn, textIn, timeOf, typeOf, type PlacedRecord } from './records.ts'

/** A record that is not part of a call. */
export interface EventRow {
  readonly kind: 'event'
  readonly at: string
  readonly host: string
  readonly position: number
  /** An event type, or `AuditArchived`. */
  readonly type: string
  readonly session?: string
  readonly principal?: string
  readonly tool?: string
  /** What it is about, in words. */
  readonly subject: string
  /** Something went wrong or was refused. */
  readonly isFault: boolean
}

/** A record of its own. undefined if it belongs to a call, or is the normal course of a session or an extension. */
export function eventRowOf({ record, host, position }: PlacedRecord): EventRow | undefined {
  const lost = numberIn(record, 'lostBefore')
  const isFault = isFaulty(record)
  const isOrdinary = callKeyOf(record) !== undefined || USUAL.has(typeOf(record))
    || (MOSTLY_USUAL.has(typeOf(record)) && !isFault)
  if (lost === undefined && isOrdinary) return undefined
  const words = lost === undefined ? [] : [`${lost} earlier records were lost`]
  return {
    kind: 'event', at: timeOf(record), host, position, type: typeOf(record),
    ...optional('session', textIn(record, 'sessionId')), ...optional('principal', textIn(record, 'principal')),
    ...optional('tool', textIn(record, 'tool')), subject: [...words, wordsOf(record)].join('; '),
    isFault: isFault || lost !== undefined,
  }
}

const USUAL: ReadonlySet<string> =
  new Set<EventType>(['SessionOpened', 'SessionClosed', 'InteractionRaised', 'InteractionAnswered'])
const MOSTLY_USUAL: ReadonlySet<string> = new Set<EventType>(['LifecycleStateChanged', 'CompartmentEnded'])

function isFaulty(record: JsonObject): boolean {
  switch (typeOf(record)) {
    case 'LifecycleStateChanged': return record['to'] === 'failed'
    case 'CompartmentEnded': return record['errorCode'] !== null
    case 'SuppressedError':
    case 'ExtensionReloadRefused':
    case 'KeyRefused': return true
    default: return false
  }
}

/** What a record says, without its type and time. */
export function wordsOf(record: JsonObject): string {
  const of = (name: string): string | undefined => textIn(record, name)
  const by = of('grantedBy') ?? of('revokedBy') ?? of('by')
  const isKey = typeOf(record).startsWith('Key')
  const words = [
    of('tool') ?? of('extensionId'), isKey ? `${of('key')} to ${of('method')} ${of('host')}${of('path')}` : undefined,
    of('approvalKey'), of('path') !== undefined && !isKey ? of('path') : undefined, of('decision'), of('errorCode'),
    of('from') === undefined ? undefined : `${of('from')} to ${of('to')}`, of('reason') ?? of('message'), of('workspace'),
    of('agent') === undefined ? undefined : `agent ${of('agent')}`,
    typeOf(record) === 'AuditArchived' ? `records ${numberIn(record, 'first')} to ${numberIn(record, 'last')}` : undefined,
    by === undefined ? undefined : `by ${by}`,
  ]
  return words.filter((word) => word !== undefined).join(' ')
}
