import { LOCK_FILE, type ExtensionDescriptor, type LockEntry } from '@bulkhead/contract'
import { capabilityDiff, capabilityDiffInWords } from '../diff/capability-diff.ts'
import type { Terms } from '../extension.ts'
import { entryOf, lockOf } from '../lock/layer-lock.ts'
import { capabilitiesOf } from '../lock/lock-entry.ts'
import { findSignerChange } from '../lock/signer-identity.ts'
import { packagePolicy } from '../policy/package-policy.ts'
import { pass, refuse, type Fault, type StageResult } from '../result.ts'

/** Compares an extension with what a person accepted of it. Bytes that were accepted are vouched for by whoever did so. */
export function locked(extension: ExtensionDescriptor, terms: Terms): StageResult<ExtensionDescriptor> {
  const { id, layer, integrity } = extension
  const lock = lockOf(terms.locks, layer)
  if (layer === 'bundled' || lock.kind === 'deciding') return pass(extension)
  if (lock.kind === 'unreadable') return refuse(lock.fault)
  const entry = entryOf(lock, id)
  const policy = packagePolicy(terms, layer, id)
  if (entry === undefined) {
    if (integrity === 'signed' || policy.lock === 'off') return pass(extension)
    return policy.lock === 'require' ? refuse(unaccepted(id)) : pass(extension, [unaccepted(id)])
  }
  const fault = findLockFault(entry, extension, policy.signature === 'off')
  if (fault !== undefined) return refuse(fault)
  return pass(integrity === 'unpinned' ? Object.freeze({ ...extension, integrity: 'verified' }) : extension)
}

const unaccepted = (id: string): Fault => ({
  stage: 'lock', code: 'IntegrityTokenMissing', path: '',
  message: `Nobody vouches for "${id}": it is neither signed nor accepted in ${LOCK_FILE}.`,
  cure: 'Look at it and accept it with `bulkhead install`, naming its folder.',
})

function findLockFault(entry: LockEntry, extension: ExtensionDescriptor, signaturesUnread: boolean): Fault | undefined {
  const { id, version, digests, signer, manifest } = extension
  if (entry.signer !== null && entry.signedBy === 'bundle' && !signaturesUnread) {
    const change = findSignerChange(entry.signer, signer ?? null)
    if (change !== undefined) return consent(`"${id}" ${change}.`)
  }
  if (entry.root === digests.package) return undefined
  const diff = capabilityDiff(entry.capabilities, capabilitiesOf(manifest))
  const words = capabilityDiffInWords(diff)
  if (diff.widens) return consent(`"${id}" is not what was accepted: it ${words}.`)
  const what = entry.version === version ? 'its files are others' : `${entry.version} was accepted and ${version} is there`
  return { stage: 'lock', code: 'LockMismatch', path: '', message: `"${id}" is not what was accepted: ${what}${words === '' ? '' : `; it ${words}`}.` }
}

const consent = (message: string): Fault => ({
  stage: 'lock', code: 'ConsentRequired', path: '', message,
  cure: 'Look at the difference, and accept it with `bulkhead install`; or put back what was accepted.',
})
