import type { Store } from '@bulkhead/contract'

/** A store with one fault, and the requirements that it breaks. All others of their groups hold. */
export interface FaultyStore {
  readonly breaks: readonly string[]
  readonly wrap: (store: Store) => Store
}

/** Replaces members of a store. */
export const changed = (change: (store: Store) => Partial<Store>) => (store: Store): Store => {
  const members = new Map<string, unknown>(Object.entries(change(store)))
  return new Proxy(store, {
    get(target, key) {
      if (members.has(key as string)) return members.get(key as string)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export const lenient = <Value>(work: Promise<Value>, value: Value): Promise<Value> => work.catch(() => value)
