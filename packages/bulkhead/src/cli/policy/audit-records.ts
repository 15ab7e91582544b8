import { wordsOf } from '@bulkhead/contract/audit'
import type { AuditEntry, Store } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { table } from '../output.ts'

const PAGE = 500

/** Only the records with all of these. */
export interface RecordFilter {
  readonly tool?: string | undefined
  /** The start of its id. */
  readonly session?: string | undefined
  readonly principal?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** The latest `count` records, oldest first. */
export async function latestEntries(
  store: Pick<Store, 'auditSpan' | 'records'>, count: number, filter: RecordFilter = {},
): Promise<readonly AuditEntry[]> {
  const { first, last } = await store.auditSpan()
  const found: AuditEntry[] = []
  for (let end = last; end >= first && end > 0 && found.length < count; end -= PAGE) {
    const from = Math.max(first, end - PAGE + 1)
    const page = await store.records(from, end - from + 1)
    found.push(...page.filter(({ record }) => fits(record, filter)).toReversed())
  }
  return found.slice(0, count).toReversed()
}

function fits(record: Json, { tool, session, principal, since, until }: RecordFilter): boolean {
  const of = isJsonObject(record) ? record : {}
  const at = text(of['at'])
  return (tool === undefined || of['tool'] === tool) && (principal === undefined || of['principal'] === principal)
    && (session === undefined || text(of['sessionId']).startsWith(session))
    && (since === undefined || at >= since) && (until === undefined || at <= until)
}

export const recordTable = (entries: readonly AuditEntry[]): string => entries.length === 0 ? 'No records.\n'
  : table(['POSITION', 'AT', 'TYPE', 'SESSION', 'CALL', 'WHAT'], entries.map(({ position, record }) => {
    const of = isJsonObject(record) ? record : {}
    const lost = typeof of['lostBefore'] === 'number' ? `(${of['lostBefore']} earlier records were lost) ` : ''
    return [
      String(position), text(of['at']), text(of['type']), text(of['sessionId']).slice(0, 8), text(of['callId']),
      `${lost}${wordsOf(of)}`.slice(0, 120) || '-',
    ]
  }))

export const byTime = ({ record: one }: AuditEntry, { record: other }: AuditEntry): number =>
  timeOf(one) < timeOf(other) ? -1 : 1
const timeOf = (record: Json): string => isJsonObject(record) ? text(record['at']) : ''

const text = (value: Json | undefined): string => typeof value === 'string' ? value : '-'
