import type { ExtensionDigests, Manifest } from '@bulkhead/contract'
import { always } from './always.ts'
import { bundledDigest, capabilityDigest, powersDigest, toolDigests } from './model/digest.ts'
import type { Shaped } from './describe/extension.ts'

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
