import type { Store } from '@bulkhead/contract'
import { newSchema, sharedPostgres } from '../../../scripts/postgres/server.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../src/index.ts'

/** The URL of a new, empty store on the server of this process. */
export const newUrl = async (): Promise<string> => (await sharedPostgres()).url(newSchema())

export const openNew = async (options: Partial<PostgresStoreOptions> = {}): Promise<Store> =>
  openPostgresStore({ url: await newUrl(), ...options })

const schemas = new Map<string, string>()

/** One store for each folder, as `verifyStore` wants it. */
export async function openAt({ folder }: { readonly folder: string }): Promise<Store> {
  const schema = schemas.getOrInsertComputed(folder, newSchema)
  return openPostgresStore({ url: (await sharedPostgres()).url(schema) })
}

