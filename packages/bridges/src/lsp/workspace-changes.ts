import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** As the protocol counts them. */
const CREATED = 1
const CHANGED = 2
const DELETED = 3

export interface FileEvent {
  readonly path: string
  readonly type: typeof CREATED | typeof CHANGED | typeof DELETED
}

/** Folders whose content is not source code. */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '.git', '.hg', '.svn', '__pycache__', '.venv'])
const MOST_FILES = 20_000

/**
 * Finds the files that changed between two looks, by time and size. Servers rely on their client for this: tools write
 * files while no editor tells the server.
 */
export class WorkspaceChanges {
  readonly #folder: string
  #known: ReadonlyMap<string, string> | undefined
  #looking: Promise<readonly FileEvent[]> = Promise.resolve([])

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Looks one after another. The first look finds nothing. */
  look(signal: AbortSignal): Promise<readonly FileEvent[]> {
    this.#looking = this.#looking.catch(() => undefined).then(() => this.#compare(signal))
    return this.#looking
  }

  async #compare(signal: AbortSignal): Promise<readonly FileEvent[]> {
    const before = this.#known
    const now = await stampsIn(this.#folder, signal)
    this.#known = now
    if (before === undefined) return []
    const found = [...now].flatMap(([path, stamp]): readonly FileEvent[] => {
      const earlier = before.get(path)
      if (earlier === stamp) return []
      return [{ path, type: earlier === undefined ? CREATED : CHANGED }]
    })
    const gone = [...before.keys()].filter((path) => !now.has(path))
    return [...found, ...gone.map((path): FileEvent => ({ path, type: DELETED }))]
  }
}

/** By absolute path. Links are not followed. */
async function stampsIn(folder: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const stamps = new Map<string, string>()
  const folders = [folder]
  for (const place of folders) {
    signal.throwIfAborted()
    const entries = await readdir(place, { withFileTypes: true }).catch(() => [])
    const files = entries.filter((entry) => entry.isFile()).slice(0, MOST_FILES - stamps.size)
    await Promise.all(files.map(async ({ name }) => {
      const path = join(place, name)
      const found = await stat(path).catch(() => undefined)
      if (found) stamps.set(path, `${found.mtimeMs} ${found.size}`)
    }))
    if (stamps.size >= MOST_FILES || folders.length >= MOST_FILES) break
    folders.push(...entries.filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name))
      .map(({ name }) => join(place, name)))
  }
  return stamps
}
