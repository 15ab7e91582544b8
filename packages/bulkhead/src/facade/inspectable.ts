import type { PasskeyRing, Store } from '@bulkhead/contract'
import type { Host as CoreHost } from '@bulkhead/host'
import type { OpenPlaces } from './open-place.ts'

/** What an inspector reads of a host besides what embedders see. */
export interface Inspectable {
  readonly core: CoreHost
  readonly places: OpenPlaces
  readonly store: Store
  readonly passkeys: PasskeyRing
  /** Of the host on its store. */
  readonly id: string
  /** What the host does before it closes its store. */
  readonly closing: Set<() => Promise<void>>
  /** The folder of the global layer. */
  readonly home: string | undefined
}

/** By host, for as long as it is used. */
export const inspectable = new WeakMap<object, Inspectable>()
