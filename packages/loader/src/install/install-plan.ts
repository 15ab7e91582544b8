import type { ExtensionDescriptor, Layer, LockEntry, Manifest } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import eq from 'semver/functions/eq.js'
import lt from 'semver/functions/lt.js'
import major from 'semver/functions/major.js'
import minor from 'semver/functions/minor.js'
import type { LoaderOptions } from '../config/settings.ts'
import type { PackageContents } from '../files/read-package.ts'
import {
  capabilityDiff, capabilityDiffInWords, definitionDiff, type CapabilityDiff, type DefinitionDiff,
} from '../lock/version-diff.ts'
import { capabilitiesOf } from '../lock/lock-file.ts'
import type { PackagePolicy } from '../prove/check-package.ts'
import { findSignerChange } from '../signature/signer.ts'
import type { RegistryOptions } from './registry.ts'

export interface InstallerOptions {
  /** The options of the loader that will load the packages. */
  readonly loader: LoaderOptions
  readonly layer: Exclude<Layer, 'bundled'>
  /** Absolute. Installing into the project layer reads it, so it must be trusted. */
  readonly workspace: string
  /** The base of relative paths. */
  readonly cwd: string
  readonly registry?: RegistryOptions
  /** The registry of a package, by its name. Not called if `registry` is given. */
  readonly registryFor?: (name: string) => RegistryOptions | Promise<RegistryOptions>
  /** The signing keys of the registry. Default: those that ship with the loader. */
  readonly npmKeys?: Json
}

/** A proven package, compared with the accepted version. Nothing is written yet. */
export interface InstallPlan extends Comparison {
  readonly layer: Layer
  readonly source: string
  readonly extension: ExtensionDescriptor
  readonly signedBy: LockEntry['signedBy']
  /** Who attests that it conforms, as far as that could be verified; null if no one does. */
  readonly conformance: string | null
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
  /** The argument of `plan` for this version. */
  readonly spec: string
}

/** The difference between a package and the accepted version. */
export interface Comparison {
  readonly capabilities: CapabilityDiff
  /** null if the accepted version can no longer be read. */
  readonly definitions: DefinitionDiff | null
}

/** What an installation needs. */
export type Verdict =
  /** The package is the accepted one. */
  | { readonly kind: 'unchanged' }
  /** It has no new powers and the same signer. */
  | { readonly kind: 'silent' }
  /** `explicit`: a general consent does not cover it; a person must review this package. */
  | { readonly kind: 'consent'; readonly explicit: boolean; readonly reasons: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string }

const NOTHING = { env: [], secrets: [], tools: {} }

export function compare(
  before: LockEntry | null, beforeManifest: Manifest | null, { manifest }: ExtensionDescriptor,
): Comparison {
  const capabilities = capabilityDiff(before?.capabilities ?? NOTHING, capabilitiesOf(manifest))
  return { capabilities, definitions: beforeManifest === null ? null : definitionDiff(beforeManifest, manifest) }
}

export function evaluate(
  before: LockEntry | null, extension: ExtensionDescriptor, source: string, { capabilities, definitions }: Comparison,
  { widening }: PackagePolicy,
): Verdict {
  const { id, version, digests, signer } = extension
  if (before === null) return { kind: 'consent', explicit: false, reasons: [`"${id}" has not been accepted before`] }
  const signerChange = before.signer === null ? undefined : findSignerChange(before.signer, signer ?? null)
  if (before.root === digests.package && signerChange === undefined && before.source === source) {
    return { kind: 'unchanged' }
  }

  const wider = [...(capabilities.widens ? [capabilityDiffInWords(capabilities)] : []), ...definitions?.loosens ?? []]
  if (wider.length > 0 && widening === 'refuse') {
    return { kind: 'refused', message: `It requires more (${wider.join('; ')}), and the policy refuses such updates.` }
  }
  const isOlder = lt(version, before.version)
  // A rollback cannot be a new major version. It needs explicit consent, for the reason below.
  if (wider.length > 0 && widening === 'major' && !isOlder && !isMajor(before.version, version)) {
    const why = `${version} is not a new major version after ${before.version}`
    return { kind: 'refused', message: `It requires more (${wider.join('; ')}), and ${why}.` }
  }
  const reasons = [
    ...wider,
    ...(signerChange === undefined ? [] : [signerChange]),
    ...(isOlder ? [`${version} is older than the accepted ${before.version}`] : []),
    ...(eq(version, before.version) && before.root !== digests.package
      ? [`it has the accepted version ${version} but different content`] : []),
    ...(originOf(source) === originOf(before.source)
      ? [] : [`it comes from ${source}; the accepted one came from ${before.source}`]),
    ...(definitions === null && before.root !== digests.package
      ? ['the accepted version can no longer be read, so the tool definitions could not be compared'] : []),
  ]
  return reasons.length === 0 ? { kind: 'silent' } : { kind: 'consent', explicit: true, reasons }
}

/** Before 1.0.0, a minor version may break. */
const isMajor = (before: string, after: string): boolean =>
  major(after) > major(before) || (major(after) === 0 && major(before) === 0 && minor(after) > minor(before))

/** npm packages are identified by name. The names of local folders and files have no meaning. */
const originOf = (source: string): string =>
  source.startsWith('npm:') ? source.slice(0, source.lastIndexOf('@')) : 'local'
