import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Store } from '@bulkhead/contract'
import { groupOf, settle, type Bench, type PortGroup, type PortRequirement } from './verify.ts'

/** Where a store keeps its records. */
export interface StorePlace {
  /** Empty for a new store. Two stores with the same folder are one, as two hosts open it. */
  readonly folder: string
}

export interface StoreTarget {
  /** Opens the store of a place. A store in a database server takes the folder as the name of its tables. */
  readonly create: (place: StorePlace) => Store | Promise<Store>
}

export interface StoreBench extends Bench {
  /** A new, empty store. */
  fresh(): Promise<Store>
  /** Two hosts with the same new store. A store that `forgets` is not shared: it is there twice. */
  shared(): Promise<readonly [Store, Store]>
  /** The same store, as the next host opens it. undefined for one that `forgets`. */
  again(store: Store): Promise<Store | undefined>
}

/** Runs an experiment with stores, and closes them. */
async function withStores<Found>(
  { create }: StoreTarget, bench: Bench, work: (bench: StoreBench) => Promise<Found>,
): Promise<Found> {
  const places = new Map<Store, StorePlace>()
  const open = async (place: StorePlace): Promise<Store> => {
    const store = await create(place)
    places.set(store, place)
    return store
  }
  const fresh = async (): Promise<Store> => {
    const folder = join(bench.folder, `store-${places.size}`)
    await mkdir(folder)
    return open({ folder })
  }
  const again = async (store: Store): Promise<Store | undefined> =>
    store.forgets ? undefined : open(places.get(store)!)
  const shared = async (): Promise<readonly [Store, Store]> => {
    const store = await fresh()
    return [store, await again(store) ?? store]
  }
  try {
    return await work({ ...bench, fresh, shared, again })
  } finally {
    for (const store of places.keys()) await settle(() => store.close(), bench)
  }
}

/** Requirements whose checks use stores of their own. */
export const storeGroup = (requirements: readonly PortRequirement<StoreBench>[]): PortGroup<StoreTarget> =>
  groupOf<StoreTarget, StoreBench>(withStores, requirements)

export const STORE_SPEC = 'docs/guides/embedding.md'

/** The numbers from 1. */
export const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1)
