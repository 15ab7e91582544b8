import type { ExtensionSigner } from '@bulkhead/contract'
import { always } from './always.ts'
import { packageDigest } from './model/digest.ts'
import { compareIntegrity } from './files/integrity.ts'
import { coveredFiles, INTEGRITY_FILE } from './files/integrity-file.ts'
import type { PackageContents } from './files/read-package.ts'
import { SIGNATURE_FILE } from './files/signature-file.ts'
import type { Eventually, Fault } from './model/result.ts'
import type { PackageSignatures } from './signature/package-signatures.ts'
import { unverified, type Verification } from './signature/verification.ts'

/** What a package says for itself, whatever any configuration asks of it. */
export interface PackageEvidence {
  /** Of every file. Holds no bytes: it is what is kept of a package. */
  readonly fileDigests: () => ReadonlyMap<string, string>
  /** Of the package as a whole. */
  root(): string
  /** Where the files differ from the integrity file it carries; undefined where it carries none. */
  integrity(): readonly Fault[] | undefined
  /** What the signature it carries proves; undefined where it carries none. Contract: never rejects. */
  signature(signatures: PackageSignatures): Eventually<Verification<ExtensionSigner>> | undefined
}

/** As the bytes show it. */
export function evidenceOf({ digests, bytes }: PackageContents): PackageEvidence {
  const integrityFile = bytes.get(INTEGRITY_FILE)
  const bundle = bytes.get(SIGNATURE_FILE)
  return {
    fileDigests: always(digests),
    root: () => packageDigest(coveredFiles(digests)),
    integrity: () => integrityFile === undefined ? undefined : compareIntegrity(integrityFile, coveredFiles(digests)),
    signature(signatures) {
      if (bundle === undefined) return undefined
      if (integrityFile !== undefined) return signatures.verify(bundle, integrityFile)
      return unverified('subject', `is there and ${INTEGRITY_FILE} is not`)
    },
  }
}
