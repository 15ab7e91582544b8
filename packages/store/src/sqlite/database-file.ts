import { statSync } from 'node:fs'

// The audit thread loads this file. It imports only built-in modules, so that the thread starts quickly.

/** How long another process may lock the file before operations fail. */
export const LOCK_WAIT_MS = 5_000
/** The shorter timeout after the first one expired: a series of requests must not wait the full time for each. */
const SHORT_LOCK_WAIT_MS = 100

/** The lock timeout. After it expired once, operations fail sooner until the file is free again. */
export class LockWait {
  readonly #waitMs: number
  readonly #now: () => number
  #timedOutAt = -Infinity

  constructor(waitMs = LOCK_WAIT_MS, now = () => performance.now()) {
    this.#waitMs = waitMs
    this.#now = now
  }

  /** How long to wait for the file now. After a pause without requests the full timeout applies again. */
  get waitMs(): number {
    return this.#now() - this.#timedOutAt < this.#waitMs ? Math.min(SHORT_LOCK_WAIT_MS, this.#waitMs) : this.#waitMs
  }

  /** Call when the file was still locked after the timeout. */
  timedOut(): void {
    this.#timedOutAt = this.#now()
  }

  /** Call when the file was free. */
  end(): void {
    this.#timedOutAt = -Infinity
  }
}

/** SQLITE_READONLY_DBMOVED. With a write-ahead log, SQLite does not check for it. */
export const DATABASE_MOVED = 1032

/**
 * Identifies an opened file. A file that was removed or moved can still be written while it is open, but the data is
 * lost, so such a write must not be acknowledged.
 */
export class FileIdentity {
  readonly #path: string
  readonly #device: number
  readonly #number: number

  /** Contract: the file is open. */
  constructor(path: string) {
    this.#path = path
    const { dev, ino } = statSync(path)
    this.#device = dev
    this.#number = ino
  }

  isInPlace(): boolean {
    const found = statSync(this.#path, { throwIfNoEntry: false })
    return found?.ino === this.#number && found.dev === this.#device
  }

  /** Throws if another file, or none, is at the path. */
  check(): void {
    if (this.isInPlace()) return
    const error = new Error('another file, or none, is at its path')
    throw Object.assign(error, { errcode: DATABASE_MOVED, syscall: 'stat' })
  }
}

/** The log and its index. They stay the same files while a connection is open. */
export class LogIdentity {
  readonly #files: readonly FileIdentity[]

  /** Contract: the database is open, and was read. */
  constructor(file: string) {
    this.#files = [`${file}-wal`, `${file}-shm`].map((path) => new FileIdentity(path))
  }

  check(): void {
    for (const file of this.#files) file.check()
  }
}

/** The size of the log after a checkpoint. It grows beyond this only during a long read. */
const LOG_BYTES = 4 * 1024 ** 2

/** Settings that each connection needs. `synchronous`: with FULL, a commit waits for the disk. */
export const settingsFor = (maxPages: number, synchronous: 'NORMAL' | 'FULL'): string => `
  PRAGMA synchronous = ${synchronous};
  PRAGMA journal_size_limit = ${LOG_BYTES};
  PRAGMA trusted_schema = OFF;
  PRAGMA cell_size_check = ON;
  PRAGMA max_page_count = ${maxPages};
`
