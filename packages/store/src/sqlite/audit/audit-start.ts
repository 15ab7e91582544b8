import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { storeFault } from '../../store-fault.ts'
import type { ChainEnd } from './audit-mark.ts'
import { ChainPoint } from './chain-point.ts'

/** Where the chain begins: behind the last record that was taken out of it. */
export class AuditStart {
  readonly #point: ChainPoint
  readonly #group: StatementSync
  readonly #next: StatementSync
  readonly #delete: StatementSync

  constructor(database: DatabaseSync) {
    this.#point = new ChainPoint(database, 'audit_start')
    this.#group = database.prepare('SELECT link FROM audit WHERE position <= ? ORDER BY position DESC LIMIT 1')
    this.#next = database.prepare(
      'SELECT coalesce((SELECT min(position) FROM audit WHERE position > ?), (SELECT position + 1 FROM audit_end)) AS position',
    )
    this.#delete = database.prepare('DELETE FROM audit WHERE position <= ?')
  }

  /** What the first record continues. */
  read(): ChainEnd {
    return this.#point.read()
  }

  /** Contract: within a transaction of the caller's. Throws StoreUnavailable, having changed nothing. */
  takeOut(last: ChainEnd): void {
    const { position, link } = last
    // What was written together has one link, and is kept or taken out together.
    if (this.#group.get(position)?.['link'] !== link || Number(this.#next.get(position)?.['position']) !== position + 1) {
      throw storeFault('refused-value', `No records of the audit end at ${position} with that link: they were taken out before, or were never there. Nothing was taken out.`)
    }
    this.#delete.run(position)
    this.#point.move(last)
  }
}
