import { isDeepStrictEqual } from 'node:util'
import type { AuditEntry, AuditSpan } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { readGroup, recordsArchive } from './records/audit-group.ts'
import { BETWEEN, linkOf } from './records/audit-chain.ts'

/** An audit that can be read: a store, or what was exported of one. */
export interface AuditSource {
  /** What stood before its first record may be elsewhere, or gone. */
  readonly forgets?: boolean
  records(from?: number, limit?: number): Promise<readonly AuditEntry[]>
  auditSpan(): Promise<AuditSpan>
}

export type AuditVerdict =
  /** `before`: the link that the first one continues; the end of an archive, where there is one. */
  | { readonly ok: true; readonly records: number; readonly first: number; readonly before: string; readonly last: number; readonly link: string }
  /** `position`: the first that does not follow from what stands before it. */
  | { readonly ok: false; readonly position: number; readonly reason: string }

/** A link that was saved elsewhere. Without it, an audit that was rewritten as a whole looks intact. */
export interface Anchor {
  readonly position: number
  readonly link: string
}

const PAGE = 1_000

/**
 * Walks the whole chain as it was when it began: hosts may go on writing. Rejects only when the source cannot be read at all.
 */
export async function verifyAudit(source: AuditSource, anchor?: Anchor): Promise<AuditVerdict> {
  const span = await source.auditSpan()
  const verdict = await verifySpan(source, span, anchor)
  // What was archived meanwhile is missing, and was not when it began.
  const isArchived = !verdict.ok && (await source.auditSpan()).first > span.first
  return isArchived ? verifyAudit(source, anchor) : verdict
}

async function verifySpan(source: AuditSource, span: AuditSpan, anchor: Anchor | undefined): Promise<AuditVerdict> {
  const walk = new ChainWalk(Math.max(span.first, 1), span.before)
  const start = { position: walk.position - 1, link: span.before }
  const misplaced = anchor && misplacedBefore(anchor, start)
  if (misplaced) return misplaced
  let anchored = anchor === undefined || anchor.position === start.position
  let accounted = start.position === 0 || source.forgets === true
  while (walk.position <= span.last) {
    const wanted = Math.min(PAGE, span.last - walk.position + 1)
    let page: readonly AuditEntry[]
    try {
      page = await source.records(walk.position, wanted)
    } catch (error) {
      if (!isDamage(error)) throw error
      return damaged(source, walk)
    }
    for (const entry of page) {
      const fault = walk.step(entry)
      if (fault) return fault
      accounted ||= recordsArchive(entry.record, start)
      if (anchor?.position === entry.position) {
        if (anchor.link !== entry.link) return { ok: false, position: entry.position, reason: 'its link is not the one that was noted' }
        anchored = true
      }
    }
    if (page.length < wanted) break
  }
  const { position, link } = walk
  const last = position - 1
  const broken = (reason: string): AuditVerdict => ({ ok: false, position, reason })
  if (last < span.last) return broken(`the last ${span.last - last} records are missing`)
  if (link !== span.link || walk.isOpen || await standsBeyondEnd(source, position)) return broken('the end is not the one that was kept')
  if (!anchored) return { ok: false, position: anchor!.position, reason: 'the record that was noted is not there' }
  if (!accounted) return { ok: false, position: start.position, reason: 'it and what stood before it are gone, and no record says that they were archived' }
  return { ok: true, records: last === 0 ? 0 : last - start.position, first: span.first, before: start.link, last, link }
}

/** What was noted before the first record can be compared where it is the very one that this continues. */
function misplacedBefore({ position, link }: Anchor, start: Anchor): AuditVerdict | undefined {
  if (position > start.position) return undefined
  if (position < start.position) return { ok: false, position, reason: 'the record that was noted is in an archive: compare it with that' }
  return link === start.link ? undefined : { ok: false, position, reason: 'what follows it does not continue the link that was noted' }
}

/** What is written moves the end in the same step, so a record that was seen lies within the end that is asked for afterwards. */
async function standsBeyondEnd(source: AuditSource, position: number): Promise<boolean> {
  const [beyond] = await source.records(position, 1)
  return beyond !== undefined && beyond.position > (await source.auditSpan()).last
}

/** Follows the chain record by record; those that were written together are held against their one link. */
class ChainWalk {
  /** Of the record that comes next. */
  position: number
  link: string
  #records: Json[] = []

  constructor(position: number, link: string) {
    this.position = position
    this.link = link
  }

  /** Whether records were read whose link has not come yet. */
  get isOpen(): boolean {
    return this.#records.length > 0
  }

  step({ position, record, link, text }: AuditEntry): AuditVerdict | undefined {
    const broken = (where: number, reason: string): AuditVerdict => ({ ok: false, position: where, reason })
    if (position !== this.position) {
      return broken(this.position, `record ${this.position} is missing; ${position} stands in its place`)
    }
    this.#records.push(record)
    this.position++
    if (link === null) return undefined
    const records = this.#records
    const first = this.position - records.length
    this.#records = []
    this.link = linkOf(this.link, first, text ?? records.map(canonicalJson).join(BETWEEN))
    if (this.link !== link) {
      const which = records.length === 1 ? 'the record' : `one of the ${records.length} records that were written together here`
      return broken(first, `${which}, or what stands before it, is not what was written`)
    }
    const other = text === undefined ? undefined : firstForeignRecord(records, text, first)
    return other === undefined ? undefined : broken(other, 'the record is not what was written')
  }
}

/** The position of the first record that is not the one in the text that was kept. */
function firstForeignRecord(records: readonly Json[], text: string, first: number): number | undefined {
  const kept = readGroup(text, first)
  const isKept = (index: number): boolean => {
    try {
      return index < kept.size && isDeepStrictEqual(records[index], kept.recordAt(index))
    } catch (error) {
      if (!isDamage(error)) throw error
      return false
    }
  }
  for (let index = 0; index < Math.max(records.length, kept.size); index++) {
    if (!isKept(index)) return first + index
  }
  return undefined
}

/** A page that cannot be read as a whole is gone through one by one: what stands before the damage must hold too. */
async function damaged(source: AuditSource, walk: ChainWalk): Promise<AuditVerdict> {
  for (;;) {
    const { position } = walk
    const broken = (reason: string): AuditVerdict => ({ ok: false, position, reason })
    try {
      const [entry] = await source.records(position, 1)
      if (entry === undefined) return broken('the record is missing')
      const fault = walk.step(entry)
      if (fault) return fault
    } catch (error) {
      if (!isDamage(error)) throw error
      return broken('the record cannot be read')
    }
  }
}

const isDamage = (error: unknown): boolean =>
  BulkheadError.is(error) && (error.data as { readonly reason?: unknown } | undefined)?.reason === 'damaged-record'
