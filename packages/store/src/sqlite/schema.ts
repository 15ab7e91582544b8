import type { DatabaseSync } from 'node:sqlite'
import { storeError } from '../records/stored-record.ts'
import { settingsFor } from './database-file.ts'

/** "BKHD", at byte 68 of the file. Identifies a store. */
const APPLICATION_ID = 0x424b4844

/**
 * Forward only. A file of version N has the first N of these. A published migration never changes.
 * Audit positions need no AUTOINCREMENT, because audit_end keeps the last one, also after its record was archived.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE entry (
     collection TEXT NOT NULL,
     key TEXT NOT NULL,
     value TEXT NOT NULL,
     PRIMARY KEY (collection, key)
   ) STRICT;
   CREATE TABLE audit (
     position INTEGER PRIMARY KEY,
     record TEXT NOT NULL,
     link TEXT NOT NULL
   ) STRICT;
   CREATE TABLE audit_end (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     position INTEGER NOT NULL,
     link TEXT NOT NULL
   ) STRICT;`,
  `CREATE TABLE approval_revision (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     number INTEGER NOT NULL
   ) STRICT;
   INSERT INTO approval_revision VALUES (1, 0);
   CREATE TRIGGER approval_added AFTER INSERT ON entry WHEN new.collection = 'approval'
     BEGIN UPDATE approval_revision SET number = number + 1; END;
   CREATE TRIGGER approval_changed AFTER UPDATE ON entry WHEN new.collection = 'approval'
     BEGIN UPDATE approval_revision SET number = number + 1; END;
   CREATE TRIGGER approval_removed AFTER DELETE ON entry WHEN old.collection = 'approval'
     BEGIN UPDATE approval_revision SET number = number + 1; END;`,
  // From here on, audit rows may contain groups with forms. The version keeps older hosts from opening them as damaged.
  '',
  // From here on, archived records may be missing at the start. An older host would report a broken chain.
  `CREATE TABLE audit_start (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     position INTEGER NOT NULL,
     link TEXT NOT NULL
   ) STRICT;`,
  // From here on, a host joins, and starts a call only if nothing is frozen. An older host would not look.
  `CREATE TABLE gate (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     number INTEGER NOT NULL,
     freeze TEXT
   ) STRICT;
   INSERT INTO gate VALUES (1, 0, NULL);
   CREATE TABLE host (
     id TEXT PRIMARY KEY,
     info TEXT NOT NULL,
     process TEXT NOT NULL,
     since INTEGER NOT NULL,
     beat INTEGER NOT NULL,
     seen INTEGER NOT NULL,
     has_left INTEGER NOT NULL,
     claimed_by TEXT
   ) STRICT;
   CREATE TABLE shown (
     host TEXT NOT NULL,
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     row TEXT NOT NULL,
     PRIMARY KEY (host, kind, id)
   ) STRICT;`,
]

/** Throws for a file that this version must not touch. Contract: changes nothing. */
export function refuseForeignFile(database: DatabaseSync, file: string, migrations = MIGRATIONS): void {
  const { application, version, blank } = identify(database)
  if (application !== APPLICATION_ID && !blank) {
    throw storeError(
      'foreign',
      `${file} is a database of another program and was not changed. Use another path for the store.`,
      { data: { file } },
    )
  }
  if (version > migrations.length) {
    throw storeError(
      'newer',
      `The store ${file} has version ${version}, but this host supports versions up to ${migrations.length}. `
        + 'It was not changed. Update the host, or use another path for the store.',
      { data: { file, version, known: migrations.length } },
    )
  }
}

/**
 * Each step has its own transaction, and reads the version again, because another host may migrate at the same time.
 */
export function migrate(database: DatabaseSync, migrations = MIGRATIONS): void {
  while (pragmaNumber(database, 'user_version') < migrations.length) {
    database.exec('BEGIN IMMEDIATE')
    try {
      const version = pragmaNumber(database, 'user_version')
      const step = migrations[version]
      if (step !== undefined) {
        database.exec(`${step}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version + 1}`)
      }
      database.exec('COMMIT')
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }
}

export function pragmaNumber(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0])
}

/** In one transaction, because another host may turn an empty file into a store in between. */
function identify(database: DatabaseSync) {
  database.exec('BEGIN')
  try {
    const application = pragmaNumber(database, 'application_id')
    const version = pragmaNumber(database, 'user_version')
    const empty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
    return { application, version, blank: empty && application === 0 && version === 0 }
  } finally {
    // After a disk error SQLite has already rolled back. Report that error, not this one.
    if (database.isTransaction) database.exec('COMMIT')
  }
}

/** Applies the settings of the connection. Only the journal mode is stored in the file. */
export function applySettings(database: DatabaseSync, file: string, maxBytes: number): void {
  const journal = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
  if (journal !== 'wal') {
    const message = `The store ${file} is on a disk that does not support a write-ahead log. Use a local disk.`
    throw storeError('location', message, { data: { file } })
  }
  // NORMAL: a commit does not wait for the disk. The acknowledgement does, without blocking the thread.
  database.exec(settingsFor(Math.floor(maxBytes / pragmaNumber(database, 'page_size')), 'NORMAL'))
}
