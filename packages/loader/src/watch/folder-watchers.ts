import { watch, type FSWatcher } from 'node:fs'

/** Where the system cannot tell of changes, they are looked for this often. */
const POLL_MS = 2_000

/** Tells that something may have changed in a set of folders. It keeps no process alive, and must be closed. */
export class FolderWatchers {
  readonly #onStir: () => void
  readonly #watchers = new Map<string, FSWatcher>()
  #poll: NodeJS.Timeout | undefined

  constructor(onStir: () => void) {
    this.#onStir = onStir
  }

  /** Whether a folder was added: what happened in it before that went unnoticed. */
  follow(folders: ReadonlySet<string>): boolean {
    for (const folder of [...this.#watchers.keys()]) if (!folders.has(folder)) this.#drop(folder)
    const added = [...folders].filter((folder) => !this.#watchers.has(folder))
    for (const folder of added) this.#add(folder)
    return added.length > 0
  }

  close(): void {
    for (const folder of [...this.#watchers.keys()]) this.#drop(folder)
    clearInterval(this.#poll)
    this.#poll = undefined
  }

  #add(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, this.#onStir)
      watcher.on('error', () => {
        this.#drop(folder)
        this.#onStir()
      })
      this.#watchers.set(folder, watcher)
    } catch (error) {
      // A folder that is gone shows in the one above. Anything else means that there are too many to watch.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#poll ??= setInterval(this.#onStir, POLL_MS).unref()
    }
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }
}
