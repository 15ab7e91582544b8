import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { HostInfo, ShownKind, ShownRow } from '@bulkhead/contract'
import { isJsonObject, parseJson, type JsonObject } from '@bulkhead/kit/json'
import { hasProcessEnded, processIdentity } from '@bulkhead/kit/processes'

/** A host as the table has it. */
export interface HostRow {
  readonly id: string
  readonly info: HostInfo
  readonly process: string
  readonly since: number
  readonly beat: number
  /** The number of the gate that it has confirmed. */
  readonly seen: number
  readonly hasLeft: boolean
  readonly claimedBy: string | undefined
}

/** Whether it has left, or its process has ended: heartbeats of processes on one machine prove less than that. */
export const isRowGone = ({ hasLeft, process }: HostRow): boolean => hasLeft || hasProcessEnded(process)

const UNKNOWN = { pid: 0, machine: '', version: '', workspace: '', rules: '' }

/** The hosts on one file, and what they show. Methods that change something must run in a transaction. */
export class HostTable {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  add({ id, ...info }: HostInfo, seen: number, now: number): void {
    this.#run('INSERT INTO host VALUES (?, ?, ?, ?, ?, ?, 0, NULL)',
      id, JSON.stringify(info), processIdentity(info.pid), now, now, seen)
  }

  /** For a host of which only the journal is there: of a version without this table. */
  addEarlier(id: string): void {
    this.#run('INSERT OR IGNORE INTO host VALUES (?, ?, ?, 0, 0, -1, 0, NULL)', id, '{}', id)
  }

  /** Returns whether the host still has its seat. */
  beat(id: string, seen: number, now: number): boolean {
    return this.#run(
      'UPDATE host SET beat = ?, seen = ? WHERE id = ? AND claimed_by IS NULL AND has_left = 0', now, seen, id) === 1
  }

  describe(id: string, info: Omit<HostInfo, 'id'>): void {
    this.#run('UPDATE host SET info = ? WHERE id = ?', JSON.stringify(info), id)
  }

  show(host: string, kind: ShownKind, id: string, row: JsonObject | undefined): void {
    if (row === undefined) this.#run('DELETE FROM shown WHERE host = ? AND kind = ? AND id = ?', host, kind, id)
    else this.#run('INSERT OR REPLACE INTO shown VALUES (?, ?, ?, ?)', host, kind, id, JSON.stringify(row))
  }

  leave(id: string): void {
    this.#run('UPDATE host SET has_left = 1 WHERE id = ?', id)
  }

  claim(id: string, by: string): void {
    this.#run('UPDATE host SET claimed_by = ? WHERE id = ?', by, id)
  }

  remove(id: string): void {
    this.#run('DELETE FROM shown WHERE host = ?', id)
    this.#run('DELETE FROM host WHERE id = ?', id)
  }

  get(id: string): HostRow | undefined {
    const row = this.#prepared('SELECT * FROM host WHERE id = ?').get(id)
    return row && readRow(row)
  }

  all(): readonly HostRow[] {
    return this.#prepared('SELECT * FROM host ORDER BY since, id').all().map(readRow)
  }

  /** What hosts show, by host. */
  shown(kind: ShownKind): Map<string, ShownRow[]> {
    const found = new Map<string, ShownRow[]>()
    for (const { host, id, row } of this.#prepared('SELECT * FROM shown WHERE kind = ? ORDER BY id').all(kind)) {
      const one = { id: String(id), row: readObject(row) }
      found.getOrInsertComputed(String(host), () => []).push(one)
    }
    return found
  }

  #run(sql: string, ...values: readonly (string | number)[]): number {
    return Number(this.#prepared(sql).run(...values).changes)
  }

  #prepared(sql: string): StatementSync {
    return this.#statements.getOrInsertComputed(sql, () => this.#database.prepare(sql))
  }
}

function readRow(row: Record<string, unknown>): HostRow {
  const { id, info, process, since, beat, seen, has_left: hasLeft, claimed_by: by } = row
  return {
    id: String(id), info: { ...UNKNOWN, ...readObject(info), id: String(id) }, process: String(process),
    since: Number(since), beat: Number(beat), seen: Number(seen), hasLeft: hasLeft === 1,
    claimedBy: typeof by === 'string' ? by : undefined,
  }
}

/** Empty for text that is no object. */
function readObject(text: unknown): JsonObject {
  const parsed = parseJson(String(text))
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
}
