import { requireOptions, type Store } from '@bulkhead/contract'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { Database, type DatabaseTimes } from './connection/database.ts'
import { asTenant, readStoreUrl } from './connection/store-url.ts'
import { PostgresStore } from './postgres-store.ts'
import type { ChangeLimits } from './records/change-log.ts'
import { bringUpToDate, migrate, schemaState, SCHEMA_VERSION, type SchemaState } from './schema.ts'

export interface PostgresRetention {
  /** For how many days the content that calls replaced is kept. Default: 30. */
  readonly changesDays?: number
  /** How much of it is kept, in MiB. Default: 256. */
  readonly changesMiB?: number
  /** How many changes are listed. Default: 100,000. */
  readonly changes?: number
}

export interface PostgresStoreOptions {
  /** postgres://USER@HOST:PORT/DATABASE, with words of libpq as parameters. */
  readonly url: string
  readonly retention?: PostgresRetention
  /** Logs in as the role of this tenant, instead of the user that the URL names. */
  readonly tenant?: PostgresTenant
}

export interface PostgresTenant {
  readonly name: string
  /** The folder with its password file, unless the URL names one. */
  readonly folder: string
}

const OPTIONS: OptionForms<PostgresStoreOptions> = {
  url: forms.text,
  retention: forms.fields({ changesDays: forms.number, changesMiB: forms.number, changes: forms.number }),
  tenant: forms.fields({ name: forms.text, folder: forms.text }),
}

const DAY_MS = 86_400_000

/**
 * Opens the store of a PostgreSQL server, and makes or updates its tables. Rejects with ConfigInvalid for an invalid URL,
 * and with StoreUnavailable for a server that cannot be reached or used.
 */
export async function openPostgresStore(options: PostgresStoreOptions, times?: Partial<DatabaseTimes>): Promise<Store> {
  requireOptions('openPostgresStore', options, OPTIONS, 'url')
  const url = readStoreUrl(options.url)
  const { tenant } = options
  const database = new Database(tenant ? asTenant(url, tenant.name, tenant.folder) : url, times)
  try {
    await bringUpToDate(database)
    return new PostgresStore(database, limitsOf(options.retention))
  } catch (error) {
    await database.close()
    throw error
  }
}

const limitsOf = ({ changesDays, changesMiB, changes }: PostgresRetention = {}): Partial<ChangeLimits> => ({
  ...(changesDays !== undefined && { ageMs: changesDays * DAY_MS }),
  ...(changesMiB !== undefined && { totalBytes: changesMiB * 1024 ** 2 }),
  ...(changes !== undefined && { changes }),
})

export interface PostgresStatus extends SchemaState {
  /** Without the password. */
  readonly url: string
  /** The newest version of the tables that this host knows. */
  readonly known: number
}

/** What is there, without changing anything. Rejects as `openPostgresStore` does. */
export async function postgresStatus(url: string, times?: Partial<DatabaseTimes>): Promise<PostgresStatus> {
  const database = new Database(readStoreUrl(url), times)
  try {
    return { url: database.url.shown, ...await schemaState(database), known: SCHEMA_VERSION }
  } finally {
    await database.close()
  }
}

/** Makes or updates the tables. Resolves with their versions before and after. */
export async function migratePostgres(url: string): Promise<{ readonly from: number; readonly to: number }> {
  const database = new Database(readStoreUrl(url))
  try {
    await schemaState(database)
    const [from, to] = await migrate(database)
    return { from, to }
  } finally {
    await database.close()
  }
}
