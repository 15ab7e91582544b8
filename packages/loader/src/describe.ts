import type { ExtensionCode, ExtensionDescriptor } from '@bulkhead/contract'
import { bundledDigest, capabilityDigest, packageDigest, toolDigests } from './digest.ts'
import type { Terms, Vouched } from './extension.ts'
import { coveredFiles } from './files/integrity-file.ts'
import { readVerifiedFiles } from './files/verified-files.ts'
import type { LoaderLimits } from './limits.ts'

/** What is known of an extension that has passed every stage. Its bytes are read again when its code is needed. */
export function describe(vouched: Vouched, { coreVersion, limits }: Terms): ExtensionDescriptor {
  const { layer, location, manifest, origin, integrity, signer, knownDigests } = vouched
  const code = origin.kind === 'module'
    ? { kind: 'module' as const, module: origin.module } : filesOf(manifest.id, location, origin.evidence.digests, limits)
  return Object.freeze({
    id: manifest.id,
    version: manifest.version,
    layer,
    location,
    manifest,
    digests: knownDigests ?? Object.freeze({
      package: origin.kind === 'module' ? bundledDigest(manifest, coreVersion) : packageDigest(coveredFiles(origin.evidence.digests())),
      capability: capabilityDigest(manifest),
      tools: toolDigests(manifest),
    }),
    integrity,
    ...(signer !== undefined && { signer }),
    code: Object.freeze(code),
  })
}

/** Keeps nothing of the package but how to get at its digests. */
const filesOf = (
  id: string, location: string, digests: () => ReadonlyMap<string, string>, limits: LoaderLimits,
): ExtensionCode => ({ kind: 'files', readFiles: () => readVerifiedFiles(id, location, coveredFiles(digests()), limits) })
