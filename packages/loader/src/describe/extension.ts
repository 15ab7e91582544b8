import type {
  ConnectedExtension, ExtensionDigests, ExtensionModule, ExtensionSigner, IntegrityStatus, Manifest,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { Located } from '../discover/extension-folders.ts'
import { compareIntegrity, coveredFiles, INTEGRITY_FILE, SIGNATURE_FILE } from '../files/integrity.ts'
import type { PackageContents } from '../files/read-package.ts'
import { bundledDigest, capabilityDigest, packageDigest, powersDigest, toolDigests } from '../model/digest.ts'
import type { Eventually, Fault } from '../model/result.ts'
import type { SchemaFault } from '../schema/schema-compiler.ts'
import type { PackageSignatures } from '../signature/package-signatures.ts'
import { unverified, type Verification } from '../signature/verification.ts'

/** What a package says for itself, whatever any configuration asks of it. */
export interface PackageEvidence {
  /** Of every file. Holds no bytes: it is what is kept of a package. */
  readonly fileDigests: () => ReadonlyMap<string, string>
  /** Of the package as a whole. */
  root(): string
  /** Where the files differ from the integrity file it carries; undefined where it carries none. */
  integrity(): readonly Fault[] | undefined
  /** What the signature it carries proves; undefined where it carries none. Contract: never rejects. */
  signature(signatures: PackageSignatures): Eventually<Verification<ExtensionSigner>> | undefined
}

/** As the bytes show it. */
export function evidenceOf({ digests, bytes }: PackageContents): PackageEvidence {
  const integrityFile = bytes.get(INTEGRITY_FILE)
  const bundle = bytes.get(SIGNATURE_FILE)
  return {
    fileDigests: always(digests),
    root: () => packageDigest(coveredFiles(digests)),
    integrity: () => integrityFile === undefined ? undefined : compareIntegrity(integrityFile, coveredFiles(digests)),
    signature(signatures) {
      if (bundle === undefined) return undefined
      if (integrityFile !== undefined) return signatures.verify(bundle, integrityFile)
      return unverified('subject', `is there and ${INTEGRITY_FILE} is not`)
    },
  }
}

/** What of a manifest is needed to see an extension beside the others. At hand where the rest of it is not. */
export interface Outline {
  readonly id: string
  readonly version: string
  /** The names of its tools, in their order. */
  readonly tools: readonly string[]
  readonly dependsOn: readonly string[]
  readonly keepsState: boolean
}

export const outlineOf = ({ id, version, tools, dependsOn, stateSlot }: Manifest): Outline =>
  ({ id, version, tools: tools.map(({ name }) => name), dependsOn, keepsState: stateSlot !== null })

/** Where the code of an extension comes from. */
export type Origin =
  | { readonly kind: 'files'; readonly evidence: PackageEvidence }
  | { readonly kind: 'module'; readonly module: ExtensionModule; readonly connection?: Connection }

/** Of a module that carries calls to a server. */
export type Connection = Pick<ConnectedExtension, 'server' | 'identity' | 'definitions'>

/** Where a manifest is written: a file of its own, or a member of one that says other things too. */
export interface ManifestPlace {
  readonly file: string
  /** JSON Pointer inside the file. */
  readonly pointer: string
}

/** Its manifest has been read as data, and may say anything. */
export interface Written extends Located {
  readonly origin: Origin
  readonly manifestAt: ManifestPlace
  readonly json: Json
}

/** The manifest is of the declared form. */
export interface Shaped extends Located {
  readonly origin: Origin
  readonly manifestAt: ManifestPlace
  readonly manifest: Manifest
}

/** Its schemas compile. */
export interface Compiled extends Omit<Shaped, 'manifest'> {
  readonly outline: Outline
  readonly told: Told
  /** What is wrong with a configuration that says nothing, or null. */
  readonly emptyConfigFault: SchemaFault | null
}

/** Somebody has said what the bytes should be, or nobody has. */
export interface Vouched extends Compiled {
  readonly integrity: IntegrityStatus
  /** Set when the status is signed. */
  readonly signer?: ExtensionSigner
}


/** What an extension says of itself, and the digests of it, frozen. What is remembered is parsed when it is asked for. */
export interface Told {
  manifest(): Manifest
  digests(): ExtensionDigests
}

export function tell({ manifest, origin }: Shaped, coreVersion: string): Told {
  const connection = origin.kind === 'module' ? origin.connection : undefined
  const digests = Object.freeze({
    package: connection?.identity ?? (origin.kind === 'module' ? bundledDigest(manifest, coreVersion) : origin.evidence.root()),
    // A server may offer one tool more without another being asked about again.
    capability: connection ? powersDigest(manifest) : capabilityDigest(manifest),
    tools: connection?.definitions ?? toolDigests(manifest),
  })
  return { manifest: always(manifest), digests: always(digests) }
}

/** Holds nothing but the value. A function made where a package is at hand would hold its bytes as well. */
export const always = <T>(value: T) => (): T => value
