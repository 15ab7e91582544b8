import { join } from 'node:path'
import type { ExtensionDigests, ExtensionSigner, Manifest } from '@bulkhead/contract'
import { sha512 } from '../digest.ts'
import type { ManifestPlace } from '../extension.ts'
import type { FolderContents } from '../files/read-package.ts'
import { hasStamp, isSettled } from '../files/stamp.ts'
import { deepFreeze } from '../freeze.ts'
import type { Fault } from '../result.ts'
import type { SchemaFault } from '../schema/schema-rules.ts'
import { readIndexFile, writeIndexFile } from './index-file.ts'

/** What was found out about an extension, apart from what any configuration says of it. */
export interface KnownExtension {
  readonly manifest: Manifest
  readonly manifestAt: ManifestPlace
  readonly carriesIntegrity: boolean
  readonly signer: ExtensionSigner | null
  readonly emptyConfigFault: SchemaFault | null
  readonly warnings: readonly Fault[]
  readonly digests: Omit<ExtensionDigests, 'tools'> & { readonly tools: readonly (readonly [string, string])[] }
}

/**
 * How it is told that an extension is still the same: by the stamps of its files, or by the digest of what a program gave.
 * Few and flat values, since a thousand of these are parsed at once.
 */
interface Entry {
  readonly files: readonly string[]
  /** Of the files, one after the other. */
  readonly digests: string
  readonly folders: readonly string[]
  /** Of the folders, then of the files, one after the other. */
  readonly stamps: readonly number[]
  readonly given: string | null
  readonly known: KnownExtension
}

const DIGEST_CHARS = 128
const STAMP_NUMBERS = 4

export interface Found {
  readonly known: KnownExtension
  /** Of every file of the package. Made when it is asked for. */
  readonly digests: () => ReadonlyMap<string, string>
}

/**
 * What is known of the extensions of one root from earlier starts, so that what has not changed need not be read again. What is
 * told by it was proven then, from bytes with the digests it has; the bytes themselves are read and compared when they are used.
 */
export class PackageIndex {
  readonly #file: string | null
  readonly #key: string
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #seen = new Map<string, Entry>()
  #changed = false

  private constructor(file: string | null, key: string) {
    this.#file = file
    this.#key = key
    const stored = file === null ? undefined : readIndexFile(file, key)
    this.#entries = new Map(stored as readonly (readonly [string, Entry])[] | undefined)
  }

  /** Without a folder nothing is remembered. */
  static open(folder: string | null, key: string, root: string): PackageIndex {
    return new PackageIndex(folder === null ? null : join(folder, `${sha512(root).slice(0, 32)}.json`), key)
  }

  /** What is known of the package, if it has not changed since. Looks at every file and folder of it and opens none. */
  find(location: string): Found | undefined {
    const entry = this.#entries.get(location)
    if (entry === undefined || entry.given !== null || !isUnchanged(location, entry)) return undefined
    return this.#tell(location, entry)
  }

  findGiven(location: string, digest: string): Found | undefined {
    const entry = this.#entries.get(location)
    return entry?.given === digest ? this.#tell(location, entry) : undefined
  }

  /** `readAt` is when reading began. What changed just before may change again without showing it, and is not kept. */
  keep(location: string, { digests, fileStamps, folderStamps }: FolderContents, known: KnownExtension, readAt: number): void {
    if (![...fileStamps.values(), ...folderStamps.values()].every((stamp) => isSettled(stamp, readAt))) return
    const files = [...digests.keys()]
    this.#keep(location, {
      files,
      digests: [...digests.values()].join(''),
      folders: [...folderStamps.keys()],
      stamps: [...folderStamps.values(), ...files.map((path) => fileStamps.get(path)!)].flat(),
      given: null,
      known,
    })
  }

  keepGiven(location: string, digest: string, known: KnownExtension): void {
    this.#keep(location, { files: [], digests: '', folders: [], stamps: [], given: digest, known })
  }

  /** What was neither found nor kept is forgotten. */
  save(): void {
    if (this.#file === null || (!this.#changed && this.#seen.size === this.#entries.size)) return
    writeIndexFile(this.#file, this.#key, [...this.#seen])
    this.#changed = false
  }

  #keep(location: string, entry: Entry): void {
    if (this.#file === null) return
    this.#seen.set(location, entry)
    this.#changed = true
  }

  #tell(location: string, entry: Entry): Found {
    this.#seen.set(location, entry)
    deepFreeze(entry.known.manifest)
    const { known, files, digests } = entry
    const digestOf = (at: number): string => digests.slice(at * DIGEST_CHARS, (at + 1) * DIGEST_CHARS)
    return { known, digests: () => new Map(files.map((path, at) => [path, digestOf(at)])) }
  }
}

function isUnchanged(location: string, { files, folders, stamps }: Entry): boolean {
  const at = (path: string): string => path === '' ? location : `${location}/${path}`
  return folders.every((path, index) => hasStamp(at(path), 'folder', stamps, index * STAMP_NUMBERS))
    && files.every((path, index) => hasStamp(at(path), 'file', stamps, (folders.length + index) * STAMP_NUMBERS))
}
