import { close, fdatasync, open } from 'node:fs'
import { promisify } from 'node:util'

// Descriptors: Node ends the process when a FileHandle is collected, as that of a store would be which somebody forgot to close.
const opened = promisify(open)
const synced = promisify(fdatasync)
const closed = promisify(close)

/**
 * Waits for the disk without keeping the thread: SQLite itself would, with each commit. The write-ahead log holds all that was
 * committed and is not in the database yet, and whoever moves it there syncs both (`synchronous = NORMAL`). Locks are on the
 * other files, so opening and closing this one drops none.
 */
export class LogSync {
  readonly #log: string
  #descriptor: Promise<number> | undefined

  constructor(file: string) {
    this.#log = `${file}-wal`
  }

  /** Resolves when everything committed so far would survive a loss of power. */
  async sync(): Promise<void> {
    this.#descriptor ??= opened(this.#log, 'r+')
    this.#descriptor.catch(() => {
      this.#descriptor = undefined
    })
    await synced(await this.#descriptor)
  }

  /** Contract: when no sync is under way. */
  async close(): Promise<void> {
    const descriptor = await this.#descriptor?.catch(() => undefined)
    this.#descriptor = undefined
    if (descriptor !== undefined) await closed(descriptor)
  }
}
