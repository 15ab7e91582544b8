import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AuditEntry } from '@bulkhead/contract'
import { readGroup } from '../../group-text.ts'

/** Reads the rows of the audit, each of which holds one record or several that were written together. */
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
