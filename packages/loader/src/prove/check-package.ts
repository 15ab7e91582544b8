import {
  LOCK_FILE, type ConfigFile, type ExtensionSigner, type Layer, type LockEntry, type ResolvedConfig,
} from '@bulkhead/contract'
import { mergeLayers } from '../config/merge-layers.ts'
import type { Checked, Compiled, Origin, Outline, ProofContext } from '../describe/extension.ts'
import { scopeOfPart } from '../discover/layer-sources.ts'
import { INTEGRITY_FILE, SIGNATURE_FILE } from '../files/integrity.ts'
import {
  attestedSigner, capabilitiesOf, entryOf, lockOf, npmScopeOf, type LayerLock, type LayerLocks,
} from '../lock/lock-file.ts'
import { capabilityDiff, capabilityDiffInWords } from '../lock/version-diff.ts'
import { pass, passUnless, refuse, type Fault, type StageResult } from '../model/result.ts'
import { findPinFault, findSignerChange, type IdentityPin } from '../signature/signer.ts'
import { CURES, type VerificationFault } from '../signature/verification.ts'

/**
 * Compares the package with its integrity file. This finds damage and left-over files; only a signature proves who
 * packed it.
 */
export function checkIntegrity(compiled: Compiled, context: ProofContext): StageResult<Checked> {
  if (compiled.origin.kind === 'module') return pass({ ...compiled, integrity: 'bundled' })
  const differences = compiled.origin.evidence.integrity()
  if (differences !== undefined) return passUnless(differences, { ...compiled, integrity: 'verified' })

  const { layer, outline: { id } } = compiled
  const { integrity: policy } = packagePolicy(context, compiled)
  const who = layer === 'bundled' ? 'the bundled layer' : `the policy for "${id}" in the ${layer} layer`
  const missing: Fault = {
    stage: 'integrity', code: 'IntegrityTokenMissing', path: '',
    message: `The package has no ${INTEGRITY_FILE}, and ${who} requires one.`,
  }
  if (policy === 'require') return refuse(missing)
  return pass({ ...compiled, integrity: 'unpinned' }, policy === 'warn' ? [missing] : [])
}

/**
 * Finds out who signed the package. A signature must be valid even where the policy does not require one; only a layer
 * that is explicitly `off` skips it. A pinned signer is required in every layer.
 */
export async function checkSignature(checked: Checked, context: ProofContext): Promise<StageResult<Checked>> {
  const { outline: { id }, layer, origin } = checked
  const { signature: level, pin } = packagePolicy(context, checked)
  if (level === 'off' && pin === undefined) return pass(checked)

  const verification = origin.kind === 'files' ? await origin.evidence.signature(context.signatures) : undefined
  if (verification === undefined) {
    const attested = origin.kind === 'module' ? undefined : attestedSigner(
      lockOf(context.locks, layer), layer, id, () => origin.evidence.root())
    if (attested !== undefined) return signedBy(attested, pin, checked)
    if (pin !== undefined) {
      return refuse(missingSignature(`The policy pins the signer of "${id}", and the package is not signed.`))
    }
    const unsigned = missingSignature(
      `The policy for the ${layer} layer requires a signature, and the package has no ${SIGNATURE_FILE}.`,
    )
    return level === 'require' ? refuse(unsigned) : pass(checked, level === 'warn' ? [unsigned] : [])
  }
  return verification.ok ? signedBy(verification.value, pin, checked) : refuse(invalidSignature(verification.fault))
}

function signedBy(signer: ExtensionSigner, pin: IdentityPin | undefined, checked: Checked): StageResult<Checked> {
  const pinFault = pin === undefined ? undefined : findPinFault(pin, signer)
  if (pinFault !== undefined) return refuse(invalidSignature({ step: 'signer', message: pinFault }))
  return pass({ ...checked, integrity: 'signed', signer })
}

const missingSignature = (message: string): Fault => ({
  stage: 'signature', code: 'SignatureInvalid', path: '', message,
  cure: 'Get a signed package from its publisher. Relax the policy only if you can verify the package in another way.',
})

const invalidSignature = ({ step, message }: VerificationFault): Fault => ({
  stage: 'signature', code: 'SignatureInvalid', path: '', file: SIGNATURE_FILE,
  message: `${SIGNATURE_FILE} ${message}.`,
  cure: CURES[step],
})

/** Compares an extension with its lock entry. Accepted bytes count as verified. */
export function checkLock(checked: Checked, context: ProofContext): StageResult<Checked> {
  const { outline: { id }, layer, origin, integrity } = checked
  const lock = lockOf(context.locks, layer)
  if (layer === 'bundled' || origin.kind === 'module' || lock.kind === 'deciding') return pass(checked)
  if (lock.kind === 'unreadable') return refuse(lock.fault)
  const entry = entryOf(lock, id)
  const policy = packagePolicy(context, checked)
  if (entry === undefined) {
    if (integrity === 'signed' || policy.lock === 'off') return pass(checked)
    return policy.lock === 'require' ? refuse(unaccepted(id)) : pass(checked, [unaccepted(id)])
  }
  const fault = findLockFault(entry, checked, origin, policy.signature === 'off')
  if (fault !== undefined) return refuse(fault)
  return pass(integrity === 'unpinned' ? { ...checked, integrity: 'verified' } : checked)
}

const unaccepted = (id: string): Fault => ({
  stage: 'lock', code: 'IntegrityTokenMissing', path: '',
  message: `"${id}" is neither signed nor accepted in ${LOCK_FILE}.`,
  cure: 'Review it, then accept it with `bulkhead install` and the path of its folder.',
})

function findLockFault(
  entry: LockEntry, { outline: { id, version }, signer, info }: Checked,
  { evidence }: Extract<Origin, { kind: 'files' }>,
  signaturesSkipped: boolean,
): Fault | undefined {
  if (entry.signer !== null && entry.signedBy === 'bundle' && !signaturesSkipped) {
    const change = findSignerChange(entry.signer, signer ?? null)
    if (change !== undefined) return consentFault(`"${id}" ${change}.`)
  }
  if (entry.root === evidence.root()) return undefined
  const diff = capabilityDiff(entry.capabilities, capabilitiesOf(info.manifest()))
  const words = capabilityDiffInWords(diff)
  if (diff.widens) return consentFault(`"${id}" differs from the accepted version: it ${words}.`)
  const what = entry.version === version
    ? 'its files have changed' : `${entry.version} was accepted, and ${version} is installed`
  const message = `"${id}" differs from the accepted version: ${what}${words === '' ? '' : `; it ${words}`}.`
  return { stage: 'lock', code: 'LockMismatch', path: '', message }
}

const consentFault = (message: string): Fault => ({
  stage: 'lock', code: 'ConsentRequired', path: '', message,
  cure: 'Review the difference and accept it with `bulkhead install`, or restore the accepted version.',
})

type Policy = NonNullable<ConfigFile['policy']>
type Level = 'require' | 'warn' | 'off'

/** What one package must prove. An undefined level is not configured. */
export interface PackagePolicy {
  readonly integrity: Level | undefined
  readonly signature: Level | undefined
  readonly lock: Level
  readonly widening: NonNullable<NonNullable<Policy['update']>['widening']>
  readonly pin: IdentityPin | undefined
}

/** The narrowest setting applies: the id, its longest configured prefix, the npm scope, the layer. */
export function packagePolicy(
  { config, locks }: { readonly config: ResolvedConfig; readonly locks: LayerLocks },
  { layer, part, outline: { id } }: {
    readonly layer: Layer
    readonly part: string
    readonly outline: Pick<Outline, 'id'>
  },
): PackagePolicy {
  const lock = lockOf(locks, layer)
  const npmScope = (): string | undefined => scopeOfPart(part) ?? npmScopeOf(lock, id)
  const policyOf = (policy: Policy | undefined) => policyFor(policy, layer, id, npmScope)
  const configured = policyOf(config.merged.policy)
  // The narrowest key of a layer must not undo a policy of the machine, nor that of a project one of the user.
  const machine = config.layers.find((one) => one.layer === 'machine')?.config.policy
  const others = [machine, writtenPolicy(config.layers)].map(policyOf)
  const strictest = (key: 'integrity' | 'signature' | 'lock'): Level | undefined =>
    LEVELS.find((one) => one === configured[key] || others.some((other) => one === other[key]))
  return {
    integrity: layer === 'bundled' ? 'require' : strictest('integrity'),
    signature: strictest('signature'),
    lock: strictest('lock') ?? defaultLockLevel(layer, lock),
    widening: WIDENING.find((one) =>
      one === (configured.widening ?? 'major') || others.some(({ widening }) => one === widening))!,
    pin: others.find(({ pin }) => pin)?.pin ?? configured.pin,
  }
}

/** What the user and the embedder wrote, if a project has a policy besides. */
const writtenPolicy = (layers: ResolvedConfig['layers']): Policy | undefined =>
  layers.some(({ layer, config }) => layer === 'project' && config.policy)
    ? mergeLayers(layers.filter(({ layer }) => layer === 'global' || layer === 'embedder')).policy : undefined

type Configured = { readonly [Key in keyof PackagePolicy]?: PackagePolicy[Key] | undefined }

/** From the strictest on. */
const LEVELS: readonly Level[] = ['require', 'warn', 'off']
const WIDENING = ['refuse', 'major', 'consent'] as const

function policyFor(
  policy: Policy = {}, layer: Layer, id: string, npmScope: () => string | undefined,
): Configured {
  const scopes = narrowestFirst(policy.scopes, id, npmScope)
  return {
    integrity: scopes.find(({ integrity }) => integrity !== undefined)?.integrity
      ?? (layer === 'bundled' ? undefined : policy.integrity?.[layer]),
    signature: scopes.find(({ signature }) => signature !== undefined)?.signature ?? policy.signature?.[layer],
    lock: scopes.find(({ lock }) => lock !== undefined)?.lock ?? (layer === 'bundled' ? 'off' : policy.lock?.[layer]),
    widening: scopes.find(({ widening }) => widening !== undefined)?.widening ?? policy.update?.widening,
    pin: narrowestFirst(policy.identities, id, npmScope)[0],
  }
}

/** A project with a lock enforces it. A project without one was trusted as a whole. */
const defaultLockLevel = (layer: Layer, lock: LayerLock): Level =>
  layer === 'global' ? 'warn' : lock.kind === 'none' ? 'off' : 'require'

function narrowestFirst<T>(
  record: Readonly<Record<string, T>> | undefined, id: string, npmScope: () => string | undefined,
): readonly T[] {
  if (record === undefined) return []
  const scope = npmScope()
  const rank = (key: string): number => {
    if (key === id) return Number.MAX_SAFE_INTEGER
    if (key.endsWith('*') && id.startsWith(key.slice(0, -1))) return key.length
    return key === scope ? 0 : -1
  }
  return Object.entries(record).map(([key, value]) => ({ at: rank(key), value }))
    .filter(({ at }) => at >= 0).toSorted((left, right) => right.at - left.at).map(({ value }) => value)
}
