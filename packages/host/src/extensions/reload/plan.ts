import {
  BulkheadError, type Diagnostic, type ExtensionDescriptor, type LoadReport, type Manifest,
} from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { meantNames } from '@bulkhead/kit/text'
import type { Settings } from '../../model/settings.ts'
import type { Extension } from '../lifecycle/extension.ts'
import { fingerprintOf, type Candidate } from '../registry/candidate.ts'

/** What a new report means for one extension of one layer. */
export type Change =
  | { readonly kind: 'added'; readonly descriptor: ExtensionDescriptor }
  | { readonly kind: 'changed'; readonly old: Candidate; readonly descriptor: ExtensionDescriptor }
  | { readonly kind: 'removed'; readonly old: Candidate }
  /** It still exists, but is so faulty that the report does not have it. */
  | { readonly kind: 'broken'; readonly old: Candidate; readonly diagnostic: Diagnostic }

export const descriptorOf = (change: Change): ExtensionDescriptor =>
  change.kind === 'added' ? change.descriptor : change.old.descriptor

export interface Comparison {
  readonly current: readonly Candidate[]
  /** Extensions that could not be prepared before. With the same bytes they still cannot. */
  readonly unprepared: readonly { readonly descriptor: ExtensionDescriptor }[]
  readonly before: Settings
  readonly report: LoadReport
  readonly after: Settings
  /** Layer and id of extensions that no report adds or removes. */
  readonly apart: ReadonlySet<string>
  /** Only these ids, which count as changed. */
  readonly only?: ReadonlySet<string> | undefined
}

/** Pure. Leaves out what has not changed. */
export function differences(
  { current, unprepared, before, report, after, apart, only }: Comparison,
): readonly Change[] {
  const inScope = (descriptor: ExtensionDescriptor) =>
    !apart.has(keyOf(descriptor)) && (!only || only.has(descriptor.id))
  const wanted = report.extensions
    .filter((descriptor) => inScope(descriptor) && after.extension(descriptor.id).enabled !== false)
  const known = new Map(current.map((candidate) => [keyOf(candidate.descriptor), candidate]))
  const hopeless = new Set(unprepared.map(({ descriptor }) => `${keyOf(descriptor)} ${descriptor.digests.package}`))
  const there = new Set(wanted.map(keyOf))
  const changes = wanted.flatMap((descriptor): Change[] => {
    const old = known.get(keyOf(descriptor))
    if (!old) {
      return hopeless.has(`${keyOf(descriptor)} ${descriptor.digests.package}`) ? [] : [{ kind: 'added', descriptor }]
    }
    return only || fingerprintOf(descriptor, after) !== old.fingerprint ? [{ kind: 'changed', old, descriptor }] : []
  })
  const samePolicy = text(before.file.policy) === text(after.file.policy)
  const gone = current.filter(({ descriptor }) => inScope(descriptor) && !there.has(keyOf(descriptor)))
  return [...changes, ...gone.map((old): Change => {
    const isOff = after.extension(old.descriptor.id).enabled === false
    const diagnostic = isOff || !samePolicy
      ? undefined : report.diagnostics.find((found) => explains(found, old.descriptor))
    return diagnostic ? { kind: 'broken', old, diagnostic } : { kind: 'removed', old }
  })]
}

export const keyOf = ({ layer, id }: ExtensionDescriptor): string => `${layer}/${id}`

const text = (value: unknown): string => canonicalJson((value ?? null) as Json)

/** An extension of a layer that is no longer trusted is removed, not broken. */
function explains({ severity, stage, layer, extensionId, location }: Diagnostic, old: ExtensionDescriptor): boolean {
  if (severity !== 'error' || stage === 'trust' || layer !== old.layer) return false
  return extensionId === old.id || location === old.location
    || (extensionId === null && isBelow(old.location, location))
}

const isBelow = (path: string, folder: string): boolean =>
  path.startsWith(`${folder}/`) || path.startsWith(`${folder}\\`)

/**
 * How one generation takes over from another.
 * replace: nothing runs, so there is nothing to hand over.
 * shadow: the new one is started beside the old one, and takes over when it has proved itself.
 * exchange: only one may be there, so the old one ends first; it comes back if the new one fails.
 */
export type Way =
  | { readonly kind: 'replace' | 'shadow' | 'exchange' }
  | { readonly kind: 'refuse'; readonly error: BulkheadError }
  /** turns: until no turn is open. generations: until a retired generation has ended. */
  | { readonly kind: 'wait'; readonly until: 'turns' | 'generations' }

export interface Circumstances {
  readonly openTurns: number
  /** Generations of this id that are no longer offered and still busy. */
  readonly leaving: number
}

/** Pure. The stricter value of both manifests applies. */
export function wayOf(old: Extension, next: ExtensionDescriptor, { openTurns, leaving }: Circumstances): Way {
  if (!old.wasStarted) return { kind: 'replace' }
  const manifests = [old.descriptor.manifest, next.manifest]
  if (old.descriptor.manifest.reloadBehavior === 'never') {
    return { kind: 'refuse', error: neverReloaded(old.descriptor.id) }
  }
  const loaded = Math.min(...manifests.map(loadedAtOnce))
  const isOnlyOneActive = manifests.some(({ activeCardinality }) => activeCardinality === 'one')
  const isOnlyOneAttached = manifests.some(({ activeCardinality }) => activeCardinality === 'one-attached')
  const inTurn = manifests.every(({ reloadBehavior }) => reloadBehavior === 'in-turn')
  // A turn keeps its version, unless the two may not exist side by side.
  const needsQuiet = loaded === 1 || isOnlyOneActive || isOnlyOneAttached
  if (needsQuiet && openTurns > 0 && !inTurn) return { kind: 'wait', until: 'turns' }
  if (loaded === 1 || isOnlyOneActive) return { kind: 'exchange' }
  return leaving + 2 > loaded ? { kind: 'wait', until: 'generations' } : { kind: 'shadow' }
}

/** Pure. For an extension without a predecessor: retired ones of its id that have not ended count as loaded. */
export function wayBeside(leaving: readonly Extension[], next: ExtensionDescriptor): Way {
  const manifests = [...leaving.map(({ descriptor }) => descriptor), next].map(({ manifest }) => manifest)
  const isOnlyOneActive = manifests.some(({ activeCardinality }) => activeCardinality === 'one')
  const loaded = isOnlyOneActive ? 1 : Math.min(...manifests.map(loadedAtOnce))
  return leaving.length + 1 > loaded ? { kind: 'wait', until: 'generations' } : { kind: 'replace' }
}

function loadedAtOnce({ loadedCardinality: limit }: Manifest): number {
  if (limit === 'unlimited') return Infinity
  return limit === 'one' ? 1 : limit.n
}

const neverReloaded = (id: string) => new BulkheadError(
  'ReloadRefused',
  `The extension "${id}" has changed and is never reloaded. The old version runs until the host restarts.`,
  { data: { extension: id } },
)

/** What was asked for by this id is neither loaded nor in the report. */
export function notFound(id: string, { extensions }: LoadReport): BulkheadError {
  const names = extensions.filter(({ layer }) => layer !== 'bundled').map((extension) => extension.id)
  const message = `No extension "${id}" is loaded, and none was found.${meantNames(id, new Set(names))}`
  return new BulkheadError('ExtensionNotFound', message, { data: { extension: id } })
}
