import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { CHAIN_START, linkOf } from '../../audit-chain.ts'
import { finish, type AuditDraft } from '../../audit-draft.ts'
import type { ChainEnd } from './audit-mark.ts'

/** The end of the chain, where rows are added. Contract: within a transaction of the caller's. */
export class AuditEnd {
  readonly #insert: StatementSync
  readonly #select: StatementSync
  readonly #move: StatementSync

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('INSERT INTO audit VALUES (?, ?, ?)')
    this.#select = database.prepare('SELECT position, link FROM audit_end')
    this.#move = database.prepare(
      'INSERT INTO audit_end VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position, link = excluded.link',
    )
  }

  /** Read within the transaction that continues it: another process may have been quicker. */
  read(): ChainEnd {
    const row = this.#select.get()
    return row === undefined ? { position: 0, link: CHAIN_START } : { position: Number(row['position']), link: String(row['link']) }
  }

  /** One row, at the position of its first record and under one link. Returns the new end. */
  add(draft: AuditDraft): ChainEnd {
    const end = this.read()
    const [first, position] = [end.position + 1, end.position + draft.count]
    const text = finish(draft)
    const link = linkOf(end.link, first, text)
    this.#insert.run(first, text, link)
    this.#move.run(position, link)
    return { position, link }
  }
}
