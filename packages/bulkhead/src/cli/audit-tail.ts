import type { AuditEntry, Store } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { table } from './output.ts'

const PAGE = 500

/** The latest `count` records, oldest first. Without `all`, skips the normal start and stop of extensions. */
export async function latestEntries(store: Pick<Store, 'auditSpan' | 'records'>, count: number, all: boolean): Promise<readonly AuditEntry[]> {
  const { first, last } = await store.auditSpan()
  const found: AuditEntry[] = []
  for (let end = last; end >= first && found.length < count; end -= PAGE) {
    const from = Math.max(first, end - PAGE + 1)
    const page = await store.records(from, end - from + 1)
    found.push(...page.filter(({ record }) => all || !isHousekeeping(record)).toReversed())
  }
  return found.slice(0, count).toReversed()
}

/** A normal start or stop of an extension. Failures and gaps in the audit are always shown. */
function isHousekeeping(record: Json): boolean {
  if (!isJsonObject(record) || record['lostBefore'] !== undefined) return false
  if (record['type'] === 'LifecycleStateChanged') return record['to'] !== 'failed'
  return record['type'] === 'CompartmentEnded' && record['errorCode'] === null
}

export const auditTable = (entries: readonly AuditEntry[]): string =>
  entries.length === 0 ? 'No records.\n' : table(HEADINGS, entries.map(rowOf))

const HEADINGS = ['POSITION', 'AT', 'TYPE', 'TOOL', 'ORIGIN', 'WHAT']

function rowOf({ position, record }: AuditEntry): string[] {
  const of = isJsonObject(record) ? record : {}
  const origin = isJsonObject(of['origin']) ? `${text(of['origin']['layer'])} ${text(of['origin']['extension'])}@${text(of['origin']['version'])}` : '-'
  const lost = typeof of['lostBefore'] === 'number' ? `(${of['lostBefore']} earlier records were lost)` : undefined
  const what = [lost, of['decision'], of['errorCode'], of['from'] && `${text(of['from'])} to ${text(of['to'])}`, of['reason'] ?? of['message'], of['workspace'], approvalText(of), archiveText(of)]
  return [
    String(position), text(of['at']), text(of['type']), text(of['tool'] ?? of['extensionId']), origin,
    what.filter((word) => typeof word === 'string').join(' ').slice(0, 120) || '-',
  ]
}

function approvalText({ type, approvalKey, grantedBy, revokedBy }: JsonObject): string | undefined {
  const by = grantedBy ?? revokedBy
  return text(type).startsWith('Approval') ? `${text(approvalKey)}${by === undefined ? '' : ` by ${text(by)}`}` : undefined
}

const archiveText = ({ type, first, last, by }: JsonObject): string | undefined =>
  type === 'AuditArchived' ? `${Number(first)} to ${Number(last)} by ${text(by)}` : undefined

const text = (value: Json | undefined): string => typeof value === 'string' ? value : '-'
