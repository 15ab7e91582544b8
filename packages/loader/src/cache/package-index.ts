import {
  closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { sha512 } from '../model/digest.ts'
import type { FolderContents } from '../files/read-package.ts'
import { findOwnershipFault, isSettled, readDescriptor } from '../files/read-file.ts'
import type { Yielder } from '../model/yielder.ts'
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

const MAX_BYTES = 256 * 1024 * 1024
/** Changes with the format of the entries. */
const FORMAT = 'bulkhead-index-2'

/** Three parts: each start needs the first two for all extensions, and the third for a few. */
export interface IndexContent {
  /** JSON. */
  readonly rows: unknown
  readonly stamps: Float64Array
  /** As stored. Parsed in pieces, on use. */
  readonly texts: Buffer
}

/**
 * The content written under the same key, or undefined. The first line holds the format, the key, the lengths of the
 * parts and a checksum. A file that is damaged, of another version, or writable by others is ignored. Contract: never
 * throws.
 */
export function readIndexFile(file: string, key: string): IndexContent | undefined {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      if (findOwnershipFault(fstatSync(descriptor)) !== undefined) return undefined
      const read = readDescriptor(descriptor, MAX_BYTES)
      return read.ok ? partsOf(Buffer.from(read.bytes.buffer), key) : undefined
    } finally {
      closeSync(descriptor)
    }
  } catch {
    return undefined
  }
}

function partsOf(bytes: Buffer, key: string): IndexContent | undefined {
  const end = bytes.indexOf(0x0a) + 1
  const head = bytes.toString('latin1', 0, end)
  const [rows = NaN, stamps = NaN] = head.split(' ').slice(2).map(Number)
  const payload = bytes.subarray(end)
  if (head !== headOf(key, rows, stamps, payload)) return undefined
  return {
    rows: JSON.parse(payload.toString('utf8', 0, rows)),
    // Copied because a Float64Array needs an aligned buffer.
    stamps: new Float64Array(bytes.buffer.slice(end + rows, end + rows + stamps)),
    texts: payload.subarray(rows + stamps),
  }
}

/**
 * Writes atomically. Contract: never throws; without the file the next start is only slower. The draft has a fixed
 * name, so the next writer removes one that a killed process left. When two write at once, one may be lost.
 */
export function writeIndexFile(file: string, key: string, { rows, stamps, texts }: IndexContent): void {
  const draft = `${file}.tmp`
  try {
    const table = Buffer.from(JSON.stringify(rows))
    const payload = Buffer.concat([table, new Uint8Array(stamps.buffer), texts])
    const head = headOf(key, table.length, stamps.byteLength, payload)
    // Not recursive: reading must not create a missing home folder.
    if (!existsSync(dirname(file))) mkdirSync(dirname(file), { mode: 0o700 })
    rmSync(draft, { force: true })
    writeNew(draft, [head, payload])
    renameSync(draft, file)
  } catch {
    discard(draft)
  }
}

function writeNew(file: string, parts: readonly (string | Buffer)[]): void {
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    for (const part of parts) writeFileSync(descriptor, part)
  } finally {
    closeSync(descriptor)
  }
}

function discard(draft: string): void {
  try {
    rmSync(draft, { force: true })
  } catch {
    // Nothing was written.
  }
}

const headOf = (key: string, rows: number, stamps: number, payload: Uint8Array): string =>
  `${FORMAT} ${key} ${rows} ${stamps} ${payload.length} ${crc32(payload)}\n`
