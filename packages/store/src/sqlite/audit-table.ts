import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AuditEntry } from '@bulkhead/contract'
import { CHAIN_START, linkOf } from '../audit-chain.ts'
import { readGroup } from '../group-text.ts'

/**
 * The rows of the audit: the text of one record, or of several that were written together, at the position of the first, under
 * one link. Contract: within a transaction of the caller's.
 */
export class AuditTable {
  readonly #insert: StatementSync
  readonly #end: StatementSync
  readonly #moveEnd: StatementSync
  readonly #page: StatementSync

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('INSERT INTO audit VALUES (?, ?, ?)')
    this.#end = database.prepare('SELECT position, link FROM audit_end')
    this.#moveEnd = database.prepare(
      'INSERT INTO audit_end VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position, link = excluded.link',
    )
    // From the row that the position falls into.
    this.#page = database.prepare(`
      SELECT position, record, link FROM audit
      WHERE position >= coalesce((SELECT max(position) FROM audit WHERE position <= ?), ?) ORDER BY position`)
  }

  /** Returns the position of the last record. */
  add(text: string, count: number): number {
    const end = this.end()
    const [first, last] = [end.position + 1, end.position + count]
    const link = linkOf(end.link, first, text)
    this.#insert.run(first, text, link)
    this.#moveEnd.run(last, link)
    return last
  }

  /** Read within the transaction that continues it: another process may have been quicker. */
  end(): { readonly position: number; readonly link: string } {
    const row = this.#end.get()
    return row === undefined ? { position: 0, link: CHAIN_START } : { position: Number(row['position']), link: String(row['link']) }
  }

  page(from: number, limit: number): readonly AuditEntry[] {
    const entries: AuditEntry[] = []
    for (const row of this.#page.iterate(from, from)) {
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
