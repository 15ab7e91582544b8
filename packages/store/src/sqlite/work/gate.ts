import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Freeze } from '@bulkhead/contract'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'

/** What a call must pass, as it is now. */
export interface GateState {
  readonly revision: number
  /** Changes with each freeze and thaw. */
  readonly number: number
  readonly freeze: Freeze | undefined
  /** Whether the host still has its seat. */
  readonly isSeated: boolean
}

type GateRow = readonly [revision: number, number: number, freeze: string | null, isSeated: number]

/** The gate of a store: one row, and one row for each host. */
export class Gate {
  readonly #select: StatementSync
  readonly #change: StatementSync

  constructor(database: DatabaseSync) {
    this.#select = database.prepare(
      `SELECT approval_revision.number, gate.number, gate.freeze,
         EXISTS (SELECT 1 FROM host WHERE id = ? AND claimed_by IS NULL AND has_left = 0)
       FROM gate, approval_revision`,
    )
    // Arrays take less time than objects, and every call reads this.
    this.#select.setReturnArrays(true)
    this.#change = database.prepare('UPDATE gate SET number = number + 1, freeze = ? RETURNING number')
  }

  /** Throws errors of SQLite. */
  read(host: string): GateState {
    const [revision, number, freeze, isSeated] = this.#select.get(host) as unknown as GateRow
    return { revision, number, freeze: freeze === null ? undefined : readFreeze(freeze), isSeated: isSeated === 1 }
  }

  /** Returns its number. Contract: in a transaction. */
  set(freeze: Freeze | undefined): number {
    return Number(this.#change.get(freeze === undefined ? null : JSON.stringify(freeze))?.['number'])
  }
}

/** What cannot be read freezes, too. */
function readFreeze(text: string): Freeze {
  const parsed = parseJson(text)
  const { since, by, reason, cancel } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  return {
    since: typeof since === 'number' ? since : 0, by: typeof by === 'string' ? by : 'unknown',
    ...(typeof reason === 'string' && { reason }), ...(cancel === true && { cancel }),
  }
}
