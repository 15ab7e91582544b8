import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AuditEntry, AuditForm, AuditGroup, AuditRow } from '@bulkhead/contract'
import { auditRecord } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { type AuditDraft, BETWEEN, GAP } from './audit-chain.ts'
import { checkLength, damagedRecord, readRecord, writeRecord } from './stored-record.ts'

/** Begins the line of forms. No text of a record begins with it. */
const FORMS = '\t'

/** A group as it will be kept: a line of its forms, then a line for each record. */
export function draftGroup({ forms, rows, texts }: AuditGroup): AuditDraft {
  const digested: string[] = []
  let text = FORMS + JSON.stringify(forms)
  for (const [index, row] of rows.entries()) {
    const whole = texts[index]
    if (whole !== undefined) digested.push(whole)
    text += `${BETWEEN}[${checkLength(row)}${whole === undefined ? ']' : `,"${GAP}"]`}`
  }
  return { text, digested, count: rows.length }
}

/** What was kept as one text, opened. Each record is read when it is asked for, and refused by its position where it is damaged. */
export interface KeptGroup {
  readonly size: number
  /** Whether it has forms, and so is another text than those of its records. */
  readonly formed: boolean
  recordAt(index: number): Json
}

/** `first`: the position of the first record. */
export function readGroup(text: string, first: number): KeptGroup {
  const lines = text.split(BETWEEN)
  if (!text.startsWith(FORMS)) {
    return { size: lines.length, formed: false, recordAt: (index) => readRecord(lines[index] ?? '', nameOf(first + index), CURE) }
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
      if (!isForm(form) || row.length !== form.own.length + 1) throw damagedRecord(where, 'has no form', CURE)
      return auditRecord(form, row as unknown as AuditRow)
    },
  }
}

/** Nobody writes one anew, or takes one away. */
const CURE = 'Restore a copy, or look for it in an export'

const nameOf = (position: number): string => `audit record ${position}`

function listIn(value: Json, where: string): readonly Json[] {
  if (!Array.isArray(value)) throw damagedRecord(where, 'is no list', CURE)
  return value
}

const isForm = (value: Json | undefined): value is AuditForm & Json =>
  isJsonObject(value) && isJsonObject(value['same']) && Array.isArray(value['own']) && value['own'].every((name) => typeof name === 'string')

/** Reads audit rows. A row holds one record or a group of records that were written together. */
export class AuditPages {
  readonly #rows: StatementSync

  constructor(database: DatabaseSync) {
    // From the row that the position falls into.
    this.#rows = database.prepare(`
      SELECT position, record, link FROM audit
      WHERE position >= coalesce((SELECT max(position) FROM audit WHERE position <= ?), ?) ORDER BY position`)
  }

  read(from: number, limit: number): readonly AuditEntry[] {
    const entries: AuditEntry[] = []
    for (const row of this.#rows.iterate(from, from)) {
      const first = Number(row['position'])
      const text = String(row['record'])
      const group = readGroup(text, first)
      for (let index = Math.max(0, from - first); index < group.size; index++) {
        if (entries.length >= limit) return entries
        const entry = { position: first + index, record: group.recordAt(index) }
        if (index < group.size - 1) entries.push({ ...entry, link: null })
        else entries.push({ ...entry, link: String(row['link']), ...(group.formed ? { text } : {}) })
      }
    }
    return entries
  }
}

/** The last of the records that were taken out. */
interface Last {
  readonly position: number
  readonly link: string
}

const TYPE = 'AuditArchived'

/** The text of the record that says of others that they were taken out, and by whom. */
export const archiveRecord = (first: number, { position: last, link }: Last, by: string): string =>
  writeRecord({ type: TYPE, at: new Date().toISOString(), first, last, link, by })

/** Whether it says so of all up to this one. */
export const recordsArchive = (record: Json, { position, link }: Last): boolean =>
  isJsonObject(record) && record['type'] === TYPE && record['last'] === position && record['link'] === link
