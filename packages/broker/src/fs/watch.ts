import type { FSWatcher } from 'node:fs'
import { watch as watchSystem } from 'node:fs'
import { lstat } from 'node:fs/promises'
import type { DirectoryEntry, FileChange } from '@bulkhead/contract'
import type { GlobMatch } from '@bulkhead/kit/glob'
import { BulkheadError } from '@bulkhead/contract'
import { ChangeQueue } from './change-queue.ts'
import { isMissing } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import type { HeldFolder } from './folder-handle.ts'
import { entriesOf, kindOf } from './list-folder.ts'
import type { Place } from './path-policy.ts'
import { joinNames } from './paths.ts'
import { shownPath } from './shown-path.ts'
import { isTemporaryName } from './write-file.ts'

export interface WatchLimits {
  /** Paths that changed and were not read yet, in one watch. → OutputTooLarge */
  readonly changes: number
  /** Names of files and folders that are remembered, in one watch. → OutputTooLarge */
  readonly names: number
  /** Folders in folders. → OutputTooLarge */
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
  /** Takes one of the places for folders. Throws when there is none; what it returns gives it back. */
  claim(): () => void
}

interface WatchedFolder {
  readonly real: string
  /** From where the watch starts. */
  readonly names: readonly string[]
  readonly known: Map<string, 'file' | 'directory'>
  stop(): void
}

/**
 * What becomes of a file, or of everything below a folder. The system only says where something happened; what is there
 * is looked at then, in the folder that was judged, and told only when the grant covers it.
 */
export class Watch {
  readonly #parts: WatchParts
  readonly #queue: ChangeQueue
  readonly #folders = new Map<string, WatchedFolder>()
  /** Names to look at, by folder. null: all of them. */
  readonly #touched = new Map<string, Set<string> | null>()
  #granted: (real: string) => GlobMatch = () => ({ covers: false, leads: false })
  /** As the tool wrote it. */
  #given = ''
  /** The one name that counts, when it is not a folder that is watched. */
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

  /** Once it has resolved everything is seen. Rejects with why it cannot be; to be closed all the same. */
  start(place: Place): Promise<void> {
    const starting = this.#begin(place)
    this.#starting = starting.catch(() => undefined)
    return starting
  }

  next(): Promise<readonly FileChange[]> {
    return this.#queue.next()
  }

  /** Idempotent. Resolves when it does nothing more. */
  async close(reason: BulkheadError): Promise<void> {
    this.#closed = true
    this.#queue.end(reason)
    for (const folder of this.#folders.values()) folder.stop()
    this.#folders.clear()
    await Promise.all([this.#starting, this.#work])
  }

  async #begin(place: Place): Promise<void> {
    const { scope } = this.#parts
    this.#given = place.given
    this.#granted = await scope.matcher()
    const found = await scope.look(place)
    if (found?.kind === 'folder') return this.#add(place.real, [], false)
    const { folder, name } = scope.parent(place)
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
      // Closed, or gone again.
      if (folder === undefined) return
      if (kind === 'other' || this.#ignores(name) || folder.known.has(name)) continue
      this.#remember(folder, name, kind)
      if (isNew) this.#tell(folder, name, 'created')
      if (kind === 'directory') await this.#addBelow(folder, name, isNew)
    }
  }

  /** A folder below that cannot be watched any more is not there any more: the one above it tells. */
  async #addBelow({ real, names }: WatchedFolder, name: string, isNew: boolean): Promise<void> {
    const path = joinNames(real, name)
    if (this.#only !== undefined || !this.#granted(path).leads) return
    await this.#add(path, [...names, name], isNew).catch((error: unknown) => {
      const { code } = error as { readonly code?: unknown }
      if (code !== 'NotFound' && code !== 'CapabilityDenied' && code !== 'ToolExecutionFailed') throw error
    })
  }

  #listen(held: HeldFolder, real: string, names: readonly string[]): void {
    if (this.#closed) return
    const giveBack = this.#parts.claim()
    let watcher: FSWatcher
    try {
      watcher = watchSystem(held.at('.'), { persistent: false })
    } catch (error) {
      giveBack()
      throw watchFault(error)
    }
    const stop = (): void => {
      watcher.close()
      giveBack()
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
    // More than it may remember of a folder is all of it.
    if (names && names.size > this.#parts.limits.changes) this.#touched.set(real, null)
    if (this.#isWorking) return
    this.#isWorking = true
    this.#work = this.#lookAtTouched()
  }

  /** One at a time; what is touched meanwhile comes after. */
  async #lookAtTouched(): Promise<void> {
    try {
      for (const [real, names] of this.#touched) {
        this.#touched.delete(real)
        const folder = this.#folders.get(real)
        if (folder !== undefined) await this.#lookAt(folder, names)
        this.#queue.flush()
      }
    } catch (error) {
      this.#queue.end(BulkheadError.from(error, 'ToolExecutionFailed'))
    } finally {
      this.#isWorking = false
    }
  }

  async #lookAt(folder: WatchedFolder, names: ReadonlySet<string> | null): Promise<void> {
    const place = { given: this.#given, real: folder.real, linked: false }
    const held = await this.#parts.scope.asFolder(place, async (at) => {
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

  async #compare(folder: WatchedFolder, name: string, kind: DirectoryEntry['kind'] | undefined, isNamed: boolean): Promise<void> {
    if (this.#folders.get(folder.real) !== folder) return
    const before = folder.known.get(name)
    if (before === kind) {
      if (kind === 'file' && isNamed) this.#tell(folder, name, 'changed')
      return
    }
    if (before !== undefined) this.#lose(folder, name)
    if (kind === undefined || kind === 'other') return
    this.#remember(folder, name, kind)
    this.#tell(folder, name, 'created')
    if (kind === 'directory') await this.#addBelow(folder, name, true)
  }

  #lose(folder: WatchedFolder, name: string): void {
    const below = this.#folders.get(joinNames(folder.real, name))
    if (below !== undefined) this.#forget(below)
    if (folder.known.delete(name)) this.#names--
    this.#tell(folder, name, 'removed')
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

  #tell({ real, names }: WatchedFolder, name: string, change: FileChange['change']): void {
    if (!this.#granted(joinNames(real, name)).covers) return
    this.#queue.add(this.#only === undefined ? shownPath(this.#given, [...names, name]) : this.#given, change)
  }
}

async function kindAt(folder: HeldFolder, name: string): Promise<DirectoryEntry['kind'] | undefined> {
  try {
    return kindOf(await lstat(folder.at(name)))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function watchFault(error: unknown): BulkheadError {
  const { code } = error as { readonly code?: unknown }
  const why = typeof code === 'string' ? ` (${code})` : ''
  const message = `The system watches no more folders for now${why}. Watch less, or try again later.`
  return new BulkheadError('ResourceBusy', message, { cause: error })
}

const tooLarge = (what: string): BulkheadError =>
  new BulkheadError('OutputTooLarge', `The folder has more than ${what} in it, more than one watch takes. Watch a part of it.`)
