import type { SessionAccess } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'

/** Session memory for tests. `current` is the session of each call. */
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
