import {
  closeSync, fsyncSync, lstatSync, mkdirSync, mkdtempSync, openSync, readdirSync, renameSync, rmSync, statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { BulkheadError, LOCK_FILE } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { LockError, withFileLock } from '@bulkhead/kit/file-lock'
import { makeFolder } from '@bulkhead/kit/folders'
import { packageDifferences } from '../files/integrity.ts'
import { readPackage, type PackageContents } from '../files/read-package.ts'
import {
  formatLock, INSTALLED_FOLDER, installedFolder, isInstalled, readLayerLock, type Lock, type LockChange,
} from '../lock/lock-file.ts'
import { sha512 } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import { Yielder } from '../model/yielder.ts'

/**
 * Writes the folder of a layer. A new package gets a new folder, and replacing the lock atomically installs it. A crash
 * before that leaves the old state, and one after it the new state. The next change removes left-overs.
 */
export class LayerFiles {
  readonly #root: string
  readonly #limits: LoaderLimits

  constructor(root: string, limits: LoaderLimits) {
    this.#root = root
    this.#limits = limits
  }

  /** Throws LockInvalid if it cannot be read. */
  lock(): Lock {
    const lock = readLayerLock(this.#root, this.#limits)
    if (lock.kind === 'unreadable') throw new BulkheadError('LockInvalid', lock.fault.message)
    return lock.kind === 'read' ? lock.entries : new Map()
  }

  /** Resolves with the digest of the new lock. Rejects with InstallBusy if another process installs for longer. */
  async apply(change: LockChange, waitMs = 10_000): Promise<string> {
    const installed = join(this.#root, INSTALLED_FOLDER)
    refuseLinks(this.#root, installed)
    try {
      makeFolder(installed)
      return await withFileLock(join(installed, '.busy'), () => this.#applyAlone(change, installed), { waitMs })
    } catch (error) {
      if (BulkheadError.is(error)) throw error
      const isBusy = error instanceof LockError && error.isBusy
      throw isBusy
        ? new BulkheadError('InstallBusy', `Another process is installing below ${installed}.`, { cause: error })
        : new BulkheadError('InstallFailed', `${installed} cannot be changed: ${messageOf(error)}`, { cause: error })
    }
  }

  async #applyAlone({ id, before, after, contents }: LockChange, installed: string): Promise<string> {
    const lock = this.lock()
    if (JSON.stringify(lock.get(id) ?? null) !== JSON.stringify(before)) {
      throw new BulkheadError('InstallBusy', `The accepted version of "${id}" has changed meanwhile. Review it again.`)
    }
    try {
      this.#sweep(installed, lock)
      if (after !== null && contents !== undefined) {
        await this.#place(installedFolder(this.#root, id, after.root), contents)
      }
      const entries = new Map(lock)
      if (after === null) entries.delete(id)
      else entries.set(id, after)
      const text = formatLock(entries)
      writeAtomically(join(this.#root, LOCK_FILE), text)
      return sha512(text)
    } catch (error) {
      if (BulkheadError.is(error)) throw error
      throw new BulkheadError(
        'InstallFailed', `${this.#root} could not be written: ${messageOf(error)}`, { cause: error },
      )
    }
  }

  /** Removes folders that the lock does not name: replaced versions and interrupted installations. */
  #sweep(installed: string, lock: Lock): void {
    const named = new Set([...lock].filter(([, entry]) => isInstalled(entry))
      .map(([id, entry]) => basename(installedFolder(this.#root, id, entry.root))))
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
      if (!await this.#holds(staging, contents)) {
        throw new BulkheadError('InstallFailed', `${parent} does not contain the files that were written.`)
      }
      // The name contains the digest, so an existing folder with other content is damaged.
      if (statSync(folder, { throwIfNoEntry: false }) !== undefined) {
        renameSync(folder, join(parent, `.damaged-${crypto.randomUUID()}`))
      }
      renameSync(staging, folder)
    } catch (error) {
      // Free the space again, since the disk may be full.
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

/** A link would redirect deletions and writes. The root may be a link, because the operator chose it. */
function refuseLinks(root: string, installed: string): void {
  for (const path of [installed, join(installed, '.busy')]) {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat !== undefined && !(path === installed ? stat.isDirectory() : stat.isFile())) {
      throw new BulkheadError(
        'PackageUnsafe', `${path} is a link or of the wrong type, so nothing was written below ${root}.`,
      )
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

/** Replaces a file atomically: readers find the old or the new content, also after a crash. */
function writeAtomically(path: string, text: string): void {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`
  try {
    writeDurably(temporary, Buffer.from(text))
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(path))
}

/** Creates a file and syncs it. Does not follow links or replace files. */
function writeDurably(path: string, bytes: Uint8Array): void {
  const descriptor = openSync(path, 'wx', 0o644)
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Syncs the entries of a folder. Some systems cannot open folders. */
function syncFolder(path: string): void {
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch {
    return
  }
  try {
    fsyncSync(descriptor)
  } catch {
    // Some file systems do not support this for folders.
  } finally {
    closeSync(descriptor)
  }
}
