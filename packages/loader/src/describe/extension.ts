import {
  BulkheadError, type ConnectedExtension, type ConnectedServer, type ExtensionCode, type ExtensionDescriptor,
  type ExtensionDigests, type ExtensionModule, type ExtensionSigner, type IntegrityStatus, type Layer, type Manifest,
  type ResolvedConfig,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { ExtensionCandidate } from '../discover/extension-folders.ts'
import {
  compareIntegrity, coveredFiles, differenceInWords, INTEGRITY_FILE, isCovered, packageDifferences, SIGNATURE_FILE,
  type PackageDifference,
} from '../files/integrity.ts'
import { readPackage, type PackageContents } from '../files/read-package.ts'
import type { LayerLocks } from '../lock/lock-file.ts'
import { bundledDigest, capabilityDigest, packageDigest, powersDigest, toolDigests } from '../model/digest.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { Fault } from '../model/result.ts'
import { Yielder } from '../model/yielder.ts'
import type { SchemaChecker } from '../schema/schema-checker.ts'
import type { SchemaFault } from '../schema/schema-compiler.ts'
import type { PackageSignatures } from '../signature/package-signatures.ts'
import { unverified, type Verification } from '../signature/verification.ts'

/** What the files of a package prove, independent of any configuration. */
export interface PackageEvidence {
  /** Digests of all files. Holds no bytes, so it may be kept. */
  readonly fileDigests: () => ReadonlyMap<string, string>
  /** The digest of the whole package. */
  root(): string
  /** How the files differ from the integrity file of the package; undefined without one. */
  integrity(): readonly Fault[] | undefined
  /** What the signature of the package proves; undefined without one. Contract: never rejects. */
  signature(signatures: PackageSignatures): Promise<Verification<ExtensionSigner>> | undefined
}

export function evidenceOf({ digests, bytes }: PackageContents): PackageEvidence {
  const integrityFile = bytes.get(INTEGRITY_FILE)
  const bundle = bytes.get(SIGNATURE_FILE)
  return {
    fileDigests: constant(digests),
    root: () => packageDigest(coveredFiles(digests)),
    integrity: () => integrityFile === undefined ? undefined : compareIntegrity(integrityFile, coveredFiles(digests)),
    signature(signatures) {
      if (bundle === undefined) return undefined
      if (integrityFile !== undefined) return signatures.verify(bundle, integrityFile)
      return Promise.resolve(unverified('subject', `exists without ${INTEGRITY_FILE}`))
    },
  }
}

/** Where the code of an extension comes from. */
export type Origin =
  | { readonly kind: 'files'; readonly evidence: PackageEvidence }
  | { readonly kind: 'module'; readonly module: ExtensionModule; readonly connection?: Connection }

/** Set for a module that forwards calls to a server. */
export type Connection = Pick<ConnectedExtension, 'server' | 'identity' | 'definitions'>

/** The file that holds a manifest: its own, or a member of package.json. */
export interface ManifestPlace {
  readonly file: string
  /** JSON Pointer in the file. */
  readonly pointer: string
}

// The states of an extension on its way through the stages. Each stage takes one and returns the same or the next.

/** The manifest is parsed JSON. */
export interface Written extends ExtensionCandidate {
  readonly origin: Origin
  readonly manifestAt: ManifestPlace
  readonly json: Json
}

/** The manifest satisfies its schema. */
export interface Shaped extends ExtensionCandidate {
  readonly origin: Origin
  readonly manifestAt: ManifestPlace
  readonly manifest: Manifest
}

/** The schemas of the manifest compile. */
export interface Compiled extends Omit<Shaped, 'manifest'> {
  readonly outline: Outline
  readonly info: ManifestInfo
  /** The fault of an empty configuration, or null. */
  readonly emptyConfigFault: SchemaFault | null
}

/** Integrity and signature are checked. */
export interface Checked extends Compiled {
  readonly integrity: IntegrityStatus
  /** Set when `integrity` is `signed`. */
  readonly signer?: ExtensionSigner
}

/** What the stages check an extension against. */
export interface ProofContext {
  readonly coreVersion: string
  /** The package is only read, so it may be for other versions of the host. */
  readonly anyCore?: boolean
  readonly config: ResolvedConfig
  readonly limits: LoaderLimits
  readonly schemas: SchemaChecker
  readonly signatures: PackageSignatures
  readonly locks: LayerLocks
  readonly yielder: Yielder
}

/**
 * The part of a manifest that is needed to compare an extension with others. Available before the manifest is parsed.
 */
export interface Outline {
  readonly id: string
  readonly version: string
  /** Tool names in the order of the manifest. */
  readonly tools: readonly string[]
  readonly dependsOn: readonly string[]
  readonly keepsState: boolean
}

export const outlineOf = ({ id, version, tools, dependsOn, stateSlot }: Manifest): Outline =>
  ({ id, version, tools: tools.map(({ name }) => name), dependsOn, keepsState: stateSlot !== null })

/** The manifest and its digests, frozen. Cached ones are parsed on first use. */
export interface ManifestInfo {
  manifest(): Manifest
  digests(): ExtensionDigests
}

export function manifestInfo({ manifest, origin }: Shaped, coreVersion: string): ManifestInfo {
  const connection = origin.kind === 'module' ? origin.connection : undefined
  const digests = Object.freeze({
    package: connection?.identity
      ?? (origin.kind === 'module' ? bundledDigest(manifest, coreVersion) : origin.evidence.root()),
    // A server may add a tool without a new approval for the others.
    capability: connection ? powersDigest(manifest) : capabilityDigest(manifest),
    tools: connection?.definitions ?? toolDigests(manifest),
  })
  return { manifest: constant(manifest), digests: constant(digests) }
}

/** Captures only the value. A closure created next to the contents of a package would keep its bytes alive. */
export const constant = <T>(value: T) => (): T => value

/** The descriptor of an extension that passed all stages. Its code is read again when it is needed. */
export function describe(checked: Checked, limits: LoaderLimits): ExtensionDescriptor {
  const { outline: { id }, location, origin } = checked
  const server = origin.kind === 'module' ? origin.connection?.server : undefined
  const code: ExtensionCode = origin.kind === 'module'
    ? { kind: 'module', module: origin.module } : filesOf(id, location, origin.evidence.fileDigests, limits)
  return new Descriptor(checked, Object.freeze(code), server)
}

/**
 * `manifest` and `digests` are computed on first use, and still own enumerable members, so the object can be copied as
 * plain data.
 */
class Descriptor implements ExtensionDescriptor {
  static readonly #MANIFEST = { get(this: Descriptor) { return this.#info.manifest() }, enumerable: true }
  static readonly #DIGESTS = { get(this: Descriptor) { return this.#info.digests() }, enumerable: true }

  readonly id: string
  readonly version: string
  readonly layer: Layer
  readonly location: string
  declare readonly manifest: Manifest
  declare readonly digests: ExtensionDigests
  readonly integrity: IntegrityStatus
  declare readonly signer?: ExtensionSigner
  readonly code: ExtensionCode
  declare readonly server?: ConnectedServer
  readonly #info: ManifestInfo

  constructor(
    { outline: { id, version }, layer, location, info, integrity, signer }: Checked, code: ExtensionCode,
    server: ConnectedServer | undefined,
  ) {
    this.id = id
    this.version = version
    this.layer = layer
    this.location = location
    Object.defineProperty(this, 'manifest', Descriptor.#MANIFEST)
    Object.defineProperty(this, 'digests', Descriptor.#DIGESTS)
    this.integrity = integrity
    if (signer !== undefined) this.signer = signer
    this.code = code
    if (server !== undefined) this.server = server
    this.#info = info
    Object.freeze(this)
  }
}

/** A separate function, so that the closure captures the digests and not the bytes of the package. */
const filesOf = (
  id: string, location: string, digests: () => ReadonlyMap<string, string>, limits: LoaderLimits,
): ExtensionCode =>
  ({
    kind: 'files',
    readFiles: () => readVerifiedFiles(id, location, coveredFiles(digests()), limits, isCovered),
    readPackage: () => readVerifiedFiles(id, location, coveredFiles(digests()), limits, () => true),
  })

/**
 * Reads a proven package again when its code is needed, so its bytes need not stay in memory. Returns only bytes with
 * the proven digests. Rejects with IntegrityFailed, which names the first file that differs.
 */
async function readVerifiedFiles(
  id: string, folder: string, proven: ReadonlyMap<string, string>, limits: LoaderLimits,
  keep: (path: string) => boolean,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const read = await readPackage(folder, limits, new Yielder(), keep)
  if (!read.ok) throw changed(id, read.faults[0]!.message, [])
  const differences = packageDifferences(proven, coveredFiles(read.value.digests))
  const [first, ...others] = differences
  if (first !== undefined) {
    const rest = others.length === 0 ? '' : `, and ${others.length} more differ`
    throw changed(id, `${differenceInWords(first)}${rest}.`, differences.slice(0, 100))
  }
  return read.value.bytes
}

function changed(id: string, what: string, differences: readonly PackageDifference[]): BulkheadError {
  const message = `The extension "${id}" has changed since it was loaded: ${what} Load again to accept the change.`
  return new BulkheadError('IntegrityFailed', message, {
    data: { extension: id, differences: differences.map(({ path, change }) => ({ path, change })) },
  })
}
