import type { AuditEntry, AuditSpan } from '@bulkhead/contract'
import { broken, ChainWalk, isDamage, type BrokenChain } from './chain-walk.ts'
import { documentsArchive } from './records/audit-group.ts'

/** An audit that can be read: a store, or an export of one. */
export interface AuditSource {
  /** Earlier records may be missing without an archive. */
  readonly forgets?: boolean
  records(from?: number, limit?: number): Promise<readonly AuditEntry[]>
  auditSpan(): Promise<AuditSpan>
}

export type AuditVerdict =
  /** `before`: the link before the first record, which is the end of the archive if there is one. */
  | {
    readonly ok: true
    readonly records: number
    readonly first: number
    readonly before: string
    readonly last: number
    readonly link: string
  }
  | BrokenChain

/** A link that was saved elsewhere. Without it, a completely rewritten audit looks intact. */
export interface Anchor {
  readonly position: number
  readonly link: string
}

const PAGE = 1_000

/**
 * Verifies all records that exist at the start. Hosts may continue to write. `onRecord` gets each record that continues the
 * chain, perhaps twice. Rejects only if the source cannot be read at all.
 */
export async function verifyAudit(
  source: AuditSource, anchor?: Anchor, onRecord?: (entry: AuditEntry) => void,
): Promise<AuditVerdict> {
  const span = await source.auditSpan()
  const verdict = await verifySpan(source, span, anchor, onRecord)
  // Records that were archived meanwhile are missing.
  const isArchived = !verdict.ok && (await source.auditSpan()).first > span.first
  return isArchived ? verifyAudit(source, anchor, onRecord) : verdict
}

async function verifySpan(
  source: AuditSource, span: AuditSpan, anchor: Anchor | undefined, onRecord?: (entry: AuditEntry) => void,
): Promise<AuditVerdict> {
  const walk = new ChainWalk(Math.max(span.first, 1), span.before)
  const start = { position: walk.position - 1, link: span.before }
  const anchorFault = anchor && findAnchorFault(anchor, start)
  if (anchorFault) return anchorFault
  let anchored = anchor === undefined || anchor.position === start.position
  let hasStartRecord = start.position === 0 || source.forgets === true
  while (walk.position <= span.last) {
    const wanted = Math.min(PAGE, span.last - walk.position + 1)
    let page: readonly AuditEntry[]
    try {
      page = await source.records(walk.position, wanted)
    } catch (error) {
      if (!isDamage(error)) throw error
      return findDamage(source, walk)
    }
    for (const entry of page) {
      const fault = walk.step(entry)
      if (fault) return fault
      onRecord?.(entry)
      hasStartRecord ||= documentsArchive(entry.record, start)
      if (anchor?.position === entry.position) {
        if (anchor.link !== entry.link) return broken(entry.position, 'its link differs from the saved one')
        anchored = true
      }
    }
    if (page.length < wanted) break
  }
  const { position, link } = walk
  const last = position - 1
  if (last < span.last) return broken(position, `the last ${span.last - last} records are missing`)
  if (link !== span.link || walk.isOpen || await hasRecordBeyondEnd(source, position)) {
    return broken(position, 'the end differs from the stored one')
  }
  if (!anchored) return broken(anchor!.position, 'the saved record is missing')
  if (!hasStartRecord) {
    return broken(start.position, 'it and the records before it are missing, and no record documents an archive')
  }
  const records = last === 0 ? 0 : last - start.position
  return { ok: true, records, first: span.first, before: start.link, last, link }
}

/** The fault of an anchor before the first record. Only the last archived record can be compared. */
function findAnchorFault({ position, link }: Anchor, start: Anchor): BrokenChain | undefined {
  if (position > start.position) return undefined
  if (position < start.position) return broken(position, 'the saved record is in an archive; verify that instead')
  return link === start.link ? undefined : broken(position, 'the records after it do not continue the saved link')
}

/**
 * A write adds its records and moves the end atomically, so every visible record is within the end that is read
 * afterwards.
 */
export async function hasRecordBeyondEnd(source: AuditSource, position: number): Promise<boolean> {
  const [beyond] = await source.records(position, 1)
  return beyond !== undefined && beyond.position > (await source.auditSpan()).last
}

/** Reads a damaged page record by record, because a fault before the damage is reported first. */
export async function findDamage(source: Pick<AuditSource, 'records'>, walk: ChainWalk): Promise<BrokenChain> {
  for (;;) {
    const { position } = walk
    try {
      const [entry] = await source.records(position, 1)
      if (entry === undefined) return broken(position, 'the record is missing')
      const fault = walk.step(entry)
      if (fault) return fault
    } catch (error) {
      if (!isDamage(error)) throw error
      return broken(position, 'the record cannot be read')
    }
  }
}
