import type { MeasuredUse } from '@bulkhead/contract'

/** A use with the call that it is of. */
export interface HeardUse extends MeasuredUse {
  readonly sessionId: string
  readonly callId: string
}

/** Who wants to know of each use of a capability. */
export class UseListeners {
  readonly #listeners = new Set<(use: HeardUse) => void>()

  get isHeard(): boolean {
    return this.#listeners.size > 0
  }

  /** `listener` must not throw. */
  on(listener: (use: HeardUse) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(use: HeardUse): void {
    for (const listener of this.#listeners) listener(use)
  }
}
