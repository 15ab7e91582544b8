import type { ExtensionDigests, ExtensionSigner, Manifest } from '@bulkhead/contract'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import type {
  Compiled, ManifestPlace, Origin, Outline, PackageEvidence, ManifestInfo, Checked, Written,
} from '../describe/extension.ts'
import type { ExtensionCandidate } from '../discover/extension-folders.ts'
import { INTEGRITY_FILE, SIGNATURE_FILE } from '../files/integrity.ts'
import type { FolderContents } from '../files/read-package.ts'
import { hasStamp, type Stamp } from '../files/read-file.ts'
import { pass, type Fault, type Passed } from '../model/result.ts'
import type { SchemaFault } from '../schema/schema-compiler.ts'
import { verified, type Verification } from '../signature/verification.ts'

/** The part of an extension that each start needs, independent of any configuration. */
export interface CachedSummary {
  readonly outline: Outline
  readonly manifestAt: ManifestPlace
  readonly carriesIntegrity: boolean
  readonly signer: ExtensionSigner | null
  readonly emptyConfigFault: SchemaFault | null
  readonly warnings: readonly Fault[]
  /** The digest of the whole package. */
  readonly root: string
}

/** The rest, parsed on first use. */
export interface CachedDetails {
  readonly manifest: Manifest
  readonly capability: string
  readonly tools: readonly (readonly [string, string])[]
}

interface Details extends CachedDetails {
  /** The digests of the files, concatenated. */
  readonly files: string
}

/**
 * How a change is detected: by the stamps of the files, or by the digest of a bundled manifest in `given`.
 * Few and flat values, because a thousand rows are parsed at once.
 */
export interface Row extends CachedSummary {
  readonly location: string
  readonly given: string | null
  readonly folders: readonly string[]
  readonly files: readonly string[]
  /** The length of the serialized details. */
  readonly textBytes: number
}

/** One extension as the index file stores it. */
export interface CacheEntry {
  readonly row: Row
  /** Stamps of the folders, then of the files, concatenated. */
  readonly stamps: ArrayLike<number>
  readonly text: string | Uint8Array
}

const DIGEST_CHARS = 128
const STAMP_NUMBERS = 4

/** An extension as it was when it was proven. */
export class CachedExtension implements ManifestInfo, PackageEvidence, CacheEntry {
  readonly row: Row
  readonly #stamps: Float64Array
  readonly #firstStamp: number
  readonly #text: Buffer
  readonly #textAt: number
  #details: Details | undefined
  #digests: ExtensionDigests | undefined

  /** `stamps` and `text` are shared by all rows of a file; the offsets select this one. */
  constructor(row: Row, stamps: Float64Array, firstStamp: number, text: Buffer, textAt: number) {
    this.row = row
    this.#stamps = stamps
    this.#firstStamp = firstStamp
    this.#text = text
    this.#textAt = textAt
  }

  get stamps(): Float64Array {
    return this.#stamps.subarray(this.#firstStamp, this.#firstStamp + stampNumbersOf(this.row))
  }

  get text(): Uint8Array {
    return this.#text.subarray(this.#textAt, this.#textAt + this.row.textBytes)
  }

  manifest(): Manifest {
    return this.#read().manifest
  }

  digests(): ExtensionDigests {
    const { capability, tools } = this.#read()
    this.#digests ??= Object.freeze({ package: this.row.root, capability, tools: new Map(tools) })
    return this.#digests
  }

  readonly fileDigests = (): ReadonlyMap<string, string> => {
    const { files } = this.#read()
    return new Map(this.row.files.map((path, at) => [path, files.slice(at * DIGEST_CHARS, (at + 1) * DIGEST_CHARS)]))
  }

  root(): string {
    return this.row.root
  }

  integrity(): readonly Fault[] | undefined {
    return this.row.carriesIntegrity ? [] : undefined
  }

  signature(): Promise<Verification<ExtensionSigner>> | undefined {
    return this.row.signer === null ? undefined : Promise.resolve(verified(this.row.signer))
  }

  /** Checks the stamp of each file and folder. Opens none. */
  isUnchanged(): boolean {
    const { location, folders, files } = this.row
    let stamp = this.#firstStamp
    for (const path of folders) {
      if (!hasStamp(path === '' ? location : `${location}/${path}`, 'folder', this.#stamps, stamp)) return false
      stamp += STAMP_NUMBERS
    }
    for (const path of files) {
      if (!hasStamp(`${location}/${path}`, 'file', this.#stamps, stamp)) return false
      stamp += STAMP_NUMBERS
    }
    return true
  }

  #read(): Details {
    if (this.#details === undefined) {
      const details = JSON.parse(
        this.#text.toString('utf8', this.#textAt, this.#textAt + this.row.textBytes),
      ) as Details
      deepFreeze(details.manifest)
      this.#details = details
    }
    return this.#details
  }
}

export const stampNumbersOf = ({ folders, files }: Row): number => (folders.length + files.length) * STAMP_NUMBERS

export function folderEntry(
  location: string, contents: FolderContents, known: CachedSummary, details: CachedDetails,
): CacheEntry {
  const { digests, fileStamps, folderStamps } = contents
  const files = [...digests.keys()]
  const stamps = [...folderStamps.values(), ...files.map((path) => fileStamps.get(path)!)]
  const at = { location, given: null, folders: [...folderStamps.keys()], files }
  return write({ ...known, ...at }, stamps, { ...details, files: [...digests.values()].join('') })
}

export const bundledEntry = (
  location: string, given: string, known: CachedSummary, details: CachedDetails,
): CacheEntry =>
  write({ ...known, location, given, folders: [], files: [] }, [], { ...details, files: '' })

function write(row: Omit<Row, 'textBytes'>, stamps: readonly Stamp[], details: Details): CacheEntry {
  const text = JSON.stringify(details)
  return { row: { ...row, textBytes: Buffer.byteLength(text) }, stamps: stamps.flat(), text }
}

/** The state after the schemas were compiled. */
export function folderFromCache(candidate: ExtensionCandidate, cached: CachedExtension): Passed<Compiled> {
  return restore(candidate, { kind: 'files', evidence: cached }, cached)
}

export const bundledFromCache = (written: Written, cached: CachedExtension): Passed<Compiled> =>
  restore(written, written.origin, cached)

function restore(
  { layer, location, part }: ExtensionCandidate, origin: Origin, cached: CachedExtension,
): Passed<Compiled> {
  const { outline, manifestAt, emptyConfigFault, warnings } = cached.row
  return pass({ layer, location, part, origin, manifestAt, outline, info: cached, emptyConfigFault }, warnings)
}

export const summaryOf = (
  { outline, manifestAt, origin, signer, emptyConfigFault }: Checked, { package: root }: ExtensionDigests,
  warnings: readonly Fault[],
): CachedSummary => ({
  outline, manifestAt, emptyConfigFault, warnings, root,
  carriesIntegrity: carries(origin, INTEGRITY_FILE),
  // Only a signature in the package counts. A signer from the lock is not cached.
  signer: carries(origin, SIGNATURE_FILE) ? signer ?? null : null,
})

export const detailsOf = ({ info }: Checked, { capability, tools }: ExtensionDigests): CachedDetails =>
  ({ manifest: info.manifest(), capability, tools: [...tools] })

const carries = (origin: Origin, file: string): boolean =>
  origin.kind === 'files' && origin.evidence.fileDigests().has(file)
