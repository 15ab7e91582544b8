import { LOCK_FILE, type LockEntry } from '@bulkhead/contract'
import { capabilityDiff, capabilityDiffInWords } from '../lock/capability-diff.ts'
import type { Origin, Terms, Vouched } from '../describe/extension.ts'
import { entryOf, lockOf } from '../lock/layer-lock.ts'
import { capabilitiesOf } from '../lock/lock-entry.ts'
import { findSignerChange } from '../lock/signer-identity.ts'
import { packagePolicy } from '../prove/package-policy.ts'
import { pass, refuse, type Fault, type StageResult } from '../model/result.ts'

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
