import type { ExtensionModule, ManifestInput } from '@bulkhead/contract'

/** A tool that ships with the host: a manifest as for any extension, and its module instead of files. */
export interface BundledExtension {
  readonly manifest: ManifestInput
  readonly module: ExtensionModule
}

/** What every bundled manifest has in common. */
export const BUNDLED = {
  kind: 'Tool',
  contractVersion: '1.0.0',
  requiredCoreVersion: '^1.0.0',
  version: '1.0.0',
} as const
