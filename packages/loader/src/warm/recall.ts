import type { ExtensionDigests } from '@bulkhead/contract'
import type { Compiled, Located, Origin, Vouched, Written } from '../describe/extension.ts'
import { INTEGRITY_FILE } from '../files/integrity-file.ts'
import { SIGNATURE_FILE } from '../files/signature-file.ts'
import { pass, type Fault, type Passed } from '../model/result.ts'
import type { KnownDetails, KnownExtension, Remembered } from '../cache/cached-extension.ts'

/** An extension as it stood when its schemas had been compiled, from what is known of it. */
export function recall(located: Located, remembered: Remembered): Passed<Compiled> {
  return revive(located, { kind: 'files', evidence: remembered }, remembered)
}

export const recallGiven = (written: Written, remembered: Remembered): Passed<Compiled> => revive(written, written.origin, remembered)

function revive({ layer, location, part }: Located, origin: Origin, remembered: Remembered): Passed<Compiled> {
  const { outline, manifestAt, emptyConfigFault, warnings } = remembered.row
  return pass({ layer, location, part, origin, manifestAt, outline, told: remembered, emptyConfigFault }, warnings)
}

export const knownOf = (
  { outline, manifestAt, origin, signer, emptyConfigFault }: Vouched, { package: root }: ExtensionDigests, warnings: readonly Fault[],
): KnownExtension => ({
  outline, manifestAt, emptyConfigFault, warnings, root,
  carriesIntegrity: carries(origin, INTEGRITY_FILE),
  // Somebody else may vouch for it too, by a lock; that is not the package's own word.
  signer: carries(origin, SIGNATURE_FILE) ? signer ?? null : null,
})

export const detailsOf = ({ told }: Vouched, { capability, tools }: ExtensionDigests): KnownDetails =>
  ({ manifest: told.manifest(), capability, tools: [...tools] })

const carries = (origin: Origin, file: string): boolean => origin.kind === 'files' && origin.evidence.fileDigests().has(file)
