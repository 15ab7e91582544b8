import type { ExtensionDigests, Manifest } from '@bulkhead/contract'
import { always } from './always.ts'
import { bundledDigest, capabilityDigest, toolDigests } from './digest.ts'
import type { Shaped } from './extension.ts'

/** What an extension says of itself, and the digests of it, frozen. What is remembered is parsed when it is asked for. */
export interface Told {
  manifest(): Manifest
  digests(): ExtensionDigests
}

export function tell({ manifest, origin }: Shaped, coreVersion: string): Told {
  const digests = Object.freeze({
    package: origin.kind === 'module' ? bundledDigest(manifest, coreVersion) : origin.evidence.root(),
    capability: capabilityDigest(manifest),
    tools: toolDigests(manifest),
  })
  return { manifest: always(manifest), digests: always(digests) }
}
