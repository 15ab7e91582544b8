import { ownMember } from '../config/own-member.ts'
import type { Terms, Vouched } from '../extension.ts'
import { pass, refuse, type Fault, type StageResult } from '../result.ts'

/**
 * This loader verifies no signatures. A policy that requires one, or pins who must have signed, is therefore met by
 * nothing: refusing is the only answer that does not pretend.
 */
export function signaturePolicy(vouched: Vouched, { config }: Terms): StageResult<Vouched> {
  const { signature, identities } = config.merged.policy ?? {}
  const level = signature?.[vouched.layer] ?? 'off'
  const pinned = ownMember(identities, vouched.manifest.id) !== undefined
  if (level === 'off' && !pinned) return pass(vouched)
  const unverified: Fault = {
    stage: 'signature', code: 'SignatureInvalid', path: '',
    message: pinned
      ? `The policy pins who signs "${vouched.manifest.id}", and this version of Bulkhead cannot verify signatures.`
      : `The policy for the ${vouched.layer} layer asks for a signature, and this version of Bulkhead cannot verify signatures.`,
    cure: 'Relax the policy for this extension only if you know its bytes by other means.',
  }
  return level === 'require' || pinned ? refuse(unverified) : pass(vouched, [unverified])
}
