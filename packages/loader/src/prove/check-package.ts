import type { ExtensionSigner } from '@bulkhead/contract'
import type { Terms, Vouched } from '../describe/extension.ts'
import { SIGNATURE_FILE } from '../files/signature-file.ts'
import { attestedSigner, lockOf } from '../lock/layer-lock.ts'
import { packagePolicy } from './package-policy.ts'
import { pass, refuse, whenever, type Eventually, type Fault, type StageResult } from '../model/result.ts'
import { findPinFault, type IdentityPin } from '../signature/identity-pin.ts'
import { CURES, type VerificationFault } from '../signature/verification.ts'

/**
 * Learns who signed the package. A signature that is there must be right, whatever the policy says of those without one;
 * only a layer that is `off` in so many words does not have it looked at. A pinned signer is required in every layer.
 */
export function signature(vouched: Vouched, terms: Terms): Eventually<StageResult<Vouched>> {
  const { outline: { id }, layer, origin } = vouched
  const { signature: level, pin } = packagePolicy(terms, vouched)
  if (level === 'off' && pin === undefined) return pass(vouched)

  const verification = origin.kind === 'files' ? origin.evidence.signature(terms.signatures) : undefined
  if (verification === undefined) {
    const attested = origin.kind === 'module' ? undefined : attestedSigner(
      lockOf(terms.locks, layer), layer, id, () => origin.evidence.root())
    if (attested !== undefined) return signedBy(attested, pin, vouched)
    if (pin !== undefined) return refuse(missing(`The policy pins who signs "${id}", and it is not signed.`))
    const unsigned = missing(`The policy for the ${layer} layer asks for a signature, and the package has no ${SIGNATURE_FILE}.`)
    return level === 'require' ? refuse(unsigned) : pass(vouched, level === 'warn' ? [unsigned] : [])
  }
  return whenever(verification, (verified) => verified.ok ? signedBy(verified.value, pin, vouched) : refuse(invalid(verified.fault)))
}

function signedBy(signer: ExtensionSigner, pin: IdentityPin | undefined, vouched: Vouched): StageResult<Vouched> {
  const pinFault = pin === undefined ? undefined : findPinFault(pin, signer)
  if (pinFault !== undefined) return refuse(invalid({ step: 'signer', message: pinFault }))
  return pass({ ...vouched, integrity: 'signed', signer })
}

const missing = (message: string): Fault => ({
  stage: 'signature', code: 'SignatureInvalid', path: '', message,
  cure: 'Get a signed package from its publisher; relax the policy only if you know its bytes by other means.',
})

const invalid = ({ step, message }: VerificationFault): Fault => ({
  stage: 'signature', code: 'SignatureInvalid', path: '', file: SIGNATURE_FILE, message: `${SIGNATURE_FILE} ${message}.`,
  cure: CURES[step],
})
