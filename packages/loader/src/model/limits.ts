import { MANIFEST_LIMITS } from '@bulkhead/contract'

/** Limits of what the loader reads. A folder or file beyond a limit is refused, not truncated. */
export interface LoaderLimits {
  /** Extension folders of one layer. */
  readonly extensions: number
  /** bulkhead.json and config.json, each. */
  readonly manifestBytes: number
  /** bulkhead.integrity.json, which has a line for each file. */
  readonly integrityBytes: number
  /** bulkhead.sigstore.json. */
  readonly signatureBytes: number
  /** bulkhead.lock. */
  readonly lockBytes: number
  /** Files and folders of one package together, which also bounds empty folders. */
  readonly files: number
  readonly fileBytes: number
  readonly packageBytes: number
  /** Nesting of folders in one package. */
  readonly folderDepth: number
  /** For one JSON Schema of a manifest: length, nesting, subschemas. */
  readonly schemaChars: number
  readonly schemaDepth: number
  readonly subschemas: number
  /** Subschemas that apply to the same value once references are followed. */
  readonly inPlaceSubschemas: number
  /** Milliseconds of CPU time to compile one schema, and to check one configuration with it. */
  readonly schemaMs: number
  /** Subschemas of all schemas of one manifest. */
  readonly subschemasPerExtension: number
  /** The same for the tools of a server or an API document. */
  readonly subschemasPerServer: number
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
  schemaChars: MANIFEST_LIMITS.schemaChars,
  schemaDepth: MANIFEST_LIMITS.schemaDepth,
  subschemas: MANIFEST_LIMITS.subschemas,
  inPlaceSubschemas: MANIFEST_LIMITS.inPlaceSubschemas,
  schemaMs: 5_000,
  subschemasPerExtension: MANIFEST_LIMITS.subschemasPerExtension,
  subschemasPerServer: 200_000,
}
