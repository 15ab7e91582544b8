import type {
  ExtensionModule, ExtensionSigner, IntegrityStatus, Json, Layer, Manifest, ResolvedConfig,
} from '@bulkhead/contract'
import type { PackageContents } from './files/read-package.ts'
import type { LoaderLimits } from './limits.ts'
import type { LayerLocks } from './lock/layer-lock.ts'
import type { Pace } from './pace.ts'
import type { SchemaCompiler } from './schema/schema-compiler.ts'
import type { SchemaFault } from './schema/schema-rules.ts'
import type { PackageSignatures } from './signature/package-signatures.ts'

/** A folder that may hold an extension. Nothing of it has been opened. */
export interface Located {
  readonly layer: Layer
  readonly location: string
  /** Set where it is known before anything is read. */
  readonly id?: string
}

/** Where the code of an extension comes from. */
export type Origin =
  | { readonly kind: 'files'; readonly contents: PackageContents }
  | { readonly kind: 'module'; readonly module: ExtensionModule }

/** Its manifest has been read as data, and may say anything. */
export interface Written extends Located {
  readonly origin: Origin
  readonly json: Json
}

/** The manifest is of the declared form. */
export interface Shaped extends Located {
  readonly origin: Origin
  readonly manifest: Manifest
}

/** Its schemas compile, and its configuration can be checked. */
export interface Compiled extends Shaped {
  readonly checkConfig: (value: Json) => SchemaFault | undefined
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
  readonly schemas: SchemaCompiler
  readonly signatures: PackageSignatures
  readonly locks: LayerLocks
  readonly pace: Pace
}
