import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AdoptedRecords, AuditEntry, AuditForm, AuditGroup, AuditRow } from '@bulkhead/contract'
import { auditRecord } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { type AuditDraft, type ChainPosition, DIGEST_PLACEHOLDER, linkOf, RECORD_SEPARATOR } from './audit-chain.ts'
import { checkLength, damagedRecord, readRecord, storeError, writeRecord } from './stored-record.ts'

/** Starts the line of forms. No record starts with it. */
const FORMS = '\t'

/** The text of a group: a line with its forms, then a line for each record. */
export function draftGroup({ forms, rows, texts }: AuditGroup): AuditDraft {
  const digested: string[] = []
  let text = FORMS + JSON.stringify(forms)
  for (const [index, row] of rows.entries()) {
    const toDigest = texts[index]
    if (toDigest !== undefined) digested.push(toDigest)
    text += `${RECORD_SEPARATOR}[${checkLength(row)}${toDigest === undefined ? ']' : `,"${DIGEST_PLACEHOLDER}"]`}`
  }
  return { text, digested, count: rows.length }
}

/** The records of one row. Each is parsed on access, and a damaged one throws an error with its position. */
export interface StoredGroup {
  readonly size: number
  /** Whether the records have forms, so that the text is not the JSON of the records. */
  readonly formed: boolean
  recordAt(index: number): Json
}

/** `first`: the position of the first record. */
export function readGroup(text: string, first: number): StoredGroup {
  const lines = text.split(RECORD_SEPARATOR)
  if (!text.startsWith(FORMS)) {
    return {
      size: lines.length,
      formed: false,
      recordAt: (index) => readRecord(lines[index] ?? '', nameOf(first + index), CURE),
    }
  }
  let forms: readonly Json[] | undefined
  return {
    size: lines.length - 1,
    formed: true,
    recordAt(index) {
      const where = nameOf(first + index)
      forms ??= listIn(readRecord(lines[0]!.slice(FORMS.length), where, CURE), where)
      const row = listIn(readRecord(lines[index + 1] ?? '', where, CURE), where)
      const form = typeof row[0] === 'number' ? forms[row[0]] : undefined
      if (!isForm(form) || row.length !== form.own.length + 1) throw damagedRecord(where, 'does not match a form', CURE)
      return auditRecord(form, row as unknown as AuditRow)
    },
  }
}

/** Audit records cannot be written again or removed one by one. */
const CURE = 'Restore a backup, or look for the record in an export'

const nameOf = (position: number): string => `audit record ${position}`

function listIn(value: Json, where: string): readonly Json[] {
  if (!Array.isArray(value)) throw damagedRecord(where, 'is not a list', CURE)
  return value
}

const isForm = (value: Json | undefined): value is AuditForm & Json =>
  isJsonObject(value) && isJsonObject(value['same'])
  && Array.isArray(value['own']) && value['own'].every((name) => typeof name === 'string')

/** A row of the audit: one record, or records that were written together, at the position of the first. */
export interface AuditRecords {
  readonly position: number
  readonly record: string
  readonly link: string
}

/** The records of a row from a position on, and at most so many. */
export function entriesOf({ position: first, record: text, link }: AuditRecords, from: number, limit: number) {
  const group = readGroup(text, first)
  const entries: AuditEntry[] = []
  for (let index = Math.max(0, from - first); index < group.size && entries.length < limit; index++) {
    const entry = { position: first + index, record: group.recordAt(index) }
    entries.push(index < group.size - 1 ? { ...entry, link: null }
      : { ...entry, link, ...(group.formed ? { text } : {}) })
  }
  return entries
}

/** Reads audit rows. A row holds one record or a group of records that were written together. */
export class AuditPages {
  readonly #rows: StatementSync

  constructor(database: DatabaseSync) {
    // Starts with the row that contains the position.
    this.#rows = database.prepare(`
      SELECT position, record, link FROM audit
      WHERE position >= coalesce((SELECT max(position) FROM audit WHERE position <= ?), ?) ORDER BY position`)
  }

  read(from: number, limit: number): readonly AuditEntry[] {
    const entries: AuditEntry[] = []
    for (const row of this.#rows.iterate(from, from)) {
      const stored = { position: Number(row['position']), record: String(row['record']), link: String(row['link']) }
      entries.push(...entriesOf(stored, from, limit - entries.length))
      if (entries.length >= limit) return entries
    }
    return entries
  }
}

const TYPE = 'AuditArchived'

/** The text of the record that documents an archiving: which records were removed, and by whom. */
export const archiveRecord = (first: number, { position: last, link }: ChainPosition, by: string): string =>
  writeRecord({ type: TYPE, at: new Date().toISOString(), first, last, link, by })

/** Whether the record documents that all records up to `last` were archived. */
export const documentsArchive = (record: Json, { position, link }: ChainPosition): boolean =>
  isJsonObject(record) && record['type'] === TYPE && record['last'] === position && record['link'] === link

/** The end of a chain after rows of another store. Throws StoreUnavailable unless each continues it. */
export function adoptedEnd(end: ChainPosition, rows: readonly AdoptedRecords[]): ChainPosition {
  return rows.reduce(({ position: last, link: before }, { position, count, record, link }) => {
    if (position !== last + 1 || linkOf(before, position, record) !== link) {
      throw storeError('refused-value', `Record ${position} does not continue the audit, which ends at ${last}. Nothing was added.`)
    }
    return { position: position + count - 1, link }
  }, end)
}
