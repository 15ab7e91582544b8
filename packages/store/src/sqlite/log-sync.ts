import { open, type FileHandle } from 'node:fs/promises'

/**
 * Waits for the disk without keeping the thread: SQLite itself would, with each commit. The write-ahead log holds all that was
 * committed and is not in the database yet, and whoever moves it there syncs both (`synchronous = NORMAL`). Locks are on the
 * other files, so opening and closing this one drops none.
 */
export class LogSync {
  readonly #log: string
  #handle: Promise<FileHandle> | undefined

  constructor(file: string) {
    this.#log = `${file}-wal`
  }

  /** Resolves when everything committed so far would survive a loss of power. */
  async sync(): Promise<void> {
    this.#handle ??= open(this.#log, 'r+')
    this.#handle.catch(() => {
      this.#handle = undefined
    })
    await (await this.#handle).datasync()
  }

  async close(): Promise<void> {
    const handle = await this.#handle?.catch(() => undefined)
    this.#handle = undefined
    await handle?.close()
  }
}
