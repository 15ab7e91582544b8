import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type AuditDraft, CHAIN_START, finish, linkOf } from '../../records/audit-chain.ts'
import type { ChainEnd } from './audit-mark.ts'

/** A record that the chain is known by, kept in a table of its own: the last, or the last that was taken out. */
export class ChainPoint {
  readonly #select: StatementSync
  readonly #move: StatementSync

  constructor(database: DatabaseSync, table: 'audit_start' | 'audit_end') {
    this.#select = database.prepare(`SELECT position, link FROM ${table}`)
    this.#move = database.prepare(
      `INSERT INTO ${table} VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position, link = excluded.link`,
    )
  }

  read(): ChainEnd {
    const row = this.#select.get()
    return row === undefined ? { position: 0, link: CHAIN_START } : { position: Number(row['position']), link: String(row['link']) }
  }

  move({ position, link }: ChainEnd): void {
    this.#move.run(position, link)
  }
}

/** The end of the chain, where rows are added. Contract: within a transaction of the caller's. */
export class AuditEnd {
  readonly #insert: StatementSync
  readonly #point: ChainPoint

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('INSERT INTO audit VALUES (?, ?, ?)')
    this.#point = new ChainPoint(database, 'audit_end')
  }

  /** Read within the transaction that continues it: another process may have been quicker. */
  read(): ChainEnd {
    return this.#point.read()
  }

  /** One row, at the position of its first record and under one link. Returns the new end. */
  add(draft: AuditDraft): ChainEnd {
    const end = this.read()
    const first = end.position + 1
    const text = finish(draft)
    const last = { position: end.position + draft.count, link: linkOf(end.link, first, text) }
    this.#insert.run(first, text, last.link)
    this.#point.move(last)
    return last
  }
}
