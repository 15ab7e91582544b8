import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { EventListener, Store } from '@bulkhead/contract'
import { BulkheadError, SECURITY_MODES } from '@bulkhead/contract'
import type { InterruptedCall, SessionOptions } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Assembly, AssemblyOptions, Host } from '../facade/create-host.ts'
import { homeFolder, userCacheFolder } from '../facade/folders.ts'
import type { StoreChoice } from '../facade/store-choice.ts'
import { createTerminalInteractor } from '../facade/terminal/terminal-interactor.ts'
import { UsageError, type CommandOptions, type ValuesOf } from './command.ts'
import { hint } from './output.ts'

/** Options of commands that do not need a project. */
export const HOME_OPTIONS = {
  json: { type: 'boolean', text: 'print JSON' },
  home: {
    type: 'string', value: 'DIR', completes: 'folder', text: 'folder of the global layer (default: ~/.bulkhead)',
  },
} as const satisfies CommandOptions

/** Of commands that use a store. */
export const STORE_OPTION = {
  store: {
    type: 'string', value: 'STORE', completes: 'file',
    text: 'the store: a file, or the URL of a PostgreSQL server, postgres://… (default: that of the home)',
  },
} as const satisfies CommandOptions

/** Options of commands that need a store and no project. */
export const RECORDS_OPTIONS = { ...HOME_OPTIONS, ...STORE_OPTION } as const satisfies CommandOptions

/** Where the records are. */
export type StorePlace = Partial<Pick<ValuesOf<typeof RECORDS_OPTIONS>, 'home' | 'store'>>

/** Options of commands that open a host and print no JSON. */
export const FOLDER_OPTIONS = {
  'workspace': { type: 'string', value: 'DIR', completes: 'folder', text: 'folder to work on (default: this folder)' },
  'home': HOME_OPTIONS.home,
  'trust-project': {
    type: 'boolean', text: "trust the project's tools and settings for this run, without asking",
  },
} as const satisfies CommandOptions

export const COMMON_OPTIONS = { json: HOME_OPTIONS.json, ...FOLDER_OPTIONS } as const satisfies CommandOptions

/** Options of commands that show what applies in a folder. */
export const PLACE_OPTIONS = {
  json: HOME_OPTIONS.json, workspace: FOLDER_OPTIONS.workspace, home: HOME_OPTIONS.home,
} as const satisfies CommandOptions

/** Options of commands that open a session. */
export const MODE_OPTION = {
  mode: {
    type: 'string', value: 'MODE', values: SECURITY_MODES,
    text: 'how to handle a call that requires approval (default: from the configuration, else ask)',
  },
} as const satisfies CommandOptions

/** Of commands whose sessions may have no person. */
export const WAIT_OPTION = {
  wait: {
    type: 'boolean',
    text: 'a question that no one can be asked here waits for an answer from elsewhere, such as "bulkhead waiting answer"',
  },
} as const satisfies CommandOptions

/** Throws UsageError. */
export function headlessOf(
  { wait, 'no-store': isForgotten }: ValuesOf<typeof WAIT_OPTION & typeof STORE_OPTIONS>,
): Pick<SessionOptions, 'headless'> {
  if (wait && isForgotten) throw new UsageError('--wait needs the store, where answers come from. Leave out --no-store.')
  return wait ? { headless: 'wait' } : {}
}

/** Options of commands that write to the store. */
export const STORE_OPTIONS = {
  'no-store': { type: 'boolean', text: 'do not read or write state, approvals or the audit log' },
  ...STORE_OPTION,
} as const satisfies CommandOptions

/** Options of commands that bundle the folder of an extension. */
export const SOURCE_OPTIONS = {
  root: {
    type: 'string', value: 'DIR', completes: 'folder',
    text: 'outer folder of a monorepo, to bundle packages from that a package.json declares',
  },
} as const satisfies CommandOptions

export type SourceValues = Pick<HostValues, 'home'> & ValuesOf<typeof SOURCE_OPTIONS>

/** For a command whose argument is not a folder. */
export function refuseRoot({ root }: SourceValues): void {
  if (root !== undefined) throw new UsageError('--root is for the folder of an extension. Leave it out.')
}

/** Prompts need a terminal for both input and output. */
export const canAsk = (): boolean => process.stdin.isTTY && process.stderr.isTTY

export const terminal = () => canAsk() ? createTerminalInteractor() : undefined

export type HostValues = ValuesOf<typeof COMMON_OPTIONS & typeof STORE_OPTIONS>

/**
 * Creates a host. Its code is imported here because commands such as `install` do not need it. `remembering` uses the
 * store on disk; with `no sessions`, the opening and closing of sessions leaves no records. `serving` disables prompts,
 * because the client owns the terminal, and reloads extensions on change. `await using` closes it.
 */
export async function openHost(
  values: HostValues, remembering: boolean | 'no sessions' = false, serving = false,
  more: Pick<Assembly, 'keepsSpares' | 'onUse' | 'onFailure' | 'inspect'> = {},
) {
  const [{ assembleHost }, { tokenRoles }] = await Promise.all([
    import('../facade/create-host.ts'), import('./token-book.ts'),
  ])
  const interactor = serving ? undefined : terminal()
  if (values['no-store'] && values.store !== undefined) throw new UsageError('--no-store and --store cannot be used together.')
  const opened = remembering && !values['no-store'] ? await openStore(values) : undefined
  const store = opened && remembering === 'no sessions' ? withoutSessions(opened) : opened
  const options = {
    ...foldersOf(values),
    ...(interactor ? { interactor } : {}),
    ...(store ? { store } : {}),
    // Commands connect only to the servers they need.
    ...(serving ? { watch: true } : { discover: 'when-asked' as const }),
  }
  const assembly = { ...more, roles: () => tokenRoles(values.home) }
  const { host } = await assembleHost(options, values['trust-project'] ? 'as found' : undefined, assembly)
  if (store) host.on(warnNotStored(), ['SuppressedError'])
  // Commands that run no tool print it with the diagnostics.
  if (remembering) host.on(warnMissingFeatures, ['SuppressedError'])
  if (store && remembering === true) for (const call of await host.interruptedCalls()) tellInterrupted(call)
  return closing(host, host)
}

/** The first command after a crash says how the calls of the host that died have ended. */
function tellInterrupted({ startedAt, outcome: { error: { code, data }, error_text: text } }: InterruptedCall): void {
  process.stderr.write(`Warning: ${code}, a call of ${startedAt}: ${visibleText(text)}\n`)
  const verify = isJsonObject(data) ? data['verify'] : undefined
  if (typeof verify === 'string') process.stderr.write(hint(`Find out with: bulkhead call ${visibleText(verify)}\n`))
}

/** `await using` closes the host. */
export const closing = <Value extends object>(value: Value, host: Host): Value & AsyncDisposable =>
  Object.assign(value, { [Symbol.asyncDispose]: async () => void await host.close() })

/** The folders of a host. */
export const foldersOf = ({ workspace, home }: HostValues): AssemblyOptions => ({
  workspace: workspace ?? process.cwd(),
  ...(home === undefined ? {} : { home }),
  // Do not create the home folder just to cache verification results.
  ...(existsSync(homeFolder(home)) ? {} : { cache: join(userCacheFolder(), 'proven') }),
})

/** Warns about missing sandbox features before the first tool that needs them starts. */
const warnMissingFeatures: EventListener = (event) => {
  if (event.type === 'SuppressedError' && event.source === 'sandbox') {
    process.stderr.write(`Warning: ${visibleText(event.message)}\n`)
  }
}

/** Event sources that report data which could not be stored. */
const MEMORY: ReadonlySet<string> = new Set(['audit', 'journal of calls', 'keeping project approvals'])

/** Warns, once per reason, when the store fails after it was opened. */
function warnNotStored(): EventListener {
  const reported = new Set<string>()
  return (event) => {
    if (event.type !== 'SuppressedError' || !MEMORY.has(event.source) || reported.has(event.message)) return
    reported.add(event.message)
    process.stderr.write(`Warning: some data was not stored (${event.source}): ${visibleText(event.message)}\n`)
  }
}

/** Rejects with StoreUnavailable. Falling back to an empty store would lose approvals and audit records. */
async function openStore({ home, store }: StorePlace): Promise<Store> {
  const { chosenStore } = await import('../facade/store-choice.ts')
  const chosen = await chosenStore(homeFolder(home), process.env, { given: store })
  try {
    return await openChosen(chosen)
  } catch (error) {
    const { data } = BulkheadError.from(error)
    const message = `${messageOf(error)} Use --no-store to continue without state, approvals and audit.`
    throw new BulkheadError('StoreUnavailable', message, { cause: error, ...(data !== undefined && { data }) })
  }
}

/** The store that is named, or that of this user. Rejects with ConfigInvalid. */
export async function storeHere({ home, store }: StorePlace): Promise<StoreChoice> {
  const { chosenStore, namedStore } = await import('../facade/store-choice.ts')
  return store === undefined ? chosenStore(homeFolder(home), process.env, { isForHost: false }) : namedStore(store)
}

/** Opens a store, and makes it where there is none. */
export async function openChosen(chosen: StoreChoice): Promise<Store> {
  if (chosen.kind === 'postgres') {
    return (await import('../facade/store-choice.ts')).openPostgres(chosen.url, chosen.retention)
  }
  const { openSqliteStore } = await import('@bulkhead/store')
  return openSqliteStore({ file: chosen.file })
}

const SESSION_EVENTS: ReadonlySet<unknown> = new Set(['SessionOpened', 'SessionClosed'])

/** Without `appendAll`, each record passes `append`. */
const withoutSessions = (store: Store): Store => ({
  read: (collection, key) => store.read(collection, key),
  write: (collection, key, value) => store.write(collection, key, value),
  remove: (collection, key) => store.remove(collection, key),
  update: (collection, key, change) => store.update(collection, key, change),
  list: (collection, prefix) => store.list(collection, prefix),
  append: async (record) => isJsonObject(record) && SESSION_EVENTS.has(record['type']) ? 0 : store.append(record),
  ...(store.work && { work: store.work }),
  ...(store.placements && { placements: store.placements }),
  ...(store.changes && { changes: store.changes }),
  ...(store.chains && { chains: () => store.chains!() }),
  records: (from, limit) => store.records(from, limit),
  auditSpan: () => store.auditSpan(),
  close: () => store.close(),
})

/** Opens an existing store and never creates one. `what` names the wanted data in the error message. */
export async function withStore<Value>(
  place: StorePlace, what: string, use: (store: Store) => Promise<Value>,
): Promise<Value> {
  const chosen = await storeHere(place)
  if (chosen.kind === 'file' && !existsSync(chosen.file)) {
    const advice = 'The first call creates it. If it is in another folder, use --home; to name the file, --store.'
    throw new BulkheadError('StoreUnavailable', `There is no ${what} at ${chosen.file}. ${advice}`)
  }
  return using(chosen, use)
}

/** As `withStore`, and makes the store of the home where there is none. A named one must be there. */
export const withNewStore = async <Value>(place: StorePlace, use: (store: Store) => Promise<Value>): Promise<Value> =>
  place.store === undefined ? using(await storeHere(place), use) : withStore(place, 'store', use)

async function using<Value>(chosen: StoreChoice, use: (store: Store) => Promise<Value>): Promise<Value> {
  const store = await openChosen(chosen)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
