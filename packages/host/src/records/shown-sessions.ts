import type { EventType } from '@bulkhead/contract'
import type { EventBus } from './events.ts'
import type { HostSeat } from './host-seat.ts'

const SHOWN: ReadonlySet<EventType> =
  new Set(['SessionOpened', 'SessionClosed', 'InteractionRaised', 'InteractionAnswered'])

/** Shows sessions and open questions to the other hosts on the store. */
export function showSessions(events: EventBus, seat: HostSeat): void {
  events.on((event) => {
    const since = Date.parse(event.at)
    switch (event.type) {
      case 'SessionOpened': {
        const { sessionId, workspace, parentId, agent, principal } = event
        return seat.show('session', sessionId, {
          since, workspace, ...(principal !== undefined && { principal }), ...(agent !== undefined && { agent }),
          ...(parentId !== undefined && { parentId }),
        })
      }
      case 'SessionClosed':
        return seat.hide('session', event.sessionId)
      case 'InteractionRaised':
        return seat.show('question', event.correlationId, { since, kind: event.kind, source: event.source })
      case 'InteractionAnswered':
        return seat.hide('question', event.correlationId)
    }
  }, SHOWN)
}
