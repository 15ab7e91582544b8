import type { LoadReport } from '@bulkhead/contract'
import type { EventBus } from '../../records/events.ts'

/** Emits TrustDecision for the project of one workspace, once for each decision that comes into force. */
export class TrustDecisions {
  readonly #events: EventBus
  #last: LoadReport['projectTrust']

  constructor(events: EventBus) {
    this.#events = events
  }

  taken({ projectTrust: now }: LoadReport): void {
    const before = this.#last
    this.#last = now
    if (now === undefined || (now.trust === before?.trust && now.projectDigest === before.projectDigest)) return
    this.#events.emit({ type: 'TrustDecision', path: now.path, decision: now.trust })
  }
}
