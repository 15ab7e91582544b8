import type { ExtensionDescriptor, Layer, LockEntry, Manifest } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { eq, lt, major, minor } from 'semver'
import type { LoaderOptions } from '../config/settings.ts'
import type { PackageContents } from '../files/read-package.ts'
import { capabilityDiff, capabilityDiffInWords, type CapabilityDiff } from '../lock/capability-diff.ts'
import { capabilitiesOf } from '../lock/lock-file.ts'
import type { PackagePolicy } from '../prove/package-policy.ts'
import { findSignerChange } from '../signature/signer.ts'
import { definitionDiff, type DefinitionDiff } from './definition-diff.ts'
import type { RegistryOptions } from './registry.ts'

export interface InstallerOptions {
  /** As the loader is made that will load what is installed. */
  readonly loader: LoaderOptions
  readonly layer: Exclude<Layer, 'bundled'>
  /** Absolute. The project layer is below it; installing there reads it, so it must be trusted. */
  readonly workspace: string
  /** What paths are relative to. */
  readonly cwd: string
  readonly registry?: RegistryOptions
  /** The keys that the registry signs with, in place of those that ship with the loader. */
  readonly npmKeys?: Json
}

/** A package that was obtained and proven, beside what was accepted of it. Nothing is written yet. */
export interface InstallPlan extends Comparison {
  readonly layer: Layer
  readonly source: string
  readonly extension: ExtensionDescriptor
  readonly signedBy: LockEntry['signedBy']
  readonly before: LockEntry | null
  readonly warnings: readonly string[]
  readonly verdict: Verdict
  readonly contents: PackageContents
}

export interface NewerVersion {
  readonly id: string
  readonly name: string
  readonly current: string
  readonly latest: string
  readonly isNewer: boolean
  /** What to install for it. */
  readonly spec: string
}

/** What separates a package from what was accepted of it before. */
export interface Comparison {
  readonly capabilities: CapabilityDiff
  /** null: what was there cannot be read any more. */
  readonly definitions: DefinitionDiff | null
}

/** What must happen before it is written. */
export type Verdict =
  /** It is what was accepted. */
  | { readonly kind: 'unchanged' }
  /** It may do no more than what was accepted, and is by the same hand. */
  | { readonly kind: 'silent' }
  /** `explicit`: a general yes does not cover it; somebody must have looked at this very package. */
  | { readonly kind: 'consent'; readonly explicit: boolean; readonly reasons: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string }

const NOTHING = { env: [], secrets: [], tools: {} }

export function compare(before: LockEntry | null, beforeManifest: Manifest | null, { manifest }: ExtensionDescriptor): Comparison {
  const capabilities = capabilityDiff(before?.capabilities ?? NOTHING, capabilitiesOf(manifest))
  return { capabilities, definitions: beforeManifest === null ? null : definitionDiff(beforeManifest, manifest) }
}

export function judge(
  before: LockEntry | null, extension: ExtensionDescriptor, source: string, { capabilities, definitions }: Comparison, { widening }: PackagePolicy,
): Verdict {
  const { id, version, digests, signer } = extension
  if (before === null) return { kind: 'consent', explicit: false, reasons: [`"${id}" has not been accepted before`] }
  const signerChange = before.signer === null ? undefined : findSignerChange(before.signer, signer ?? null)
  if (before.root === digests.package && signerChange === undefined && before.source === source) return { kind: 'unchanged' }

  const wider = [...(capabilities.widens ? [capabilityDiffInWords(capabilities)] : []), ...definitions?.loosens ?? []]
  if (wider.length > 0 && widening === 'refuse') return { kind: 'refused', message: `It asks for more (${wider.join('; ')}), and the policy refuses updates that do.` }
  const isOlder = lt(version, before.version)
  // A rollback has no version number to announce it. It needs explicit consent, which the reason below demands.
  if (wider.length > 0 && widening === 'major' && !isOlder && !isMajor(before.version, version)) {
    return { kind: 'refused', message: `It asks for more (${wider.join('; ')}), and ${version} is no new major version over ${before.version}.` }
  }
  const reasons = [
    ...wider,
    ...(signerChange === undefined ? [] : [signerChange]),
    ...(isOlder ? [`${version} is older than ${before.version}, which was accepted`] : []),
    ...(eq(version, before.version) && before.root !== digests.package ? [`it calls itself ${version}, which is the version that was accepted, and is something else`] : []),
    ...(originOf(source) === originOf(before.source) ? [] : [`it comes from ${source} and came from ${before.source} before`]),
    ...(definitions === null && before.root !== digests.package ? ['what was there before cannot be read any more, so that what models are told could not be compared'] : []),
  ]
  return reasons.length === 0 ? { kind: 'silent' } : { kind: 'consent', explicit: true, reasons }
}

/** Before 1.0.0 the second number is the one that breaks. */
const isMajor = (before: string, after: string): boolean =>
  major(after) > major(before) || (major(after) === 0 && major(before) === 0 && minor(after) > minor(before))

/** A package is the same by its name; folders and files have names that mean nothing. */
const originOf = (source: string): string => source.startsWith('npm:') ? source.slice(0, source.lastIndexOf('@')) : 'local'
