import { BulkheadError, type ExtensionDescriptor, type Manifest } from '@bulkhead/contract'
import type { Extension } from '../lifecycle/extension.ts'

/**
 * How one generation takes over from another.
 * replace: nothing runs, so there is nothing to hand over.
 * shadow: the new one is started beside the old one, and takes over when it has proved itself.
 * exchange: only one may be there, so the old one ends first; it comes back if the new one fails.
 */
export type Way =
  | { readonly kind: 'replace' | 'shadow' | 'exchange' }
  | { readonly kind: 'refuse'; readonly error: BulkheadError }
  /** turns: a moment without an open turn. generations: the end of one that is still being let go. */
  | { readonly kind: 'wait'; readonly until: 'turns' | 'generations' }

export interface Circumstances {
  readonly openTurns: number
  /** Generations of this id that are no longer offered and still busy. */
  readonly leaving: number
}

/** Pure. Both manifests bind: the stricter of each promise holds. */
export function wayOf(old: Extension, next: ExtensionDescriptor, { openTurns, leaving }: Circumstances): Way {
  if (!old.wasStarted) return { kind: 'replace' }
  const manifests = [old.descriptor.manifest, next.manifest]
  if (old.descriptor.manifest.reloadBehavior === 'never') return { kind: 'refuse', error: neverReloaded(old.descriptor.id) }
  const loaded = Math.min(...manifests.map(loadedAtOnce))
  const isOnlyOneActive = manifests.some(({ activeCardinality }) => activeCardinality === 'one')
  const isOnlyOneAttached = manifests.some(({ activeCardinality }) => activeCardinality === 'one-attached')
  const inTurn = manifests.every(({ reloadBehavior }) => reloadBehavior === 'in-turn')
  // A turn goes on with what it began with, unless the two may not stand side by side for so long.
  const needsQuiet = loaded === 1 || isOnlyOneActive || isOnlyOneAttached
  if (needsQuiet && openTurns > 0 && !inTurn) return { kind: 'wait', until: 'turns' }
  if (loaded === 1 || isOnlyOneActive) return { kind: 'exchange' }
  return leaving + 2 > loaded ? { kind: 'wait', until: 'generations' } : { kind: 'shadow' }
}

/** Pure. For an extension without a predecessor: those of its id that are still being retired count as loaded. */
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
  `The extension "${id}" has changed and declares that it is never reloaded. What runs goes on until the host is restarted.`,
  { data: { extension: id } },
)
