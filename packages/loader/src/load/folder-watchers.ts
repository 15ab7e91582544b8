import { statSync, watch, type FSWatcher } from 'node:fs'
import { dirname } from 'node:path'

/** Where the system cannot tell of changes, they are looked for this often. */
const POLL_MS = 2_000

interface Watched {
  readonly watcher: FSWatcher
  readonly identity: string
}

/** Tells that something may have changed in a set of folders. It keeps no process alive, and must be closed. */
export class FolderWatchers {
  readonly #onStir: () => void
  readonly #watched = new Map<string, Watched>()
  #poll: NodeJS.Timeout | undefined

  constructor(onStir: () => void) {
    this.#onStir = onStir
  }

  /**
   * Whether a folder was added: what happened in it before that went unnoticed. One that is not there shows in the nearest above that
   * is. The system watches a folder and not its name, so one that stands in the place of another is added anew.
   */
  follow(folders: ReadonlySet<string>): boolean {
    const standing = new Map([...folders].map(nearestOf))
    for (const [folder, { identity }] of [...this.#watched]) if (standing.get(folder) !== identity) this.#drop(folder)
    const added = [...standing].filter(([folder]) => !this.#watched.has(folder))
    return added.filter(([folder, identity]) => this.#add(folder, identity)).length > 0
  }

  close(): void {
    for (const folder of [...this.#watched.keys()]) this.#drop(folder)
    clearInterval(this.#poll)
    this.#poll = undefined
  }

  #add(folder: string, identity: string): boolean {
    try {
      const watcher = watch(folder, { persistent: false }, this.#onStir)
      watcher.on('error', () => {
        this.#drop(folder)
        this.#onStir()
      })
      this.#watched.set(folder, { watcher, identity })
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true
      // There are too many to watch, or it may not be read.
      this.#poll ??= setInterval(this.#onStir, POLL_MS).unref()
      return false
    }
  }

  #drop(folder: string): void {
    this.#watched.get(folder)?.watcher.close()
    this.#watched.delete(folder)
  }
}

/** The folder, or the nearest above it that is there, and which one it is: numbers are used again, the time it was made is not. */
function nearestOf(folder: string): readonly [folder: string, identity: string] {
  try {
    const { dev, ino, birthtimeMs } = statSync(folder)
    return [folder, `${dev} ${ino} ${birthtimeMs}`]
  } catch {
    const above = dirname(folder)
    return above === folder ? [folder, ''] : nearestOf(above)
  }
}
