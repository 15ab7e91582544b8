import type { ExtensionCode, ExtensionDescriptor } from '@bulkhead/contract'
import { bundledDigest, capabilityDigest, packageDigest, toolDigests } from './digest.ts'
import type { Terms, Vouched } from './extension.ts'
import { coveredFiles } from './files/integrity-file.ts'
import { readVerifiedFiles } from './files/verified-files.ts'

/** What is known of an extension that has passed every stage. Its bytes are read again when its code is needed. */
export function describe(vouched: Vouched, { coreVersion, limits }: Terms): ExtensionDescriptor {
  const { layer, location, manifest, origin, integrity, signer, knownDigests } = vouched
  const files = origin.kind === 'files' ? coveredFiles(origin.evidence.digests) : undefined
  const code: ExtensionCode = origin.kind === 'module'
    ? { kind: 'module', module: origin.module }
    : { kind: 'files', readFiles: () => readVerifiedFiles(manifest.id, location, files!, limits) }
  return Object.freeze({
    id: manifest.id,
    version: manifest.version,
    layer,
    location,
    manifest,
    digests: knownDigests ?? Object.freeze({
      package: files === undefined ? bundledDigest(manifest, coreVersion) : packageDigest(files),
      capability: capabilityDigest(manifest),
      tools: toolDigests(manifest),
    }),
    integrity,
    ...(signer !== undefined && { signer }),
    code: Object.freeze(code),
  })
}
