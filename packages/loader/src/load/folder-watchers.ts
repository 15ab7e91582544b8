import { statSync, watch, type FSWatcher } from 'node:fs'
import { dirname } from 'node:path'

/** The polling interval where the system cannot watch a folder. */
const POLL_MS = 2_000

interface Watched {
  readonly watcher: FSWatcher
  readonly identity: string
}

/** Reports possible changes in a set of folders. Does not keep the process alive. Must be closed. */
export class FolderWatchers {
  readonly #onHint: () => void
  readonly #watched = new Map<string, Watched>()
  #poll: NodeJS.Timeout | undefined

  constructor(onHint: () => void) {
    this.#onHint = onHint
  }

  /**
   * Returns whether a folder was added, since earlier changes in it were missed. For a missing folder its nearest parent is watched.
   * The system watches an inode and not a path, so a replaced folder is added again.
   */
  follow(folders: ReadonlySet<string>): boolean {
    const wanted = new Map([...folders].map(nearestOf))
    for (const [folder, { identity }] of [...this.#watched]) if (wanted.get(folder) !== identity) this.#drop(folder)
    const added = [...wanted].filter(([folder]) => !this.#watched.has(folder))
    return added.filter(([folder, identity]) => this.#add(folder, identity)).length > 0
  }

  close(): void {
    for (const folder of [...this.#watched.keys()]) this.#drop(folder)
    clearInterval(this.#poll)
    this.#poll = undefined
  }

  #add(folder: string, identity: string): boolean {
    try {
      const watcher = watch(folder, { persistent: false }, this.#onHint)
      watcher.on('error', () => {
        this.#drop(folder)
        this.#onHint()
      })
      this.#watched.set(folder, { watcher, identity })
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true
      // Too many watches, or no right to read the folder.
      this.#poll ??= setInterval(this.#onHint, POLL_MS).unref()
      return false
    }
  }

  #drop(folder: string): void {
    this.#watched.get(folder)?.watcher.close()
    this.#watched.delete(folder)
  }
}

/** The folder or its nearest existing parent, with its identity. Inode numbers are reused, so the birth time is part of it. */
function nearestOf(folder: string): readonly [folder: string, identity: string] {
  try {
    const { dev, ino, birthtimeMs } = statSync(folder)
    return [folder, `${dev} ${ino} ${birthtimeMs}`]
  } catch {
    const above = dirname(folder)
    return above === folder ? [folder, ''] : nearestOf(above)
  }
}
