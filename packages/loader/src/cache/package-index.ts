import { join } from 'node:path'
import { sha512 } from '../model/digest.ts'
import type { FolderContents } from '../files/read-package.ts'
import { isSettled } from '../files/stamp.ts'
import type { Pace } from '../model/yielder.ts'
import { readIndexFile, writeIndexFile, type IndexContent } from './index-file.ts'
import { keepFolder, keepGiven, Remembered, stampNumbersOf, type Kept, type KnownDetails, type KnownExtension, type Row } from './cached-extension.ts'

/** So many are looked at before it is asked whether others want a turn. */
const AT_A_TIME = 16

/**
 * What is known of the extensions of one root from earlier starts, so that what has not changed need not be read again. What is
 * told by it was proven then, from bytes with the digests it has; the bytes themselves are read and compared when they are used.
 */
export class PackageIndex {
  readonly #file: string | null
  readonly #key: string
  readonly #entries: ReadonlyMap<string, Remembered>
  readonly #seen = new Map<string, Kept>()
  #changed = false

  private constructor(file: string | null, key: string) {
    this.#file = file
    this.#key = key
    const content = file === null ? undefined : readIndexFile(file, key)
    this.#entries = content === undefined ? new Map() : entriesOf(content)
  }

  /** Without a folder nothing is remembered. */
  static open(folder: string | null, key: string, root: string): PackageIndex {
    return new PackageIndex(folder === null ? null : join(folder, `${sha512(root).slice(0, 32)}.index`), key)
  }

  /** What is known of the package, if it has not changed since. Looks at every file and folder of it and opens none. */
  find(location: string): Remembered | undefined {
    const entry = this.#entries.get(location)
    return entry?.row.given === null && entry.isUnchanged() ? this.#tell(entry) : undefined
  }

  /** What is known of each that has not changed, by its location. All are looked at before any is gone into: that is quicker. */
  async findAll(found: readonly { readonly location: string }[], pace: Pace): Promise<ReadonlyMap<string, Remembered>> {
    const remembered = new Map<string, Remembered>()
    const findSome = (from: number): void => {
      for (const { location } of found.slice(from, from + AT_A_TIME)) {
        const entry = this.find(location)
        if (entry !== undefined) remembered.set(location, entry)
      }
    }
    for (let from = 0; from < found.length; from += AT_A_TIME) {
      findSome(from)
      await pace.breathe()
    }
    return remembered
  }

  findGiven(location: string, digest: string): Remembered | undefined {
    const entry = this.#entries.get(location)
    return entry?.row.given === digest ? this.#tell(entry) : undefined
  }

  /** `readAt` is when reading began. What changed just before may change again without showing it, and is not kept. */
  keep(location: string, contents: FolderContents, known: KnownExtension, details: KnownDetails, readAt: number): void {
    if (this.#file === null) return
    const { fileStamps, folderStamps } = contents
    if (![...fileStamps.values(), ...folderStamps.values()].every((stamp) => isSettled(stamp, readAt))) return
    this.#keep(keepFolder(location, contents, known, details))
  }

  keepGiven(location: string, digest: string, known: KnownExtension, details: KnownDetails): void {
    if (this.#file !== null) this.#keep(keepGiven(location, digest, known, details))
  }

  /** What was neither found nor kept is forgotten. */
  save(): void {
    if (this.#file === null || (!this.#changed && this.#seen.size === this.#entries.size)) return
    writeIndexFile(this.#file, this.#key, contentOf([...this.#seen.values()]))
    this.#changed = false
  }

  #keep(entry: Kept): void {
    this.#seen.set(entry.row.location, entry)
    this.#changed = true
  }

  #tell(entry: Remembered): Remembered {
    this.#seen.set(entry.row.location, entry)
    return entry
  }
}

function contentOf(entries: readonly Kept[]): IndexContent {
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

/** Nothing at all where the parts do not fit together. Contract: never throws. */
function entriesOf({ rows, stamps, texts }: IndexContent): ReadonlyMap<string, Remembered> {
  const entries = new Map<string, Remembered>()
  let stampAt = 0
  let textAt = 0
  try {
    for (const row of rows as readonly Row[]) {
      entries.set(row.location, new Remembered(row, stamps, stampAt, texts, textAt))
      stampAt += stampNumbersOf(row)
      textAt += row.textBytes
    }
  } catch {
    return new Map()
  }
  return stampAt === stamps.length && textAt === texts.length ? entries : new Map()
}
