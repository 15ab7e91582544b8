import type { ExtensionSigner } from '@bulkhead/contract'
import { compareIntegrity } from './files/compare-integrity.ts'
import { coveredFiles, INTEGRITY_FILE } from './files/integrity-file.ts'
import type { PackageContents } from './files/read-package.ts'
import { SIGNATURE_FILE } from './files/signature-file.ts'
import type { Fault } from './result.ts'
import type { PackageSignatures } from './signature/package-signatures.ts'
import { unverified, verified, type Verification } from './signature/verification.ts'

/** What a package says for itself, whatever any configuration asks of it. */
export interface PackageEvidence {
  /** Of every file. */
  digests(): ReadonlyMap<string, string>
  /** Where the files differ from the integrity file it carries; undefined where it carries none. */
  integrity(): readonly Fault[] | undefined
  /** What the signature it carries proves; undefined where it carries none. Contract: never rejects. */
  signature(signatures: PackageSignatures): Promise<Verification<ExtensionSigner>> | undefined
}

/** As the bytes show it. */
export function evidenceOf({ digests, bytes }: PackageContents): PackageEvidence {
  const integrityFile = bytes.get(INTEGRITY_FILE)
  const bundle = bytes.get(SIGNATURE_FILE)
  return {
    digests: always(digests),
    integrity: () => integrityFile === undefined ? undefined : compareIntegrity(integrityFile, coveredFiles(digests)),
    signature(signatures) {
      if (bundle === undefined) return undefined
      if (integrityFile !== undefined) return signatures.verify(bundle, integrityFile)
      return Promise.resolve(unverified('subject', `is there and ${INTEGRITY_FILE} is not`))
    },
  }
}

/** Outlives the rest, so it must not hold the bytes that the other functions see. */
const always = <T>(value: T) => (): T => value

/** As it was when the files were the same. */
export const rememberedEvidence = (
  digests: () => ReadonlyMap<string, string>, carriesIntegrity: boolean, signer: ExtensionSigner | null,
): PackageEvidence => ({
  digests,
  integrity: () => carriesIntegrity ? [] : undefined,
  signature: () => signer === null ? undefined : Promise.resolve(verified(signer)),
})
