import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { EventListener, Store } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { meantNames, visibleText } from '@bulkhead/kit/text'
import type { CreateHostOptions } from '../facade/create-host.ts'
import { homeFolder, storeFile, userCacheFolder } from '../facade/folders.ts'
import { createTerminalInteractor } from '../facade/terminal/terminal-interactor.ts'
import { UsageError } from './command.ts'

/** Of commands that have nothing to do with a project. */
export const HOME_OPTIONS = {
  json: { type: 'boolean' },
  home: { type: 'string' },
} as const satisfies ParseArgsConfig['options']

export const COMMON_OPTIONS = {
  ...HOME_OPTIONS,
  'workspace': { type: 'string' },
  'trust-project': { type: 'boolean' },
} as const satisfies ParseArgsConfig['options']

/** Of commands that remember what happened. */
export const STORE_OPTIONS = {
  'no-store': { type: 'boolean' },
} as const satisfies ParseArgsConfig['options']

export const STORE_DETAILS = '  --no-store        keep no state, approvals or audit of this, and read none'

export const HOME_DETAILS = `  --json            print JSON
  --home DIR        the folder of the global layer (default: ~/.bulkhead)`

export const COMMON_DETAILS = `  --json            print JSON
  --workspace DIR   the folder to work on (default: this folder)
  --home DIR        the folder of the global layer (default: ~/.bulkhead)
  --trust-project   use the project's own layer as it is now, this once, without asking`

/** Reads options the way every command does. Anything that the command does not know is wrong usage. */
export function readOptions<const Options extends NonNullable<ParseArgsConfig['options']>>(args: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (error) {
    // What Node says beyond the first sentence is about arguments that begin with a dash.
    const message = messageOf(error).replace(/ To specify a positional argument.*$/s, '')
    const unknown = /^Unknown option '--([^']+)'/.exec(message)?.[1]
    throw new UsageError(message + (unknown === undefined ? '' : meantNames(unknown, Object.keys(options)).replaceAll(' "', ' "--')))
  }
}

/** Of a command that does several things, each with options of its own: one that goes with another is not passed over. */
export function refuseForeignOptions(
  command: string, act: string | undefined, optionsOf: ReadonlyMap<string, readonly string[]>, values: Readonly<Record<string, unknown>>,
): void {
  const own = optionsOf.get(act ?? '')
  const foreign = own && Object.keys(values).find((name) => !own.includes(name) && !Object.hasOwn(HOME_OPTIONS, name))
  if (foreign !== undefined) throw new UsageError(`--${foreign} does not go with "${command} ${act}".`)
}

/** A person can be asked only when both ends are a terminal. */
export const canAsk = (): boolean => process.stdin.isTTY && process.stderr.isTTY

export const terminal = () => canAsk() ? createTerminalInteractor() : undefined

export interface HostValues {
  readonly 'workspace'?: string | undefined
  readonly 'home'?: string | undefined
  readonly 'trust-project'?: boolean | undefined
  readonly 'no-store'?: boolean | undefined
}

/**
 * The host is loaded only now: whoever installs, or is told about wrong usage, does without. `remembering`: state, approvals and
 * the audit outlive the command. `serving`: the terminal belongs to somebody else, and what changes on disk is taken over.
 */
export async function openHost(values: HostValues, remembering = false, serving = false) {
  const { assembleHost } = await import('../facade/create-host.ts')
  const interactor = serving ? undefined : terminal()
  const store = remembering && !values['no-store'] ? await openStore(values.home) : undefined
  const options: CreateHostOptions = {
    workspace: values.workspace ?? process.cwd(),
    ...(values.home === undefined ? {} : { home: values.home }),
    // A home is not made by looking, and what is not there remembers nothing.
    ...(existsSync(homeFolder(values.home)) ? {} : { cache: join(userCacheFolder(), 'proven') }),
    ...(interactor ? { interactor } : {}),
    ...(store ? { store } : {}),
    // Another command is about one tool, or only looks: it says itself which servers it needs.
    ...(serving ? { watch: true } : { discover: 'when-asked' as const }),
  }
  const host = await assembleHost(options, values['trust-project'] ? 'as found' : undefined)
  if (store) host.on(tellForgotten(), ['SuppressedError'])
  // Commands that run no tool list it among the diagnostics.
  if (remembering) host.on(tellMissingWalls, ['SuppressedError'])
  return host
}

/** A machine without walls is named before the first tool starts that needs them. */
const tellMissingWalls: EventListener = (event) => {
  if (event.type === 'SuppressedError' && event.source === 'sandbox') process.stderr.write(`Warning: ${visibleText(event.message)}\n`)
}

/** What remembers and could not. */
const MEMORY: ReadonlySet<string> = new Set(['audit', 'journal of calls', 'keeping project approvals'])

/** A store that fails later costs the memory too, and whoever relies on it must hear so, once for each reason. */
function tellForgotten(): EventListener {
  const told = new Set<string>()
  return (event) => {
    if (event.type !== 'SuppressedError' || !MEMORY.has(event.source) || told.has(event.message)) return
    told.add(event.message)
    process.stderr.write(`Not all of this is remembered (${event.source}): ${visibleText(event.message)}\n`)
  }
}

/** Rejects with StoreUnavailable: an empty store in its place would know no approvals, and lose what is written to it. */
async function openStore(home: string | undefined): Promise<Store> {
  const { openSqliteStore } = await import('@bulkhead/store')
  try {
    return await openSqliteStore({ file: storeFile(home) })
  } catch (error) {
    const { data } = BulkheadError.from(error)
    const message = `${messageOf(error)} Use --no-store to go on without state, approvals and audit.`
    throw new BulkheadError('StoreUnavailable', message, { cause: error, ...(data !== undefined && { data }) })
  }
}

/** Looking must not make a store where there is none. `what`: that which is looked for there. */
export async function withStore<Value>(home: string | undefined, what: string, use: (store: Store) => Promise<Value>): Promise<Value> {
  const file = storeFile(home)
  if (!existsSync(file)) {
    throw new BulkheadError('StoreUnavailable', `There is no ${what} at ${file}. It is made by the first call, or is elsewhere: use --home.`)
  }
  const { openSqliteStore } = await import('@bulkhead/store')
  const store = await openSqliteStore({ file })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
