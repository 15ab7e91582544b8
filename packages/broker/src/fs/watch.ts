import type { FSWatcher } from 'node:fs'
import { watch as watchSystem } from 'node:fs'
import { lstat } from 'node:fs/promises'
import type { DirectoryEntry, FileChange } from '@bulkhead/contract'
import type { GlobMatch } from '@bulkhead/kit/glob'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { ChangeQueue } from './change-queue.ts'
import { isMissing } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import type { FolderHandle } from './disk.ts'
import { entriesOf, kindOf } from './read-file.ts'
import type { ResolvedPath } from './path-policy.ts'
import { joinNames, shownPath } from './paths.ts'
import { isTemporaryName } from './write-file.ts'

export interface WatchLimits {
  /** Unread changed paths of one watch. → OutputTooLarge */
  readonly changes: number
  /** Known files and folders of one watch. → OutputTooLarge */
  readonly names: number
  /** Depth of folders. → OutputTooLarge */
  readonly depth: number
  /** Watches of one call. → ResourceBusy */
  readonly watches: number
  /** Folders watched by one compartment. → ResourceBusy */
  readonly folders: number
}

export const WATCH_LIMITS: WatchLimits = { changes: 1_024, names: 50_000, depth: 64, watches: 8, folders: 1_024 }

export interface WatchParts {
  readonly scope: FileScope
  readonly limits: WatchLimits
  /** Takes a slot for a folder. Throws if none is free. Call the returned function to release it. */
  claim(): () => void
}

interface WatchedFolder {
  readonly real: string
  /** Relative to the start of the watch. */
  readonly names: readonly string[]
  readonly known: Map<string, 'file' | 'directory'>
  stop(): void
}

/**
 * Watches a file, or everything below a folder. The system only reports where something happened. The watch then
 * inspects the folder that was checked, and reports only what the grant covers.
 */
export class Watch {
  readonly #parts: WatchParts
  readonly #queue: ChangeQueue
  readonly #folders = new Map<string, WatchedFolder>()
  /** Names to inspect, by folder. null: all of them. */
  readonly #touched = new Map<string, Set<string> | null>()
  #granted: (real: string) => GlobMatch = () => ({ covers: false, leads: false })
  /** The path as the tool wrote it. */
  #given = ''
  /** Set if a single file is watched. */
  #only: string | undefined
  #names = 0
  #closed = false
  #starting: Promise<void> = Promise.resolve()
  #work: Promise<void> = Promise.resolve()
  #isWorking = false

  constructor(parts: WatchParts) {
    this.#parts = parts
    this.#queue = new ChangeQueue(parts.limits.changes)
  }

  /** Resolves when all changes are seen from then on. Close it even if this rejects. */
  start(resolved: ResolvedPath): Promise<void> {
    const starting = this.#begin(resolved)
    this.#starting = starting.catch(() => undefined)
    return starting
  }

  next(): Promise<readonly FileChange[]> {
    return this.#queue.next()
  }

  /** Idempotent. Resolves when all work has stopped. */
  async close(reason: BulkheadError): Promise<void> {
    this.#closed = true
    this.#queue.end(reason)
    for (const folder of this.#folders.values()) folder.stop()
    this.#folders.clear()
    await Promise.all([this.#starting, this.#work])
  }

  async #begin(resolved: ResolvedPath): Promise<void> {
    const { scope } = this.#parts
    this.#given = resolved.given
    this.#granted = await scope.matcher()
    const found = await scope.lstat(resolved)
    if (found?.kind === 'folder') return this.#add(resolved.real, [], false)
    const { folder, name } = scope.parent(resolved)
    this.#only = name
    return this.#add(folder, [], false)
  }

  async #add(real: string, names: readonly string[], isNew: boolean): Promise<void> {
    const { scope, limits } = this.#parts
    if (names.length > limits.depth) throw tooLarge(`folders ${limits.depth} deep`)
    const entries = await scope.asFolder({ given: this.#given, real, linked: false }, async (held) => {
      this.#listen(held, real, names)
      return entriesOf(held)
    })
    for (const { name, kind } of entries) {
      const folder = this.#folders.get(real)
      // Closed, or removed.
      if (folder === undefined) return
      if (kind === 'other' || this.#ignores(name) || folder.known.has(name)) continue
      this.#remember(folder, name, kind)
      if (isNew) this.#report(folder, name, 'created')
      if (kind === 'directory') await this.#addBelow(folder, name, isNew)
    }
  }

  /** If a subfolder cannot be watched, it was removed meanwhile, and the watch of its parent reports that. */
  async #addBelow({ real, names }: WatchedFolder, name: string, isNew: boolean): Promise<void> {
    const path = joinNames(real, name)
    if (this.#only !== undefined || !this.#granted(path).leads) return
    await this.#add(path, [...names, name], isNew).catch((error: unknown) => {
      const code = errorCode(error)
      if (code !== 'NotFound' && code !== 'CapabilityDenied' && code !== 'ToolExecutionFailed') throw error
    })
  }

  #listen(held: FolderHandle, real: string, names: readonly string[]): void {
    if (this.#closed) return
    const release = this.#parts.claim()
    let watcher: FSWatcher
    try {
      watcher = watchSystem(held.at('.'), { persistent: false })
    } catch (error) {
      release()
      throw watchError(error)
    }
    const stop = (): void => {
      watcher.close()
      release()
    }
    this.#folders.get(real)?.stop()
    this.#folders.set(real, { real, names, known: new Map(), stop })
    watcher.on('error', () => this.#touch(real, null))
    watcher.on('change', (_kind, name) => this.#touch(real, typeof name === 'string' && name !== '.' ? name : null))
  }

  #touch(real: string, name: string | null): void {
    if (this.#closed || !this.#folders.has(real) || (name !== null && this.#ignores(name))) return
    const names = this.#touched.get(real)
    if (name === null) this.#touched.set(real, null)
    else if (names === undefined) this.#touched.set(real, new Set([name]))
    else names?.add(name)
    // Beyond this limit inspect the whole folder.
    if (names && names.size > this.#parts.limits.changes) this.#touched.set(real, null)
    if (this.#isWorking) return
    this.#isWorking = true
    this.#work = this.#inspectTouched()
  }

  /** One run at a time. It also picks up names that are touched meanwhile. */
  async #inspectTouched(): Promise<void> {
    try {
      for (const [real, names] of this.#touched) {
        this.#touched.delete(real)
        const folder = this.#folders.get(real)
        if (folder !== undefined) await this.#inspect(folder, names)
        this.#queue.flush()
      }
    } catch (error) {
      this.#queue.end(BulkheadError.from(error, 'ToolExecutionFailed'))
    } finally {
      this.#isWorking = false
    }
  }

  async #inspect(folder: WatchedFolder, names: ReadonlySet<string> | null): Promise<void> {
    const resolved = { given: this.#given, real: folder.real, linked: false }
    const held = await this.#parts.scope.asFolder(resolved, async (at) => {
      const listed = names ?? [...(await entriesOf(at)).map(({ name }) => name), ...folder.known.keys()]
      const wanted = [...new Set(listed)].filter((name) => !this.#ignores(name))
      return Promise.all(wanted.map(async (name) => ({ name, kind: await kindAt(at, name) })))
    }).catch((error: unknown) => {
      if (!BulkheadError.is(error) || error.code === 'OutputTooLarge') throw error
      return undefined
    })
    if (held === undefined) return this.#forget(folder)
    for (const { name, kind } of held) await this.#compare(folder, name, kind, names !== null)
  }

  async #compare(
    folder: WatchedFolder, name: string, kind: DirectoryEntry['kind'] | undefined, isNamed: boolean,
  ): Promise<void> {
    if (this.#folders.get(folder.real) !== folder) return
    const before = folder.known.get(name)
    if (before === kind) {
      if (kind === 'file' && isNamed) this.#report(folder, name, 'changed')
      return
    }
    if (before !== undefined) this.#lose(folder, name)
    if (kind === undefined || kind === 'other') return
    this.#remember(folder, name, kind)
    this.#report(folder, name, 'created')
    if (kind === 'directory') await this.#addBelow(folder, name, true)
  }

  #lose(folder: WatchedFolder, name: string): void {
    const below = this.#folders.get(joinNames(folder.real, name))
    if (below !== undefined) this.#forget(below)
    if (folder.known.delete(name)) this.#names--
    this.#report(folder, name, 'removed')
  }

  #forget(folder: WatchedFolder): void {
    for (const name of [...folder.known.keys()]) this.#lose(folder, name)
    this.#folders.delete(folder.real)
    folder.stop()
  }

  #remember(folder: WatchedFolder, name: string, kind: 'file' | 'directory'): void {
    folder.known.set(name, kind)
    if (++this.#names > this.#parts.limits.names) throw tooLarge(`${this.#parts.limits.names} names`)
  }

  #ignores(name: string): boolean {
    return isTemporaryName(name) || (this.#only !== undefined && name !== this.#only)
  }

  #report({ real, names }: WatchedFolder, name: string, change: FileChange['change']): void {
    if (!this.#granted(joinNames(real, name)).covers) return
    this.#queue.add(this.#only === undefined ? shownPath(this.#given, [...names, name]) : this.#given, change)
  }
}

async function kindAt(folder: FolderHandle, name: string): Promise<DirectoryEntry['kind'] | undefined> {
  try {
    return kindOf(await lstat(folder.at(name)))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function watchError(error: unknown): BulkheadError {
  const code = errorCode(error)
  const why = code === undefined ? '' : ` (${code})`
  const message = `The system cannot watch more folders${why}. Watch less, or try again later.`
  return new BulkheadError('ResourceBusy', message, { cause: error })
}

const tooLarge = (what: string): BulkheadError =>
  new BulkheadError(
    'OutputTooLarge',
    `The folder contains more than ${what}, which is too much for one watch. Watch a part of it.`,
  )
