import type { CompartmentSession } from '@bulkhead/contract'

/** A session that knows since when nothing has been at work in it. */
export interface RestingSession extends CompartmentSession {
  /** As `performance.now()` tells it; while something is at work, some time before that. */
  readonly quietSince: number
}
