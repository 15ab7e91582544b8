import { BulkheadError, canonicalJson, type AuditEntry, type AuditSpan } from '@bulkhead/contract'
import { linkOf } from './audit-chain.ts'

/** An audit that can be read: a store, or what was exported of one. */
export interface AuditSource {
  records(from?: number, limit?: number): Promise<readonly AuditEntry[]>
  auditSpan(): Promise<AuditSpan>
}

export type AuditVerdict =
  | { readonly ok: true; readonly records: number; readonly last: number; readonly link: string }
  /** `position`: the first that does not follow from what stands before it. */
  | { readonly ok: false; readonly position: number; readonly reason: string }

/** A link somebody wrote down earlier, elsewhere: without one, an audit that was made anew from beginning to end looks whole. */
export interface Anchor {
  readonly position: number
  readonly link: string
}

const PAGE = 1_000

/** Walks the whole chain. Rejects only when the source cannot be read at all. */
export async function verifyAudit(source: AuditSource, anchor?: Anchor): Promise<AuditVerdict> {
  const span = await source.auditSpan()
  let { before } = span
  let position = Math.max(span.first, 1)
  let anchored = anchor === undefined
  const broken = (reason: string): AuditVerdict => ({ ok: false, position, reason })
  for (;;) {
    let page: readonly AuditEntry[]
    try {
      page = await source.records(position, PAGE)
    } catch (error) {
      if (!isDamage(error)) throw error
      return damaged(source, position, before)
    }
    for (const entry of page) {
      if (entry.position !== position) return broken(`record ${position} is missing; ${entry.position} stands in its place`)
      const link = linkOf(before, position, canonicalJson(entry.record))
      if (link !== entry.link) return broken('the record, or what stands before it, is not what was written')
      if (anchor?.position === position) {
        if (anchor.link !== link) return broken('its link is not the one that was noted')
        anchored = true
      }
      before = link
      position++
    }
    if (page.length < PAGE) break
  }
  const last = position - 1
  if (last < span.last) return broken(`the last ${span.last - last} records are missing`)
  if (last > span.last || before !== span.link) return broken('the end is not the one that was kept')
  if (!anchored) {
    position = anchor!.position
    return broken('the record that was noted is not there')
  }
  return { ok: true, records: last === 0 ? 0 : last - span.first + 1, last, link: before }
}

/** A page that cannot be read as a whole is gone through one by one: what stands before the damage must hold too. */
async function damaged(source: AuditSource, from: number, link: string): Promise<AuditVerdict> {
  let before = link
  for (let position = from; ; position++) {
    const broken = (reason: string): AuditVerdict => ({ ok: false, position, reason })
    try {
      const [entry] = await source.records(position, 1)
      if (entry?.position !== position) return broken('the record is missing')
      before = linkOf(before, position, canonicalJson(entry.record))
      if (before !== entry.link) return broken('the record, or what stands before it, is not what was written')
    } catch (error) {
      if (!isDamage(error)) throw error
      return broken('the record cannot be read')
    }
  }
}

const isDamage = (error: unknown): boolean =>
  BulkheadError.is(error) && (error.data as { readonly reason?: unknown } | undefined)?.reason === 'damaged-record'
