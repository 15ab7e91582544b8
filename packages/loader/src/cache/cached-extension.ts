import type { ExtensionDigests, ExtensionSigner, Manifest } from '@bulkhead/contract'
import type {
  Compiled, ManifestPlace, Origin, Outline, PackageEvidence, Told, Vouched, Written,
} from '../describe/extension.ts'
import type { Located } from '../discover/extension-folders.ts'
import { INTEGRITY_FILE, SIGNATURE_FILE } from '../files/integrity.ts'
import type { FolderContents } from '../files/read-package.ts'
import { hasStamp, type Stamp } from '../files/stamp.ts'
import { deepFreeze } from '../model/plain-data.ts'
import { pass, type Fault, type Passed } from '../model/result.ts'
import type { SchemaFault } from '../schema/schema-compiler.ts'
import { verified, type Verification } from '../signature/verification.ts'

/** What every start needs to know of an extension, apart from what any configuration says of it. */
export interface KnownExtension {
  readonly outline: Outline
  readonly manifestAt: ManifestPlace
  readonly carriesIntegrity: boolean
  readonly signer: ExtensionSigner | null
  readonly emptyConfigFault: SchemaFault | null
  readonly warnings: readonly Fault[]
  /** The digest over the whole package. */
  readonly root: string
}

/** The rest, which is not parsed before somebody asks. */
export interface KnownDetails {
  readonly manifest: Manifest
  readonly capability: string
  readonly tools: readonly (readonly [string, string])[]
}

interface Details extends KnownDetails {
  /** The digests of the files, one after the other. */
  readonly files: string
}

/**
 * How it is told that an extension is still the same: by the stamps of its files, or by the digest of what a program gave.
 * Few and flat values, since a thousand of these are parsed at once.
 */
export interface Row extends KnownExtension {
  readonly location: string
  readonly given: string | null
  readonly folders: readonly string[]
  readonly files: readonly string[]
  /** How long its details are, as they are written. */
  readonly textBytes: number
}

/** One extension as it is written down. */
export interface Kept {
  readonly row: Row
  /** Of the folders, then of the files, one after the other. */
  readonly stamps: ArrayLike<number>
  readonly text: string | Uint8Array
}

const DIGEST_CHARS = 128
const STAMP_NUMBERS = 4

/** One extension as it was when it was proven. */
export class Remembered implements Told, PackageEvidence, Kept {
  readonly row: Row
  readonly #stamps: Float64Array
  readonly #firstStamp: number
  readonly #text: Buffer
  readonly #textAt: number
  #details: Details | undefined
  #digests: ExtensionDigests | undefined

  /** `stamps` and `text` may be those of many: its own begin where it is said. */
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

  signature(): Verification<ExtensionSigner> | undefined {
    return this.row.signer === null ? undefined : verified(this.row.signer)
  }

  /** Looks at every file and folder, and opens none. */
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
      const details = JSON.parse(this.#text.toString('utf8', this.#textAt, this.#textAt + this.row.textBytes)) as Details
      deepFreeze(details.manifest)
      this.#details = details
    }
    return this.#details
  }
}

export const stampNumbersOf = ({ folders, files }: Row): number => (folders.length + files.length) * STAMP_NUMBERS

export function keepFolder(location: string, contents: FolderContents, known: KnownExtension, details: KnownDetails): Kept {
  const { digests, fileStamps, folderStamps } = contents
  const files = [...digests.keys()]
  const stamps = [...folderStamps.values(), ...files.map((path) => fileStamps.get(path)!)]
  const at = { location, given: null, folders: [...folderStamps.keys()], files }
  return write({ ...known, ...at }, stamps, { ...details, files: [...digests.values()].join('') })
}

export const keepGiven = (location: string, given: string, known: KnownExtension, details: KnownDetails): Kept =>
  write({ ...known, location, given, folders: [], files: [] }, [], { ...details, files: '' })

function write(row: Omit<Row, 'textBytes'>, stamps: readonly Stamp[], details: Details): Kept {
  const text = JSON.stringify(details)
  return { row: { ...row, textBytes: Buffer.byteLength(text) }, stamps: stamps.flat(), text }
}

/** An extension as it stood when its schemas had been compiled, from what is known of it. */
export function recall(located: Located, remembered: Remembered): Passed<Compiled> {
  return revive(located, { kind: 'files', evidence: remembered }, remembered)
}

export const recallGiven = (written: Written, remembered: Remembered): Passed<Compiled> => revive(written, written.origin, remembered)

function revive({ layer, location, part }: Located, origin: Origin, remembered: Remembered): Passed<Compiled> {
  const { outline, manifestAt, emptyConfigFault, warnings } = remembered.row
  return pass({ layer, location, part, origin, manifestAt, outline, told: remembered, emptyConfigFault }, warnings)
}

export const knownOf = (
  { outline, manifestAt, origin, signer, emptyConfigFault }: Vouched, { package: root }: ExtensionDigests, warnings: readonly Fault[],
): KnownExtension => ({
  outline, manifestAt, emptyConfigFault, warnings, root,
  carriesIntegrity: carries(origin, INTEGRITY_FILE),
  // Somebody else may vouch for it too, by a lock; that is not the package's own word.
  signer: carries(origin, SIGNATURE_FILE) ? signer ?? null : null,
})

export const detailsOf = ({ told }: Vouched, { capability, tools }: ExtensionDigests): KnownDetails =>
  ({ manifest: told.manifest(), capability, tools: [...tools] })

const carries = (origin: Origin, file: string): boolean => origin.kind === 'files' && origin.evidence.fileDigests().has(file)
