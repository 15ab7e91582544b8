import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Approvals, paused calls, state of a project and trust are bound to the path of the workspace, so it is the same
 * everywhere.
 */
export const ROOT = '/tmp/bulkhead-compat'
export const WORKSPACE = join(ROOT, 'workspace')
export const DECLINED = join(ROOT, 'declined')
export const ONCE = join(ROOT, 'once')
/** The global layer, with a store that was closed. */
export const HOME = join(ROOT, 'global')
/** A store whose host was killed: with its log, the mark of the end of the audit, and the notes of open calls. */
export const KILLED = join(ROOT, 'killed')
export const ARCHIVE = join(ROOT, 'archive.jsonl')
export const EXPORT = join(ROOT, 'export.jsonl')

export const storeIn = (folder: string): string => join(folder, 'bulkhead.db')

/** What a fixture says about itself. An anchor is POSITION:LINK. */
export interface Expected {
  readonly archiveAnchor: string
  readonly anchor: string
  readonly killedAnchor: string
  /** Ids of paused calls. */
  readonly paused: string
  readonly killedPaused: string
}

const FIXTURES = join(import.meta.dirname, 'fixtures')
export const fixture = (version: string): string => join(FIXTURES, version)

export const expectedOf = (version: string): Expected =>
  JSON.parse(readFileSync(join(fixture(version), 'expected.json'), 'utf8')) as Expected

/** Empties the place. git keeps no modes, and files that others may write are rejected. */
export function layOut(version: string): void {
  clear()
  cpSync(fixture(version), ROOT, { recursive: true })
  chmodSync(ROOT, 0o700)
  for (const entry of readdirSync(ROOT, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600)
  }
}

export function clear(): void {
  rmSync(ROOT, { recursive: true, force: true })
}

const LOCK = `${ROOT}.lock`
const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino

/** Keeps other test runs on this machine out. The system releases the lock of a process that ends. */
export async function claimPlace(): Promise<Disposable> {
  for (;;) {
    const before = inodeOf(LOCK)
    const database = new DatabaseSync(LOCK)
    // The one that had the lock removes the file: a lock on a removed file has no effect.
    if (isLocked(database) && inodeOf(LOCK) === before) return { [Symbol.dispose]: () => release(database) }
    database.close()
    await delay(100)
  }
}

function isLocked(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if ((error as { readonly errstr?: string }).errstr === 'database is locked') return false
    throw error
  }
}

function release(database: DatabaseSync): void {
  rmSync(LOCK, { force: true })
  database.close()
}
