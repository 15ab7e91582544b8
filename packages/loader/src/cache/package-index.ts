import { join } from 'node:path'
import { sha512 } from '../model/digest.ts'
import type { FolderContents } from '../files/read-package.ts'
import { isSettled } from '../files/read-file.ts'
import type { Yielder } from '../model/yielder.ts'
import { readIndexFile, writeIndexFile, type IndexContent } from './index-file.ts'
import {
  folderEntry, bundledEntry, CachedExtension, stampNumbersOf, type CacheEntry, type CachedDetails, type CachedSummary,
  type Row,
} from './cached-extension.ts'

/** How many packages are checked before the event loop may run. */
const BATCH = 16

/**
 * Results of earlier starts for the extensions of one root, so that unchanged packages need not be read again. The code
 * of a package is still read and compared with its digests when it is used.
 */
export class PackageIndex {
  readonly #file: string | null
  readonly #key: string
  readonly #entries: ReadonlyMap<string, CachedExtension>
  readonly #seen = new Map<string, CacheEntry>()
  #changed = false

  private constructor(file: string | null, key: string) {
    this.#file = file
    this.#key = key
    const content = file === null ? undefined : readIndexFile(file, key)
    this.#entries = content === undefined ? new Map() : entriesOf(content)
  }

  /** Without a folder, nothing is cached. */
  static open(folder: string | null, key: string, root: string): PackageIndex {
    return new PackageIndex(folder === null ? null : join(folder, `${sha512(root).slice(0, 32)}.index`), key)
  }

  /** The entry of a package that has not changed. Checks the stamps of its files and folders, and opens none. */
  find(location: string): CachedExtension | undefined {
    const entry = this.#entries.get(location)
    return entry?.row.given === null && entry.isUnchanged() ? this.#markSeen(entry) : undefined
  }

  /** The entries of all packages that have not changed, by location. */
  async findAll(
    found: readonly { readonly location: string }[], yielder: Yielder,
  ): Promise<ReadonlyMap<string, CachedExtension>> {
    const cached = new Map<string, CachedExtension>()
    const findSome = (from: number): void => {
      for (const { location } of found.slice(from, from + BATCH)) {
        const entry = this.find(location)
        if (entry !== undefined) cached.set(location, entry)
      }
    }
    for (let from = 0; from < found.length; from += BATCH) {
      findSome(from)
      await yielder.yieldIfDue()
    }
    return cached
  }

  findBundled(location: string, digest: string): CachedExtension | undefined {
    const entry = this.#entries.get(location)
    return entry?.row.given === digest ? this.#markSeen(entry) : undefined
  }

  /**
   * `readAt` is when reading began. A file that changed just before may change again with the same stamp, so it is not
   * cached.
   */
  keep(location: string, contents: FolderContents, known: CachedSummary, details: CachedDetails, readAt: number): void {
    if (this.#file === null) return
    const { fileStamps, folderStamps } = contents
    if (![...fileStamps.values(), ...folderStamps.values()].every((stamp) => isSettled(stamp, readAt))) return
    this.#keep(folderEntry(location, contents, known, details))
  }

  keepBundled(location: string, digest: string, known: CachedSummary, details: CachedDetails): void {
    if (this.#file !== null) this.#keep(bundledEntry(location, digest, known, details))
  }

  /** Drops entries that were neither found nor added. */
  save(): void {
    if (this.#file === null || (!this.#changed && this.#seen.size === this.#entries.size)) return
    writeIndexFile(this.#file, this.#key, contentOf([...this.#seen.values()]))
    this.#changed = false
  }

  #keep(entry: CacheEntry): void {
    this.#seen.set(entry.row.location, entry)
    this.#changed = true
  }

  #markSeen(entry: CachedExtension): CachedExtension {
    this.#seen.set(entry.row.location, entry)
    return entry
  }
}

function contentOf(entries: readonly CacheEntry[]): IndexContent {
  const rows = entries.map(({ row }) => row)
  const stamps = new Float64Array(rows.reduce((sum, row) => sum + stampNumbersOf(row), 0))
  const texts = Buffer.allocUnsafe(rows.reduce((sum, { textBytes }) => sum + textBytes, 0))
  let stampAt = 0
  let textAt = 0
  for (const entry of entries) {
    stamps.set(entry.stamps, stampAt)
    if (typeof entry.text === 'string') texts.write(entry.text, textAt)
    else texts.set(entry.text, textAt)
    stampAt += stampNumbersOf(entry.row)
    textAt += entry.row.textBytes
  }
  return { rows, stamps, texts }
}

/** Empty when the parts do not match. Contract: never throws. */
function entriesOf({ rows, stamps, texts }: IndexContent): ReadonlyMap<string, CachedExtension> {
  const entries = new Map<string, CachedExtension>()
  let stampAt = 0
  let textAt = 0
  try {
    for (const row of rows as readonly Row[]) {
      entries.set(row.location, new CachedExtension(row, stamps, stampAt, texts, textAt))
      stampAt += stampNumbersOf(row)
      textAt += row.textBytes
    }
  } catch {
    return new Map()
  }
  return stampAt === stamps.length && textAt === texts.length ? entries : new Map()
}
