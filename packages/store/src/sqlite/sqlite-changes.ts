import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { ChangeFilter, ChangeStore, NewChange, RecordedChange } from '@bulkhead/contract'
import { storeClosed } from '../records/stored-record.ts'
import { FileIdentity } from './database-file.ts'
import { prepareLocation, restrictToOwner } from './location.ts'
import { applySettings, migrate, refuseForeignFile } from './schema.ts'
import { CONNECTION, retryWhileBusy, sqliteError } from './sqlite-error.ts'

export interface ChangeLimits {
  /** All content together. */
  readonly totalBytes: number
  readonly ageMs: number
  readonly changes: number
}

/** Beside the file of the store. */
export const changesFile = (file: string): string => `${file}-undo`

const DAY_MS = 86_400_000
const CHANGE_LIMITS: ChangeLimits = { totalBytes: 256 * 1024 ** 2, ageMs: 30 * DAY_MS, changes: 100_000 }
const IN_MEMORY = ':memory:'
const CURES = { full: 'Free disk space, or delete this file to forget what earlier calls replaced' }

/** Forward only, like the migrations of the store. `used`: the last change that needs the content. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE change (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     at INTEGER NOT NULL,
     workspace TEXT NOT NULL,
     session TEXT NOT NULL,
     record TEXT NOT NULL
   ) STRICT;
   CREATE INDEX change_session ON change (session);
   CREATE INDEX change_workspace ON change (workspace);
   CREATE TABLE content (
     number INTEGER PRIMARY KEY,
     digest TEXT NOT NULL UNIQUE,
     size INTEGER NOT NULL,
     used INTEGER NOT NULL,
     at INTEGER NOT NULL,
     bytes BLOB NOT NULL
   ) STRICT;
   CREATE INDEX content_used ON content (used, size, at);`,
]

/** Content is dropped after each of these shares of the limit. */
const PRUNE_SHARE = 1 / 16
/** How much of the limit is left in use, so that not every write drops something. */
const KEPT_SHARE = 0.9

/**
 * The changes of all hosts that share a store, in a database of its own: it can be removed to forget them. Opened with
 * the first use. It is not synced with each change: changes survive the process; a power failure may lose the last ones.
 */
export class SqliteChanges implements ChangeStore {
  readonly #file: string
  readonly #limits: ChangeLimits
  readonly #now: () => number
  #open: OpenDatabase | undefined
  #addedBytes = 0
  #closed = false

  constructor(file = IN_MEMORY, limits: Partial<ChangeLimits> = {}, now = Date.now) {
    this.#file = file
    this.#limits = { ...CHANGE_LIMITS, ...limits }
    this.#now = now
  }

  add(change: NewChange, content?: Uint8Array, at = this.#now()): Promise<number> {
    const { workspace, sessionId, ...rest } = change
    const [outermost] = change.delegatedBy ?? []
    const digest = digestOf(change)
    const record = JSON.stringify(outermost ? { ...rest, sessionId } : rest)
    return this.#use(({ database, insert, keep }) => inTransaction(database, () => {
      const id = Number(insert.run(at, workspace, outermost?.sessionId ?? sessionId, record).lastInsertRowid)
      if (content !== undefined && digest !== undefined) {
        keep.run(digest, content.length, id, at, content)
        this.#addedBytes += content.length
        if (this.#addedBytes > this.#limits.totalBytes * PRUNE_SHARE) this.#prune(database)
      }
      return id
    }))
  }

  list({ sessionId, workspace, after = 0 }: ChangeFilter): Promise<readonly RecordedChange[]> {
    const given = {
      after, ...(sessionId !== undefined && { session: sessionId }), ...(workspace !== undefined && { workspace }),
    }
    const where = Object.keys(given).map((name) => name === 'after' ? 'id > :after' : `${name} = :${name}`)
    return this.#use(({ database }) => database
      .prepare(`SELECT * FROM change WHERE ${where.join(' AND ')} ORDER BY id`)
      .all(given).map((row) => ({
        id: Number(row['id']), at: Number(row['at']), workspace: String(row['workspace']),
        sessionId: String(row['session']), ...JSON.parse(String(row['record'])) as object,
      }) as RecordedChange))
  }

  content(digest: string): Promise<Uint8Array | undefined> {
    return this.#use(({ find }) => find.get(digest)?.['bytes'] as Uint8Array | undefined)
  }

  close(): void {
    this.#closed = true
    this.#open?.database.close()
    this.#open = undefined
  }

  /** Drops the content that was needed longest ago, and then the oldest changes. */
  #prune(database: DatabaseSync): void {
    const { totalBytes, ageMs, changes } = this.#limits
    this.#addedBytes = 0
    database.prepare('DELETE FROM content WHERE at < ?').run(this.#now() - ageMs)
    database.prepare(`DELETE FROM content WHERE number IN (
      SELECT number FROM (SELECT number, sum(size) OVER (ORDER BY used DESC, number DESC) AS total FROM content)
      WHERE total > ?)`).run(Math.floor(totalBytes * KEPT_SHARE))
    database.prepare('DELETE FROM change WHERE id <= (SELECT max(id) FROM change) - ?').run(changes)
  }

  async #use<T>(work: (open: OpenDatabase) => T): Promise<T> {
    try {
      return await retryWhileBusy(() => work(this.#database()))
    } catch (error) {
      throw sqliteError(error, this.#file, CURES)
    }
  }

  /** A file that was removed or replaced is opened again. */
  #database(): OpenDatabase {
    if (this.#closed) throw storeClosed()
    if (this.#open?.isInPlace() === false) {
      this.#open.database.close()
      this.#open = undefined
    }
    this.#open ??= open(this.#file, this.#limits, (database) => inTransaction(database, () => this.#prune(database)))
    return this.#open
  }
}

interface OpenDatabase {
  readonly database: DatabaseSync
  readonly insert: StatementSync
  readonly keep: StatementSync
  readonly find: StatementSync
  isInPlace(): boolean
}

/** Contract: leaves nothing open when it throws. */
function open(file: string, { totalBytes }: ChangeLimits, opened: (database: DatabaseSync) => void): OpenDatabase {
  const isFile = file !== IN_MEMORY
  if (isFile) prepareLocation(file)
  const database = new DatabaseSync(file, CONNECTION)
  try {
    if (isFile) {
      refuseForeignFile(database, file, MIGRATIONS)
      // Room for the changes, and for content that is dropped only with the next ones.
      applySettings(database, file, 2 * totalBytes + 256 * 1024 ** 2)
    }
    migrate(database, MIGRATIONS)
    if (isFile) restrictToOwner(file)
    opened(database)
    const identity = isFile ? new FileIdentity(file) : undefined
    return {
      database,
      insert: database.prepare('INSERT INTO change (at, workspace, session, record) VALUES (?, ?, ?, ?)'),
      keep: database.prepare(`INSERT INTO content (digest, size, used, at, bytes) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET used = excluded.used, at = excluded.at`),
      find: database.prepare('SELECT bytes FROM content WHERE digest = ?'),
      isInPlace: () => identity?.isInPlace() ?? true,
    }
  } catch (error) {
    database.close()
    throw error
  }
}

function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function digestOf(change: NewChange): string | undefined {
  if (change.kind === 'effect') return change.digest
  return change.kind === 'file' && change.before.kind === 'file' ? change.before.digest ?? undefined : undefined
}
