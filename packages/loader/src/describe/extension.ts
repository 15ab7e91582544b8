import type { ConnectedExtension, ExtensionModule, ExtensionSigner, IntegrityStatus, Layer, Manifest, ResolvedConfig } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { PackageEvidence } from '../evidence.ts'
import type { LoaderLimits } from '../model/limits.ts'
import type { LayerLocks } from '../lock/layer-lock.ts'
import type { Outline } from '../outline.ts'
import type { Pace } from '../model/yielder.ts'
import type { SchemaFault, SchemaJudge } from '../schema/schema-judge.ts'
import type { PackageSignatures } from '../signature/package-signatures.ts'
import type { Told } from '../told.ts'

/** A folder that may hold an extension. Nothing of it has been opened. */
export interface Located {
  readonly layer: Layer
  readonly location: string
  /** What it is called inside its layer, such as tools/weather. */
  readonly part: string
  /** Set where it is known before anything is read. */
  readonly id?: string
}

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

/** What the stages measure an extension by. */
export interface Terms {
  readonly coreVersion: string
  readonly config: ResolvedConfig
  readonly limits: LoaderLimits
  readonly schemas: SchemaJudge
  readonly signatures: PackageSignatures
  readonly locks: LayerLocks
  readonly pace: Pace
}
