import type { ExtensionDescriptor, ExtensionDigests } from '@bulkhead/contract'
import { rememberedEvidence } from '../evidence.ts'
import type { Compiled, Located, Origin, Shaped, Terms, Vouched, Written } from '../extension.ts'
import { INTEGRITY_FILE } from '../files/integrity-file.ts'
import { SIGNATURE_FILE } from '../files/signature-file.ts'
import { pass, type Fault, type Passed } from '../result.ts'
import { compiledWith } from '../stages/schemas.ts'
import type { Found, KnownExtension } from './package-index.ts'

type Recalled = Passed<Compiled>

/** An extension as it stood when its schemas had been compiled, from what is known of it. */
export function recall(located: Located, { known, digests }: Found, terms: Terms): Recalled {
  const evidence = rememberedEvidence(digests, known.carriesIntegrity, known.signer)
  return revive({ ...located, origin: { kind: 'files', evidence }, manifest: known.manifest, manifestAt: known.manifestAt }, known, terms)
}

export function recallGiven({ json: _, ...written }: Written, { known }: Found, terms: Terms): Recalled {
  return revive({ ...written, manifest: known.manifest }, known, terms)
}

function revive(shaped: Shaped, known: KnownExtension, { schemas }: Terms): Recalled {
  const { capability, package: whole, tools } = known.digests
  const knownDigests: ExtensionDigests = Object.freeze({ package: whole, capability, tools: new Map(tools) })
  const compiled = { ...compiledWith(shaped, known.emptyConfigFault, schemas), knownDigests }
  return pass(compiled, known.warnings)
}

export const knownOf = (
  { manifest, manifestAt, origin, signer, emptyConfigFault }: Vouched, { digests }: ExtensionDescriptor, warnings: readonly Fault[],
): KnownExtension => ({
  manifest, manifestAt, emptyConfigFault, warnings,
  carriesIntegrity: carries(origin, INTEGRITY_FILE),
  // Somebody else may vouch for it too, by a lock; that is not the package's own word.
  signer: carries(origin, SIGNATURE_FILE) ? signer ?? null : null,
  digests: { package: digests.package, capability: digests.capability, tools: [...digests.tools] },
})

const carries = (origin: Origin, file: string): boolean => origin.kind === 'files' && origin.evidence.digests().has(file)
