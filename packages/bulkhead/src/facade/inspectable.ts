import type { MeasuredUse, PasskeyRing, Store, UseTap } from '@bulkhead/contract'
import type { Host as CoreHost } from '@bulkhead/host'
import type { OpenPlaces } from './open-place.ts'

/** What an inspector reads of a host besides what embedders see. */
export interface Inspectable {
  readonly core: CoreHost
  readonly places: OpenPlaces
  readonly store: Store
  readonly uses: UseListeners
  readonly passkeys: PasskeyRing
  /** Of the host on its store. */
  readonly id: string
  /** The folder of the global layer. */
  readonly home: string | undefined
}

/** By host, for as long as it is used. */
export const inspectable = new WeakMap<object, Inspectable>()

/** Uses are measured only while someone listens. */
export class UseListeners implements UseTap {
  readonly #listeners = new Set<(use: MeasuredUse) => void>()
  listener: UseTap['listener'] = undefined

  on(listener: (use: MeasuredUse) => void): () => void {
    this.#listeners.add(listener)
    this.listener = (use) => { for (const one of this.#listeners) one(use) }
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.listener = undefined
    }
  }
}
