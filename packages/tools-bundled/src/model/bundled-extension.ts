import type { ExtensionModule, ManifestInput } from '@bulkhead/contract'
import { declaredManifest } from '@bulkhead/contract/author'

/** A tool that ships with the host: a manifest, and a module instead of files. */
export interface BundledExtension {
  readonly manifest: ManifestInput
  readonly module: ExtensionModule
}

/** Fields that all bundled manifests share. */
const SHARED = {
  kind: 'Tool',
  contractVersion: '1.0.0',
  requiredCoreVersion: '^1.0.0',
  version: '1.0.0',
} as const

/** The manifest follows from the tools, as that of a publisher. It is made on first use, because imports must be quick. */
export function bundledExtension(id: string, tools: ExtensionModule['tools']): BundledExtension {
  let manifest: ManifestInput | undefined
  return {
    get manifest() {
      manifest ??= { ...SHARED, id, ...declaredManifest({ tools }) as unknown as Pick<ManifestInput, 'tools'> }
      return manifest
    },
    module: { tools },
  }
}

/** Every file of the workspace and of folders added to a session. Files with credentials must be named: all begin so. */
export const ALL_FILES = ['{workspace}', '{workspace}/**/.*', '{ad-hoc}', '{ad-hoc}/**/.*'] as const
