import type {
  ConnectedExtension, ExtensionDigests, ExtensionModule, ExtensionSigner, IntegrityStatus, Manifest,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Located } from '../discover/extension-folders.ts'
import { compareIntegrity, coveredFiles, INTEGRITY_FILE, SIGNATURE_FILE } from '../files/integrity.ts'
import type { PackageContents } from '../files/read-package.ts'
import { bundledDigest, capabilityDigest, packageDigest, powersDigest, toolDigests } from '../model/digest.ts'
import type { Fault } from '../model/result.ts'
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
export interface Written extends Located {
  readonly origin: Origin
  readonly manifestAt: ManifestPlace
  readonly json: Json
}

/** The manifest satisfies its schema. */
export interface Shaped extends Located {
  readonly origin: Origin
  readonly manifestAt: ManifestPlace
  readonly manifest: Manifest
}

/** The schemas of the manifest compile. */
export interface Compiled extends Omit<Shaped, 'manifest'> {
  readonly outline: Outline
  readonly info: ManifestInfo
  /** What is wrong with an empty configuration, or null. */
  readonly emptyConfigFault: SchemaFault | null
}

/** Integrity and signature are checked. */
export interface Checked extends Compiled {
  readonly integrity: IntegrityStatus
  /** Set when `integrity` is `signed`. */
  readonly signer?: ExtensionSigner
}

/** The part of a manifest that is needed to compare an extension with others. Available before the manifest is parsed. */
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
    package: connection?.identity ?? (origin.kind === 'module' ? bundledDigest(manifest, coreVersion) : origin.evidence.root()),
    // A server may add a tool without a new approval for the others.
    capability: connection ? powersDigest(manifest) : capabilityDigest(manifest),
    tools: connection?.definitions ?? toolDigests(manifest),
  })
  return { manifest: constant(manifest), digests: constant(digests) }
}

/** Captures only the value. A closure created next to the contents of a package would keep its bytes alive. */
export const constant = <T>(value: T) => (): T => value
