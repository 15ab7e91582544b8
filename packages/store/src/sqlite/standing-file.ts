import { statSync } from 'node:fs'

// The thread of the audit loads this too: nothing else is imported here.

/** SQLITE_READONLY_DBMOVED: SQLite itself looks for this only where it keeps no log. */
export const MOVED = 1032

/**
 * The file that was opened. One that is removed or moved away can be written to as long as it is open, and nobody finds again what was
 * written: it must not be acknowledged.
 */
export class StandingFile {
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
