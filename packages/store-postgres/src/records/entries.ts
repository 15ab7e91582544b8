import { hash, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { StoreCollection, StoredRecord } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { byKey, nameOf, readRecord, storedRecord, storeError, writeRecord } from '@bulkhead/store/records'
import { statement, type Database, type Row } from '../connection/database.ts'
import { OperationOrder } from './operation-order.ts'

const READ = statement('entry_read', 'SELECT value, revision FROM @.entry WHERE tenant = @TENANT AND collection = $1 AND id = $2')
const WRITE = statement('entry_write', `
  INSERT INTO @.entry (collection, id, key, value, revision) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (tenant, collection, id) DO UPDATE SET value = excluded.value, revision = excluded.revision`)
const REMOVE = statement('entry_remove', 'DELETE FROM @.entry WHERE tenant = @TENANT AND collection = $1 AND id = $2')
const LIST = statement('entry_list', `
  SELECT key, value FROM @.entry
  WHERE tenant = @TENANT AND collection = $1 AND starts_with(left(key, 200), left($2, 200)) AND starts_with(key, $2)`)
// What `update` does with a record that it has read: only if it is still the same.
const ADD = statement('entry_add', `
  INSERT INTO @.entry (collection, id, key, value, revision) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
  RETURNING true AS done`)
const REPLACE = statement('entry_replace', `
  UPDATE @.entry SET value = $4, revision = $5
  WHERE tenant = @TENANT AND collection = $1 AND id = $2 AND revision = $3 RETURNING true AS done`)
const REMOVE_SAME = statement('entry_remove_same', `
  DELETE FROM @.entry WHERE tenant = @TENANT AND collection = $1 AND id = $2 AND revision = $3 RETURNING true AS done`)

/** After each lost race the next one waits longer. Each of them was won by another host. */
const LONGEST_PAUSE_MS = 64
/** Another attempt would come too late for a caller that waits. */
const MOST_RACES_MS = 20_000

/** The records of all collections. Each operation is one statement, and `update` two. */
export class Entries {
  readonly #database: Database
  readonly #order = new OperationOrder()

  constructor(database: Database) {
    this.#database = database
  }

  read(collection: StoreCollection, key: string): Promise<Json | undefined> {
    return this.#order.one(collection, key, async () => {
      const [row] = await this.#database.query(READ, [collection, idOf(key)])
      return row && readRecord(String(row['value']), nameOf(collection, key))
    })
  }

  write(collection: StoreCollection, key: string, text: string): Promise<void> {
    const values = [collection, idOf(key), storedKey(key), text, newRevision()]
    return this.#order.one(collection, key, async () => void await this.#database.query(WRITE, values))
  }

  remove(collection: StoreCollection, key: string): Promise<void> {
    return this.#order.one(collection, key, async () => void await this.#database.query(REMOVE, [collection, idOf(key)]))
  }

  update(
    collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined,
  ): Promise<Json | undefined> {
    return this.#order.one(collection, key, async () => {
      const end = performance.now() + MOST_RACES_MS
      for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        const done = await this.#tryUpdate(collection, key, change)
        if (done) return done.value
        if (performance.now() > end) throw this.#lostTooOften(collection, key)
        await pause(Math.random() * pauseMs)
      }
    })
  }

  /** undefined if another host changed the record meanwhile. No lock is held while `change` runs, or this host stops. */
  async #tryUpdate(
    collection: StoreCollection, key: string, change: (value: Json | undefined) => Json | undefined,
  ): Promise<{ readonly value: Json | undefined } | undefined> {
    const id = idOf(key)
    const [row] = await this.#database.query(READ, [collection, id])
    const before = row && String(row['value'])
    const value = change(before === undefined ? undefined : readRecord(before, nameOf(collection, key)))
    const text = value === undefined ? undefined : writeRecord(value)
    if (text === before) return { value }
    const revision = newRevision()
    const rows = await this.#change(collection, key, row?.['revision'] as string | undefined, text, revision)
    return rows.length > 0 ? { value } : undefined
  }

  #change(
    collection: string, key: string, before: string | undefined, text: string | undefined, revision: bigint,
  ): Promise<readonly Row[]> {
    const id = idOf(key)
    const database = this.#database
    // The revision is new, so a record that has it was written by the statement whose answer was lost.
    const isWritten = async (): Promise<readonly Row[] | undefined> => {
      const found = await database.query(READ, [collection, id])
      return found[0]?.['revision'] === String(revision) ? found : undefined
    }
    if (text === undefined) return database.query(REMOVE_SAME, [collection, id, before!])
    return before === undefined
      ? database.queryOnce(ADD, [collection, id, storedKey(key), text, revision], isWritten)
      : database.queryOnce(REPLACE, [collection, id, before, text, revision], isWritten)
  }

  list(collection: StoreCollection, prefix: string): Promise<readonly StoredRecord[]> {
    return this.#order.all(collection, async () => {
      const rows = await this.#database.query(LIST, [collection, storedKey(prefix)])
      return rows.map((row) => storedRecord(keyOf(String(row['key'])), String(row['value']))).toSorted(byKey)
    })
  }

  settled(): Promise<void> {
    return this.#order.settled()
  }

  #lostTooOften(collection: StoreCollection, key: string): Error {
    const what = `The stored ${nameOf(collection, key)} was changed by other hosts at each attempt. Nothing was changed.`
    return storeError('busy', `${what} Try again.`)
  }
}

const idOf = (key: string): Uint8Array => hash('sha256', key, 'buffer')

/** Never the same twice, also over hosts. */
export const newRevision = (): bigint => randomBytes(8).readBigInt64BE()

/** PostgreSQL stores no zero character. One that is not written otherwise stands for it, so prefixes stay prefixes. */
// oxlint-disable-next-line no-control-regex
const storedKey = (key: string): string => key.replaceAll(/[\0\x01]/g, (char) => char === '\0' ? '\x01a' : '\x01b')
// oxlint-disable-next-line no-control-regex
const keyOf = (stored: string): string => stored.replaceAll(/\x01[ab]/g, (pair) => pair === '\x01a' ? '\0' : '\x01')
