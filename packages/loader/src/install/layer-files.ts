import { lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { BulkheadError, LOCK_FILE, type LockEntry } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { packageDifferences } from '../files/integrity.ts'
import { readPackage, type PackageContents } from '../files/read-package.ts'
import { INSTALLED_FOLDER, installedFolder, isInstalled, readLayerLock } from '../lock/layer-lock.ts'
import { formatLock, type Lock } from '../lock/lock-file.ts'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { Yielder } from '../model/yielder.ts'
import { claimExclusively, syncFolder, writeAtomically, writeDurably } from './durable-files.ts'

export interface Change {
  readonly id: string
  /** What the change was decided upon; another one meanwhile and it is void. */
  readonly before: LockEntry | null
  /** null takes it away. */
  readonly after: LockEntry | null
  /** What goes with `after`; absent where it stands in its place already. */
  readonly contents?: PackageContents
}

/**
 * The folder of a layer as it is written. A new package gets a folder that nothing names yet; replacing the lock, which the
 * system does at once or not at all, is the moment at which it is installed. Ended anywhere before, the layer is what it was;
 * anywhere after, it is what it will be. What is left over is removed with the next change.
 */
export class LayerFiles {
  readonly #root: string
  readonly #limits: LoaderLimits

  constructor(root: string, limits: LoaderLimits) {
    this.#root = root
    this.#limits = limits
  }

  /** Throws LockInvalid where it cannot be read: nobody may build on what is not known. */
  lock(): Lock {
    const lock = readLayerLock(this.#root, this.#limits)
    if (lock.kind === 'unreadable') throw new BulkheadError('LockInvalid', lock.fault.message)
    return lock.kind === 'read' ? lock.entries : new Map()
  }

  /** Resolves with the digest of the lock that was written. */
  async apply(change: Change): Promise<string> {
    const installed = join(this.#root, INSTALLED_FOLDER)
    refuseLinks(this.#root, installed)
    const release = claimExclusively(join(installed, '.busy'))
    try {
      return await this.#applyAlone(change, installed)
    } finally {
      release()
    }
  }

  async #applyAlone({ id, before, after, contents }: Change, installed: string): Promise<string> {
    const lock = this.lock()
    if (JSON.stringify(lock.get(id) ?? null) !== JSON.stringify(before)) {
      throw new BulkheadError('InstallBusy', `What was accepted of "${id}" has changed meanwhile. Look at it again.`)
    }
    try {
      this.#sweep(installed, lock)
      if (after !== null && contents !== undefined) await this.#place(installedFolder(this.#root, id, after.root), contents)
      const entries = new Map(lock)
      if (after === null) entries.delete(id)
      else entries.set(id, after)
      const text = formatLock(entries)
      writeAtomically(join(this.#root, LOCK_FILE), text)
      return sha512(text)
    } catch (error) {
      if (BulkheadError.is(error)) throw error
      throw new BulkheadError('InstallFailed', `${this.#root} could not be written: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Whatever the lock does not name: what was replaced before, and what was interrupted. */
  #sweep(installed: string, lock: Lock): void {
    const named = new Set([...lock].filter(([, entry]) => isInstalled(entry)).map(([id, entry]) => basename(installedFolder(this.#root, id, entry.root))))
    for (const name of readdirSync(installed)) {
      if (!named.has(name) && !name.startsWith('.busy')) rmSync(join(installed, name), { recursive: true, force: true })
    }
    for (const name of readdirSync(this.#root)) {
      if (name.startsWith(`${LOCK_FILE}.`) && name.endsWith('.tmp')) rmSync(join(this.#root, name), { force: true })
    }
  }

  async #place(folder: string, contents: PackageContents): Promise<void> {
    if (await this.#holds(folder, contents)) return
    const parent = dirname(folder)
    const staging = mkdtempSync(join(parent, '.new-'))
    try {
      writeFiles(staging, contents)
      if (!await this.#holds(staging, contents)) throw new BulkheadError('InstallFailed', `${parent} does not hold what was written there.`)
      // What stands there has the name of these bytes and is something else: it is damaged, and nobody loads it.
      if (statSync(folder, { throwIfNoEntry: false }) !== undefined) renameSync(folder, join(parent, `.damaged-${crypto.randomUUID()}`))
      renameSync(staging, folder)
    } catch (error) {
      // A disk that ran full must not stay full of what nobody has.
      rmSync(staging, { recursive: true, force: true })
      throw error
    }
    syncFolder(parent)
  }

  async #holds(folder: string, contents: PackageContents): Promise<boolean> {
    const read = await readPackage(folder, this.#limits, new Yielder(), () => false)
    return read.ok && packageDifferences(contents.digests, read.value.digests).length === 0
  }
}

/** A link would have others' files swept and written. The root itself may be one: whoever runs the host chose it. */
function refuseLinks(root: string, installed: string): void {
  for (const path of [installed, join(installed, '.busy')]) {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat !== undefined && !(path === installed ? stat.isDirectory() : stat.isFile())) {
      throw new BulkheadError('PackageUnsafe', `${path} is a link or something else than it should be; nothing was written below ${root}.`)
    }
  }
}

function writeFiles(folder: string, { bytes }: PackageContents): void {
  const folders = new Set<string>([folder])
  for (const [path, content] of bytes) {
    const parent = dirname(join(folder, path))
    mkdirSync(parent, { recursive: true })
    for (let above = parent; !folders.has(above); above = dirname(above)) folders.add(above)
    writeDurably(join(folder, path), content)
  }
  for (const written of folders) syncFolder(written)
}
