import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { CHAIN_START } from '../../audit-chain.ts'
import { storeFault } from '../../store-fault.ts'
import type { ChainEnd } from './audit-mark.ts'

/** Where the chain begins: behind the last record that was taken out of it. */
export class AuditStart {
  readonly #select: StatementSync
  readonly #group: StatementSync
  readonly #next: StatementSync
  readonly #delete: StatementSync
  readonly #move: StatementSync

  constructor(database: DatabaseSync) {
    this.#select = database.prepare('SELECT position, link FROM audit_start')
    this.#group = database.prepare('SELECT link FROM audit WHERE position <= ? ORDER BY position DESC LIMIT 1')
    this.#next = database.prepare(
      'SELECT coalesce((SELECT min(position) FROM audit WHERE position > ?), (SELECT position + 1 FROM audit_end)) AS position',
    )
    this.#delete = database.prepare('DELETE FROM audit WHERE position <= ?')
    this.#move = database.prepare(
      'INSERT INTO audit_start VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position, link = excluded.link',
    )
  }

  /** What the first record continues. */
  read(): ChainEnd {
    const row = this.#select.get()
    return row === undefined ? { position: 0, link: CHAIN_START } : { position: Number(row['position']), link: String(row['link']) }
  }

  /** Contract: within a transaction of the caller's. Throws StoreUnavailable, having changed nothing. */
  takeOut({ position, link }: ChainEnd): void {
    // What was written together has one link, and is kept or taken out together.
    if (this.#group.get(position)?.['link'] !== link || Number(this.#next.get(position)?.['position']) !== position + 1) {
      throw storeFault('refused-value', `No records of the audit end at ${position} with that link: they were taken out before, or were never there. Nothing was taken out.`)
    }
    this.#delete.run(position)
    this.#move.run(position, link)
  }
}
