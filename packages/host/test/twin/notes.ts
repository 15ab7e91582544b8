import type { Notebook, Notes } from '@bulkhead/contract'
import { MemoryStore } from './store.ts'

/** A store that logs the requests to its notes. */
export function notingStore(log: string[], faults: Partial<Notebook> = {}): MemoryStore {
  const notebook: Notebook = {
    put: (id) => void log.push(`put ${id}`),
    drop: (id) => void log.push(`drop ${id}`),
    save: () => void log.push('save'),
    ...faults,
  }
  const notes: Notes = { open: () => notebook, owners: async () => [], left: async () => [], discard: async () => {} }
  return Object.assign(new MemoryStore(), { notes })
}
