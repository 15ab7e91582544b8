import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BulkheadError, CONFIG_FILE, type ConfigFile, type Store } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isAbsent } from '@bulkhead/kit/folders'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'
import { createMemoryStore } from '@bulkhead/store'
import { homeFolder, machinePolicyFile, storeFile, tenantsFolder } from './folders.ts'
import type { LayerFolders } from './loader-options.ts'

/** Names the store, above the configuration of the user. That of the machine is above it. */
export const STORE_VARIABLE = 'BULKHEAD_STORE'

export type StoreRetention = NonNullable<NonNullable<ConfigFile['store']>['retention']>

/** Where the records are kept. */
export type StoreChoice =
  | { readonly kind: 'postgres'; readonly url: string; readonly retention: StoreRetention }
  | { readonly kind: 'file'; readonly file: string }

type Folders = LayerFolders & { readonly config?: ConfigFile }

/** A store that a person names: the path of a file, or a URL, which is no path without its slashes. Throws ConfigInvalid. */
export const namedStore = (name: string): StoreChoice => name.includes('://') || /^postgres(?:ql)?:/i.test(name)
  ? { kind: 'postgres', url: requirePostgresUrl(name), retention: {} } : { kind: 'file', file: resolve(name) }

/** What a program and a command say about the store. */
type StoreTerms = Folders & {
  /** By a person. */
  readonly given?: string | undefined
  /** A whole file that cannot be read disables all tools of a host, so nothing is recorded. Default: true. */
  readonly isForHost?: boolean
}

/**
 * The store that a machine, `given`, a variable or a user has chosen. Rejects with ConfigInvalid if that cannot be
 * read: records must not go somewhere else.
 */
export async function chosenStore(
  home: string, env: Readonly<Record<string, string | undefined>>, terms: StoreTerms = {},
): Promise<StoreChoice> {
  const { given, isForHost = true, ...folders } = terms
  const { machine, store } = await writtenStore(home, folders, isForHost)
  if (given !== undefined) {
    if (machine === undefined) return namedStore(given)
    throw new BulkheadError('ConfigInvalid', 'The policy of this machine names the store. Leave out --store.')
  }
  const url = machine ?? (env[STORE_VARIABLE] || store?.url)
  if (url === undefined) return { kind: 'file', file: storeFile(home) }
  return { kind: 'postgres', url: requirePostgresUrl(url), retention: store?.retention ?? {} }
}

interface WrittenStore {
  /** The URL of the machine's policy. */
  readonly machine?: string | undefined
  readonly store?: ConfigFile['store']
}

/** What files and the program say. Most say nothing, and commands that open no host need no loader to see that. */
async function writtenStore(home: string, folders: Folders, isForHost: boolean): Promise<WrittenStore> {
  const files = [join(home, CONFIG_FILE), folders.machinePolicy ?? machinePolicyFile()]
  const found = files.map(lookForStore)
  const unreadable = files[found.indexOf('unreadable')]
  if (unreadable !== undefined && !isForHost) {
    const why = 'cannot be read as JSON, so which store it names is unknown.'
    throw new BulkheadError('ConfigInvalid', `${unreadable} ${why}`)
  }
  if (folders.config?.store === undefined && !found.includes('named')) return {}
  const [{ userConfig }, { loaderOptions }] = await Promise.all([
    import('@bulkhead/loader'), import('./loader-options.ts'),
  ])
  const { config: { merged, layers }, diagnostics } = userConfig(loaderOptions(home, folders, []), folders.config)
  const fault = diagnostics.find(({ severity, path }) => severity === 'error' && path.startsWith('/store'))
  if (fault) throw new BulkheadError('ConfigInvalid', `${fault.message} (${fault.location})`)
  return { machine: layers.find(({ layer }) => layer === 'machine')?.config.store?.url, store: merged.store }
}

/** Whether a file says something about the store. */
function lookForStore(file: string): 'named' | 'not named' | 'unreadable' {
  if (isAbsent(file)) return 'not named'
  try {
    const parsed = statSync(file).isFile() ? parseJson(readFileSync(file, 'utf8')) : undefined
    if (!parsed?.ok || !isJsonObject(parsed.value)) return 'unreadable'
    return Object.hasOwn(parsed.value, 'store') ? 'named' : 'not named'
  } catch {
    return 'unreadable'
  }
}

/** The options of a host that say where its records are. */
type StoreOptions = Folders & {
  readonly home?: string
  readonly store?: Store | string
  readonly tenant?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** The store of a program, or the server that it, the machine or the user names. Rejects like `openPostgres`. */
export async function givenStore({ store, tenant, ...options }: StoreOptions): Promise<Store> {
  if (store !== undefined && typeof store !== 'string') {
    if (tenant !== undefined) throw oneTenant('The host was given an open store')
    return store
  }
  const chosen = await chosenStore(homeFolder(options.home), options.env ?? process.env, options)
  const retention = chosen.kind === 'postgres' ? chosen.retention : undefined
  const url = store ?? (chosen.kind === 'postgres' ? chosen.url : undefined)
  if (url !== undefined) return openPostgres(url, retention, tenant === undefined ? {} : { tenant, home: options.home })
  if (tenant !== undefined) throw oneTenant('No server is named')
  return createMemoryStore()
}

const oneTenant = (why: string): BulkheadError => new BulkheadError('ConfigInvalid', `${why}, and only PostgreSQL has tenants: a file `
  + 'and the memory have one. Name the server by its URL in `store`, in BULKHEAD_STORE, or in store.url of the configuration.')

/** Throws ConfigInvalid. The value may contain a password, so it is not repeated. */
export function requirePostgresUrl(url: string): string {
  if (/^postgres(?:ql)?:\/\//i.test(url)) return url
  throw new BulkheadError('ConfigInvalid', 'The URL of the store must begin with postgres:// or postgresql://.')
}

/** Who logs in. Default: the user that the URL names. */
interface TenantLogin {
  readonly tenant?: string
  /** With the password files of tenants. */
  readonly home?: string | undefined
}

/** Opens a store in PostgreSQL. Rejects with StoreUnavailable or ConfigInvalid. */
export async function openPostgres(
  url: string, retention: StoreRetention = {}, { tenant, home }: TenantLogin = {},
): Promise<Store> {
  const { openPostgresStore } = await postgresPackage()
  return openPostgresStore({
    url: requirePostgresUrl(url), retention, ...(tenant !== undefined && { tenant: { name: tenant, folder: tenantsFolder(home) } }),
  })
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
