import { LOCK_FILE, type ExtensionSigner, type LockEntry } from '@bulkhead/contract'
import type { Compiled, Origin, Vouched } from '../describe/extension.ts'
import { INTEGRITY_FILE, SIGNATURE_FILE } from '../files/integrity.ts'
import { capabilityDiff, capabilityDiffInWords } from '../lock/capability-diff.ts'
import { attestedSigner, entryOf, lockOf } from '../lock/layer-lock.ts'
import { capabilitiesOf } from '../lock/lock-file.ts'
import { pass, passUnless, refuse, whenever, type Eventually, type Fault, type StageResult } from '../model/result.ts'
import { findPinFault, findSignerChange, type IdentityPin } from '../signature/signer.ts'
import { CURES, type VerificationFault } from '../signature/verification.ts'
import { packagePolicy, type Terms } from './package-policy.ts'

/**
 * Compares the package with the integrity file it carries, when it does. This tells damage and leftovers from what was
 * packed; who packed it is not known before a signature says so.
 */
export function integrity(compiled: Compiled, terms: Terms): StageResult<Vouched> {
  if (compiled.origin.kind === 'module') return pass({ ...compiled, integrity: 'bundled' })
  const differences = compiled.origin.evidence.integrity()
  if (differences !== undefined) return passUnless(differences, { ...compiled, integrity: 'verified' })

  const { layer, outline: { id } } = compiled
  const { integrity: policy } = packagePolicy(terms, compiled)
  const who = layer === 'bundled' ? 'the folder that ships with the host' : `the policy for "${id}" in the ${layer} layer`
  const missing: Fault = {
    stage: 'integrity', code: 'IntegrityTokenMissing', path: '', message: `The package has no ${INTEGRITY_FILE} and ${who} asks for one.`,
  }
  if (policy === 'require') return refuse(missing)
  return pass({ ...compiled, integrity: 'unpinned' }, policy === 'warn' ? [missing] : [])
}

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

/** Compares an extension with what a person accepted of it. Bytes that were accepted are vouched for by whoever did so. */
export function locked(vouched: Vouched, terms: Terms): StageResult<Vouched> {
  const { outline: { id }, layer, origin, integrity } = vouched
  const lock = lockOf(terms.locks, layer)
  if (layer === 'bundled' || origin.kind === 'module' || lock.kind === 'deciding') return pass(vouched)
  if (lock.kind === 'unreadable') return refuse(lock.fault)
  const entry = entryOf(lock, id)
  const policy = packagePolicy(terms, vouched)
  if (entry === undefined) {
    if (integrity === 'signed' || policy.lock === 'off') return pass(vouched)
    return policy.lock === 'require' ? refuse(unaccepted(id)) : pass(vouched, [unaccepted(id)])
  }
  const fault = findLockFault(entry, vouched, origin, policy.signature === 'off')
  if (fault !== undefined) return refuse(fault)
  return pass(integrity === 'unpinned' ? { ...vouched, integrity: 'verified' } : vouched)
}

const unaccepted = (id: string): Fault => ({
  stage: 'lock', code: 'IntegrityTokenMissing', path: '',
  message: `Nobody vouches for "${id}": it is neither signed nor accepted in ${LOCK_FILE}.`,
  cure: 'Look at it and accept it with `bulkhead install`, naming its folder.',
})

function findLockFault(
  entry: LockEntry, { outline: { id, version }, signer, told }: Vouched, { evidence }: Extract<Origin, { kind: 'files' }>,
  signaturesUnread: boolean,
): Fault | undefined {
  if (entry.signer !== null && entry.signedBy === 'bundle' && !signaturesUnread) {
    const change = findSignerChange(entry.signer, signer ?? null)
    if (change !== undefined) return consent(`"${id}" ${change}.`)
  }
  if (entry.root === evidence.root()) return undefined
  const diff = capabilityDiff(entry.capabilities, capabilitiesOf(told.manifest()))
  const words = capabilityDiffInWords(diff)
  if (diff.widens) return consent(`"${id}" is not what was accepted: it ${words}.`)
  const what = entry.version === version ? 'its files are others' : `${entry.version} was accepted and ${version} is there`
  return { stage: 'lock', code: 'LockMismatch', path: '', message: `"${id}" is not what was accepted: ${what}${words === '' ? '' : `; it ${words}`}.` }
}

const consent = (message: string): Fault => ({
  stage: 'lock', code: 'ConsentRequired', path: '', message,
  cure: 'Look at the difference, and accept it with `bulkhead install`; or put back what was accepted.',
})
