import { isDeepStrictEqual } from 'node:util'
import { BulkheadError, type AuditEntry, type AuditSpan } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { linkOf, RECORD_SEPARATOR } from './records/audit-chain.ts'
import { documentsArchive, readGroup } from './records/audit-group.ts'

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
  /** `position`: the first record that does not continue the chain. */
  | { readonly ok: false; readonly position: number; readonly reason: string }

/** A link that was saved elsewhere. Without it, a completely rewritten audit looks intact. */
export interface Anchor {
  readonly position: number
  readonly link: string
}

const PAGE = 1_000

/**
 * Verifies all records that exist at the start. Hosts may continue to write. Rejects only if the source cannot be read
 * at all.
 */
export async function verifyAudit(source: AuditSource, anchor?: Anchor): Promise<AuditVerdict> {
  const span = await source.auditSpan()
  const verdict = await verifySpan(source, span, anchor)
  // Records that were archived meanwhile are missing.
  const isArchived = !verdict.ok && (await source.auditSpan()).first > span.first
  return isArchived ? verifyAudit(source, anchor) : verdict
}

async function verifySpan(source: AuditSource, span: AuditSpan, anchor: Anchor | undefined): Promise<AuditVerdict> {
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
function findAnchorFault({ position, link }: Anchor, start: Anchor): AuditVerdict | undefined {
  if (position > start.position) return undefined
  if (position < start.position) return broken(position, 'the saved record is in an archive; verify that instead')
  return link === start.link ? undefined : broken(position, 'the records after it do not continue the saved link')
}

const broken = (position: number, reason: string): AuditVerdict => ({ ok: false, position, reason })

/**
 * A write adds its records and moves the end atomically, so every visible record is within the end that is read
 * afterwards.
 */
async function hasRecordBeyondEnd(source: AuditSource, position: number): Promise<boolean> {
  const [beyond] = await source.records(position, 1)
  return beyond !== undefined && beyond.position > (await source.auditSpan()).last
}

/** Follows the chain record by record. Records that were written together share a link. */
class ChainWalk {
  /** The position of the next record. */
  position: number
  link: string
  #records: Json[] = []

  constructor(position: number, link: string) {
    this.position = position
    this.link = link
  }

  /** Whether the link of the last records has not been read yet. */
  get isOpen(): boolean {
    return this.#records.length > 0
  }

  step({ position, record, link, text }: AuditEntry): AuditVerdict | undefined {
    if (position !== this.position) {
      return broken(this.position, `record ${this.position} is missing; the next one is ${position}`)
    }
    this.#records.push(record)
    this.position++
    if (link === null) return undefined
    const records = this.#records
    const first = this.position - records.length
    this.#records = []
    this.link = linkOf(this.link, first, text ?? records.map(canonicalJson).join(RECORD_SEPARATOR))
    if (this.link !== link) {
      const which = records.length === 1 ? 'the record' : `one of ${records.length} records that were written together`
      return broken(first, `${which}, or an earlier one, was changed`)
    }
    const changed = text === undefined ? undefined : firstChangedRecord(records, text, first)
    return changed === undefined ? undefined : broken(changed, 'the record was changed')
  }
}

/** The position of the first record that differs from the stored text. */
function firstChangedRecord(records: readonly Json[], text: string, first: number): number | undefined {
  const stored = readGroup(text, first)
  const isUnchanged = (index: number): boolean => {
    try {
      return index < stored.size && isDeepStrictEqual(records[index], stored.recordAt(index))
    } catch (error) {
      if (!isDamage(error)) throw error
      return false
    }
  }
  for (let index = 0; index < Math.max(records.length, stored.size); index++) {
    if (!isUnchanged(index)) return first + index
  }
  return undefined
}

/** Reads a damaged page record by record, because a fault before the damage is reported first. */
async function findDamage(source: AuditSource, walk: ChainWalk): Promise<AuditVerdict> {
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

const isDamage = (error: unknown): boolean =>
  BulkheadError.is(error) && (error.data as { readonly reason?: unknown } | undefined)?.reason === 'damaged-record'
