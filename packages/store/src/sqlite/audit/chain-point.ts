import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { CHAIN_START } from '../../audit-chain.ts'
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
