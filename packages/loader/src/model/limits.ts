import { MANIFEST_LIMITS } from '@bulkhead/contract'

/** What the loader is willing to read. Beyond a bound the folder or file is refused, never cut. */
export interface LoaderLimits {
  /** Folders of one layer that are looked at. */
  readonly extensions: number
  /** bulkhead.json and config.json, each. */
  readonly manifestBytes: number
  /** bulkhead.integrity.json, which has a line for each file. */
  readonly integrityBytes: number
  /** bulkhead.sigstore.json. */
  readonly signatureBytes: number
  /** bulkhead.lock. */
  readonly lockBytes: number
  /** Files and folders of one package together, so that a tree of empty folders is bounded too. */
  readonly files: number
  readonly fileBytes: number
  readonly packageBytes: number
  /** Folders inside folders of one package. */
  readonly folderDepth: number
  /** One JSON Schema of a manifest: its text, its nesting, its subschemas, one pattern in it. */
  readonly schemaChars: number
  readonly schemaDepth: number
  readonly subschemas: number
  readonly patternChars: number
  /** Subschemas that apply to one and the same value once references are followed. */
  readonly inPlaceSubschemas: number
  /** Milliseconds of processor time for compiling one schema, and for checking one configuration with it. */
  readonly schemaMs: number
  /** Subschemas of all schemas of one manifest. */
  readonly subschemasPerExtension: number
}

export const LOADER_LIMITS: LoaderLimits = {
  extensions: 10_000,
  manifestBytes: MANIFEST_LIMITS.manifestBytes,
  integrityBytes: 1024 * 1024,
  signatureBytes: 256 * 1024,
  lockBytes: 16 * 1024 * 1024,
  files: MANIFEST_LIMITS.files,
  fileBytes: MANIFEST_LIMITS.fileBytes,
  packageBytes: MANIFEST_LIMITS.packageBytes,
  folderDepth: 32,
  schemaChars: 64 * 1024,
  schemaDepth: 24,
  subschemas: 1_000,
  patternChars: 1_024,
  inPlaceSubschemas: 2_000,
  schemaMs: 5_000,
  subschemasPerExtension: 4_000,
}
