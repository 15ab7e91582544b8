import { BulkheadError, type ConfigFile, type Store } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { userConfig } from '@bulkhead/loader'
import { createMemoryStore } from '@bulkhead/store'
import { homeFolder, storeFile } from './folders.ts'
import { type LayerFolders, loaderOptions } from './loader-options.ts'

/** Names the store, above the configuration of the user. That of the machine is above it. */
export const STORE_VARIABLE = 'BULKHEAD_STORE'

export type StoreRetention = NonNullable<NonNullable<ConfigFile['store']>['retention']>

/** Where the records are kept. */
export type StoreChoice =
  | { readonly kind: 'postgres'; readonly url: string; readonly retention: StoreRetention }
  | { readonly kind: 'file'; readonly file: string }

type Folders = LayerFolders & { readonly config?: ConfigFile }

/**
 * The store that a machine, a variable or a user has chosen. Throws ConfigInvalid if that cannot be read: records must not
 * go somewhere else.
 */
export function chosenStore(
  home: string, env: Readonly<Record<string, string | undefined>>, folders: Folders = {},
): StoreChoice {
  const { config: { merged, layers }, diagnostics } = userConfig(loaderOptions(home, folders, []), folders.config)
  const fault = diagnostics.find(({ severity, path }) => severity === 'error' && path.startsWith('/store'))
  if (fault) throw new BulkheadError('ConfigInvalid', `${fault.message} (${fault.location})`)
  const machine = layers.find(({ layer }) => layer === 'machine')?.config.store?.url
  const url = machine ?? (env[STORE_VARIABLE] || merged.store?.url)
  if (url === undefined) return { kind: 'file', file: storeFile(home) }
  return { kind: 'postgres', url: requirePostgresUrl(url), retention: merged.store?.retention ?? {} }
}

/** The options of a host that say where its records are. */
type StoreOptions = Folders & {
  readonly home?: string
  readonly store?: Store | string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** The store of a program, or the server that it, the machine or the user names. Rejects like `openPostgres`. */
export async function givenStore({ store, ...options }: StoreOptions): Promise<Store> {
  if (store !== undefined && typeof store !== 'string') return store
  const chosen = chosenStore(homeFolder(options.home), options.env ?? process.env, options)
  const retention = chosen.kind === 'postgres' ? chosen.retention : undefined
  const url = store ?? (chosen.kind === 'postgres' ? chosen.url : undefined)
  return url === undefined ? createMemoryStore() : openPostgres(url, retention)
}

/** Throws ConfigInvalid. The value may contain a password, so it is not repeated. */
export function requirePostgresUrl(url: string): string {
  if (/^postgres(?:ql)?:\/\//i.test(url)) return url
  throw new BulkheadError('ConfigInvalid', 'The URL of the store must begin with postgres:// or postgresql://.')
}

/** Opens a store in PostgreSQL. Rejects with StoreUnavailable or ConfigInvalid. */
export async function openPostgres(url: string, retention: StoreRetention = {}): Promise<Store> {
  const { openPostgresStore } = await postgresPackage()
  return openPostgresStore({ url: requirePostgresUrl(url), retention })
}

/** Is not a dependency: most users keep their records in a file. Rejects with ConfigInvalid if it is not installed. */
export async function postgresPackage(): Promise<typeof import('@bulkhead/store-postgres')> {
  try {
    return await import('@bulkhead/store-postgres')
  } catch (error) {
    if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new BulkheadError('ConfigInvalid', 'A store in PostgreSQL needs two packages that are not installed. '
      + `Run: npm install pg @bulkhead/store-postgres (${messageOf(error).split('\n')[0]})`)
  }
}
