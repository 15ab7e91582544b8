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
/** What `update` does, if the record is still as it was. The same statement reads what is there instead. */
const unless = (done: string): string => `
  WITH done AS (${done} RETURNING true)
  SELECT EXISTS (SELECT FROM done) AS done, found.value, found.revision
  FROM (SELECT) AS one LEFT JOIN @.entry AS found
    ON NOT EXISTS (SELECT FROM done) AND tenant = @TENANT AND collection = $1 AND id = $2`
const ADD = statement('entry_add', unless(`
  INSERT INTO @.entry (collection, id, key, value, revision) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`))
const REPLACE = statement('entry_replace', unless(`
  UPDATE @.entry SET value = $4, revision = $5 WHERE tenant = @TENANT AND collection = $1 AND id = $2 AND revision = $3`))
const REMOVE_SAME = statement('entry_remove_same', unless(`
  DELETE FROM @.entry WHERE tenant = @TENANT AND collection = $1 AND id = $2 AND revision = $3`))

/** After each lost race the next one waits longer. Each of them was won by another host. */
const LONGEST_PAUSE_MS = 64
/** Another attempt would come too late for a caller that waits. */
const MOST_RACES_MS = 20_000
/** Of records that this host changed: how many it remembers, and how long one may be. */
const REMEMBERED = 1_000
const REMEMBERED_CHARS = 4_096

/** A record as a statement found or left it. undefined: there was none. */
type Version = { readonly text: string; readonly revision: string } | undefined

/**
 * The records of all collections. Each operation is one statement. So is an `update` of a record that is new, or that
 * no other host has changed since this one did. For others it is two.
 */
export class Entries {
  readonly #database: Database
  readonly #order = new OperationOrder()
  /** Records as this host left them. Only a write that succeeds proves that one is still the same. */
  readonly #remembered = new Map<string, NonNullable<Version>>()

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
    const name = nameOf(collection, key)
    return this.#order.one(collection, key, async () => {
      const end = performance.now() + MOST_RACES_MS
      let before = this.#remembered.get(name)
      let isGuess = true
      for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        const next = draftOf(() => change(before && readRecord(before.text, name)), isGuess)
        if (isGuess && (next === undefined || next.text === before?.text)) {
          // Only a write proves a guess, so what the server has decides.
          before = versionIn(await this.#database.query(READ, [collection, idOf(key)]))
          isGuess = false
          continue
        }
        const { value, text } = next!
        if (text === before?.text) return value
        const found = await this.#change(collection, key, before, text)
        if (found.isDone) return value
        if (performance.now() > end) throw this.#lostTooOften(name)
        if (!isGuess) await pause(Math.random() * pauseMs)
        before = found.version
        isGuess = found.isOld
      }
    })
  }

  /** No lock is held while a record is changed, or this host stops. */
  async #change(collection: StoreCollection, key: string, before: Version, text: string | undefined) {
    const id = idOf(key)
    const revision = newRevision()
    const database = this.#database
    // The revision is new, so a record that has it was written by the statement whose answer was lost.
    const isWritten = async (): Promise<readonly Row[] | undefined> =>
      versionIn(await database.query(READ, [collection, id]))?.revision === String(revision) ? DONE : undefined
    const rows = text === undefined ? await database.query(REMOVE_SAME, [collection, id, before!.revision])
      : before === undefined ? await database.queryOnce(ADD, [collection, id, storedKey(key), text, revision], isWritten)
        : await database.queryOnce(REPLACE, [collection, id, before.revision, text, revision], isWritten)
    const isDone = rows[0]!['done'] === true
    this.#remember(nameOf(collection, key), isDone && text !== undefined ? { text, revision: String(revision) } : undefined)
    const version = versionIn(rows)
    // A statement that waited for another host reads what was there before.
    return { isDone, version, isOld: version?.revision === before?.revision }
  }

  #remember(name: string, version: Version): void {
    this.#remembered.delete(name)
    if (version === undefined || version.text.length > REMEMBERED_CHARS) return
    this.#remembered.set(name, version)
    if (this.#remembered.size > REMEMBERED) this.#remembered.delete(this.#remembered.keys().next().value!)
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

  #lostTooOften(name: string): Error {
    const what = `The stored ${name} was changed by other hosts at each attempt. Nothing was changed.`
    return storeError('busy', `${what} Try again.`)
  }
}

const DONE: readonly Row[] = [{ done: true }]

const versionIn = ([row]: readonly Row[]): Version =>
  typeof row?.['value'] === 'string' ? { text: row['value'], revision: String(row['revision']) } : undefined

/** undefined if a change refuses what was guessed. */
function draftOf(change: () => Json | undefined, isGuess: boolean) {
  try {
    const value = change()
    return { value, text: value === undefined ? undefined : writeRecord(value) }
  } catch (error) {
    if (isGuess) return undefined
    throw error
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
