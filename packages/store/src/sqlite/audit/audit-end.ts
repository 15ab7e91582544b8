import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { linkOf } from '../../audit-chain.ts'
import { finish, type AuditDraft } from '../../audit-draft.ts'
import type { ChainEnd } from './audit-mark.ts'
import { ChainPoint } from './chain-point.ts'

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
