import { randomUUID } from 'node:crypto'
import { closeSync, constants, copyFileSync, fstatSync, openSync, readSync, writeSync, type Stats } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RECORD_LIMITS } from '@bulkhead/contract'
import { reaper } from '../../process/reaper.ts'
import { KEPT_BYTES } from '../change-record.ts'
import { HAS_DESCRIPTORS, READ } from '../disk.ts'
import { isSliceSpent, nextSlice } from '../search/file-pattern.ts'
import { COPIES, newJournalPath } from '../update-journal.ts'
import { tooLarge } from './limits.ts'
import { withSameFile } from './same-file.ts'

/** Shorter files are copied: to clone one takes longer. */
const CLONED_BYTES = 1024 ** 2
const CHUNK_BYTES = 1024 ** 2

type Copy = { readonly at: number; readonly size: number } | { readonly file: string }

/**
 * The content of files in a private folder: one file with all that are short, and clones of the others where the file
 * system can. One file, because to create and remove thousands takes ten times as long as to copy them. The folder goes
 * with `remove`, with the process, or when the next host with the same home recovers the journal.
 */
export class Copies {
  readonly #folder: string
  readonly #release: () => void
  readonly #pack: number
  readonly #copies = new Map<string, Copy>()
  readonly #chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  #length = 0
  #buffered = 0
  #canClone: boolean | undefined

  private constructor(folder: string) {
    this.#folder = folder
    this.#release = reaper.hold('folder', folder)
    this.#pack = openSync(join(folder, 'pack'), 'wx+', 0o600)
  }

  /** In the journal of the home. Absent: in a temporary folder. */
  static async open(journal: string | undefined): Promise<Copies> {
    if (journal === undefined) return new Copies(await mkdtemp(join(tmpdir(), 'bulkhead-snapshot-')))
    const folder = newJournalPath(journal) + COPIES
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return new Copies(folder)
  }

  /** Whether the file system can clone a file of that length here, so that it needs no space. */
  canClone(path: string, found: Stats): boolean {
    if (found.size < CLONED_BYTES) return false
    this.#canClone ??= withSameFile(path, found, (descriptor) => this.#clone(path, descriptor) !== undefined) ?? false
    return this.#canClone
  }

  /** Copies a file, unless it is not the one that was found any more. Rejects with NotRecorded beyond the limit. */
  async add(path: string, found: Stats): Promise<void> {
    if (isSliceSpent()) await nextSlice()
    const cloned = this.canClone(path, found)
      ? withSameFile(path, found, (descriptor) => this.#clone(path, descriptor)) : undefined
    const copy = cloned ?? withSameFile(path, found, (descriptor) => this.#append(descriptor))
    if (copy !== undefined) this.#copies.set(path, copy)
  }

  /** undefined if it was not copied. */
  content(path: string): Buffer | undefined {
    const copy = this.#copies.get(path)
    if (copy === undefined) return undefined
    if ('at' in copy) {
      this.#flush()
      return readBytes(this.#pack, copy.at, copy.size)
    }
    const descriptor = openSync(copy.file, READ)
    try {
      return readBytes(descriptor, 0, fstatSync(descriptor).size)
    } finally {
      closeSync(descriptor)
    }
  }

  async remove(): Promise<void> {
    closeSync(this.#pack)
    await rm(this.#folder, { recursive: true, force: true })
    this.#release()
  }

  #clone(path: string, descriptor: number): Copy | undefined {
    const file = join(this.#folder, randomUUID())
    try {
      const source = HAS_DESCRIPTORS ? `/proc/self/fd/${descriptor}` : path
      copyFileSync(source, file, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL)
      return { file }
    } catch {
      return undefined
    }
  }

  /** undefined if it has become too long to be kept. */
  #append(descriptor: number): Copy | undefined {
    const at = this.#length
    for (;;) {
      if (this.#buffered === CHUNK_BYTES) this.#flush()
      const count = readSync(descriptor, this.#chunk, this.#buffered, CHUNK_BYTES - this.#buffered, null)
      this.#buffered += count
      this.#length += count
      const size = this.#length - at
      // Files may have grown since they were counted.
      if (this.#length > RECORD_LIMITS.bytes) throw tooLarge()
      if (count === 0) return { at, size }
      if (size > KEPT_BYTES) return undefined
    }
  }

  #flush(): void {
    for (let written = 0; written < this.#buffered;) {
      written += writeSync(this.#pack, this.#chunk, written, this.#buffered - written)
    }
    this.#buffered = 0
  }
}

function readBytes(descriptor: number, at: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  let filled = 0
  while (filled < size) {
    const count = readSync(descriptor, bytes, filled, size - filled, at + filled)
    if (count === 0) throw new Error('A copy is shorter than it was.')
    filled += count
  }
  return bytes
}
