import type { SessionAccess } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'

/** What a host keeps for a session, for tests: each call is in the session that is current. */
export function sessionMemory(): SessionAccess & { current: string } {
  const kept = new Map<string, Json>()
  return {
    current: 'session-1',
    async read() {
      return { id: this.current, data: kept.get(this.current) ?? null }
    },
    async write(_, data) {
      kept.set(this.current, data)
    },
  }
}
