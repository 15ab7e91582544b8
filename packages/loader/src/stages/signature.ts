import { ownMember } from '../config/own-member.ts'
import type { Terms, Vouched } from '../extension.ts'
import { SIGNATURE_FILE } from '../files/signature-file.ts'
import { pass, refuse, type Fault, type StageResult } from '../result.ts'
import { findPinFault } from '../signature/identity-pin.ts'
import { CURES, type VerificationFault } from '../signature/verification.ts'

/**
 * Learns who signed the package. A signature that is there must be right, whatever the policy says of those without one;
 * only a layer that is `off` in so many words does not have it looked at. A pinned signer is required in every layer.
 */
export async function signature(vouched: Vouched, { config, signatures, pace }: Terms): Promise<StageResult<Vouched>> {
  const { manifest: { id }, layer, origin } = vouched
  const { policy } = config.merged
  const level = policy?.signature?.[layer]
  const pin = ownMember(policy?.identities, id)
  if (level === 'off' && pin === undefined) return pass(vouched)

  const verification = await (origin.kind === 'files' ? origin.evidence.signature(signatures) : undefined)
  if (verification === undefined) {
    if (pin !== undefined) return refuse(missing(`The policy pins who signs "${id}", and it is not signed.`))
    const unsigned = missing(`The policy for the ${layer} layer asks for a signature, and the package has no ${SIGNATURE_FILE}.`)
    return level === 'require' ? refuse(unsigned) : pass(vouched, level === 'warn' ? [unsigned] : [])
  }
  await pace.breathe()
  if (!verification.ok) return refuse(invalid(verification.fault))
  const pinFault = pin === undefined ? undefined : findPinFault(pin, verification.value)
  if (pinFault !== undefined) return refuse(invalid({ step: 'signer', message: pinFault }))
  return pass({ ...vouched, integrity: 'signed', signer: verification.value })
}

const missing = (message: string): Fault => ({
  stage: 'signature', code: 'SignatureInvalid', path: '', message,
  cure: 'Get a signed package from its publisher; relax the policy only if you know its bytes by other means.',
})

const invalid = ({ step, message }: VerificationFault): Fault => ({
  stage: 'signature', code: 'SignatureInvalid', path: '', file: SIGNATURE_FILE, message: `${SIGNATURE_FILE} ${message}.`,
  cure: CURES[step],
})
