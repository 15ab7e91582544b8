import { statSync } from 'node:fs'

// The thread of the audit loads this too: nothing else is imported here.

/** How long another process may hold the file before that is an error. */
export const LOCK_WAIT_MS = 5_000
/** The shorter timeout after the first one expired: a series of requests must not wait the full time for each. */
const SHORT_LOCK_WAIT_MS = 100

/** Whether another process keeps the file. It was waited for once; from then on, until it lets go, what is asked is refused soon. */
export class LockWait {
  readonly #waitMs: number
  readonly #now: () => number
  #ranOutAt = -Infinity

  constructor(waitMs = LOCK_WAIT_MS, now = () => performance.now()) {
    this.#waitMs = waitMs
    this.#now = now
  }

  /** How long to wait for the file now. After a pause without requests the full timeout applies again. */
  get waitMs(): number {
    return this.#now() - this.#ranOutAt < this.#waitMs ? Math.min(SHORT_LOCK_WAIT_MS, this.#waitMs) : this.#waitMs
  }

  /** It was waited for in vain. */
  timedOut(): void {
    this.#ranOutAt = this.#now()
  }

  /** It could be had. */
  end(): void {
    this.#ranOutAt = -Infinity
  }
}

// The thread of the audit loads this too: nothing else is imported here.

/** SQLITE_READONLY_DBMOVED: SQLite itself looks for this only where it keeps no log. */
export const MOVED = 1032

/**
 * Identifies the opened file. A file that was removed or moved can still be written while it is open, but the data is lost, so
 * such a write must not be acknowledged.
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

  /** Throws where it does not stand in its place any more. */
  check(): void {
    const found = statSync(this.#path, { throwIfNoEntry: false })
    if (found?.ino === this.#number && found.dev === this.#device) return
    throw Object.assign(new Error('another stands there, or none'), { errcode: MOVED, syscall: 'stat' })
  }
}

/** What the log shrinks to after it has been written back; it grows beyond this only while a long read goes on. */
const LOG_BYTES = 4 * 1024 ** 2

/** Settings of a connection, made each time. `synchronous`: FULL where a commit itself waits for the disk. */
export const settingsFor = (maxPages: number, synchronous: 'NORMAL' | 'FULL'): string => `
  PRAGMA synchronous = ${synchronous};
  PRAGMA journal_size_limit = ${LOG_BYTES};
  PRAGMA trusted_schema = OFF;
  PRAGMA cell_size_check = ON;
  PRAGMA max_page_count = ${maxPages};
`
