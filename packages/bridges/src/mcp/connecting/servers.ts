import {
  BulkheadError, type Diagnostic, type ErrorCode, type Layer, type Log, type ModuleTool, type ResolvedConfig,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { diagnosticOf, type Offered } from '../../connected/entries.ts'
import { beyondCeilings } from '../../connected/local-server.ts'
import { CatalogFiles } from './catalog/catalog.ts'
import type { ServerContent } from './catalog/server-content.ts'
import { type ToolExecutor, givenTo, powersOf, serverExtension } from './catalog/server-extension.ts'
import { Connection } from './connection.ts'
import type { CallContext, ConnectionOptions } from './connection-options.ts'
import type { FrameWatch, ServerFrame } from './frame-tap.ts'
import type { ServerState } from './connection-state.ts'
import { missingGrants } from './missing-grants.ts'
import { serverEntries, unconfinedOf, type ServerEntry } from './server-entry.ts'
import type { McpEmbedder } from './server-requests.ts'
import type { SignInPrompt } from './sign-in/sign-in.ts'

export interface McpServersOptions extends Pick<ConnectionOptions, 'surroundings' | 'self' | 'now' | 'connectMs'> {
  /** The cache folder for lists of tools. Default: no cache. */
  readonly cache?: string
  /** The folder for tokens of remote servers. Default: they are kept in memory. */
  readonly credentials?: string
  /** What the embedder gives to servers. Default: nothing. */
  readonly embedder?: McpEmbedder
  /** The folder that {home} in an entry stands for, where `mcp add` installs servers. */
  readonly home?: string
  /** Called when the tools of a server have changed. Must not throw. */
  onChange(): void
  /** Called when a server could not be started or reached. Must not throw. */
  onFault?(fault: ServerFault): void
}

/** A server that could not be started or reached. */
export interface ServerFault {
  readonly server: string
  readonly extensionId: string
  readonly errorCode: ErrorCode
  readonly message: string
}

/** The status of a server, for display. */
export interface McpServerStatus {
  readonly name: string
  readonly type: 'local' | 'remote'
  readonly layer: Layer
  /** The command line or the URL. */
  readonly address: string
  /** Set for a local server without a jail. It has all rights of the user. */
  readonly unconfined?: true | 'network'
  readonly state: ServerState | 'disabled'
  /** Of a local server that is connected. */
  readonly pid?: number
  /** How often it connected again after the connection was lost. */
  readonly restarts: number
  /** Number of its tools, if known. */
  readonly tools: number | undefined
  /** Why the server is unavailable. */
  readonly error?: BulkheadError
}

/** The MCP servers of one workspace. Connects only in `connect` and when a tool is called. */
export class McpServers {
  readonly #options: McpServersOptions
  readonly #files: CatalogFiles
  readonly #connections = new Map<string, { readonly entry: ServerEntry; readonly connection: Connection }>()
  readonly #closing = new Set<Promise<void>>()
  #disabled: readonly ServerEntry[] = []
  #isClosed = false

  constructor(options: McpServersOptions) {
    this.#options = options
    this.#files = new CatalogFiles(options.cache)
  }

  /** Applies a configuration: closes servers that it no longer names, and returns the known tools. */
  offer(config: ResolvedConfig): Offered {
    if (this.#isClosed) return { extensions: [], diagnostics: [] }
    const { entries, diagnostics } = serverEntries(config, this.#options.home)
    const refused = entries.flatMap((entry) => refusalOf(entry, config) ?? [])
    const allowed = entries.filter((entry) => !refused.some(({ path }) => path === entry.path))
    this.#disabled = allowed.filter((entry) => entry.config.enabled === false)
    const wanted = allowed.filter((entry) => entry.config.enabled !== false)
    this.#keepOnly(wanted)
    const offered = wanted.map((entry) => this.#offerOf(entry))
    return {
      extensions: offered.flatMap(({ extension }) => extension ?? []),
      diagnostics: [
        ...diagnostics, ...refused, ...wanted.flatMap((entry) => missingGrants(entry, this.#options.surroundings)),
        ...offered.flatMap((one) => one.diagnostics),
      ],
    }
  }

  get status(): readonly McpServerStatus[] {
    const live = [...this.#connections.values()].map(({ entry, connection }) => statusOf(entry, connection))
    return [...live, ...this.#disabled.map((entry) => statusOf(entry, undefined))]
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Of servers that could not be started or reached with the last attempt. */
  get diagnostics(): readonly Diagnostic[] {
    return [...this.#connections.values()].flatMap(({ entry, connection: { startFault } }) =>
      startFault ? [diagnosticOf(entry, startFault.code, startFault.message)] : [])
  }

  /** Calls the listener for each message of a server. undefined: there is none. */
  watchFrames(name: string, listener: (frame: ServerFrame) => void): FrameWatch | undefined {
    return this.#connections.values().find(({ entry }) => entry.name === name)?.connection.frames.watch(listener)
  }

  /** The resources and prompts that are known, by server. Connects to nothing. */
  get contents(): ReadonlyMap<string, ServerContent> {
    return new Map([...this.#connections.values()].map(({ entry, connection }) =>
      [entry.name, connection.catalog?.content ?? {}]))
  }

  /**
   * Connects to the chosen servers (default: all) and lists their tools. Resolves when each has responded or failed, or
   * the signal is aborted. Failures are in the status.
   */
  async connect(signal: AbortSignal, which: (status: McpServerStatus) => boolean = () => true): Promise<void> {
    const chosen = [...this.#connections.values()].filter(({ entry, connection }) => which(statusOf(entry, connection)))
    await Promise.allSettled(chosen.map(({ connection }) => connection.connect(signal)))
  }

  /** Signs a person in to a remote server and lists its tools. Rejects with SignInFailed, or as a connection does. */
  async signIn(name: string, prompt: SignInPrompt): Promise<void> {
    await this.#named(name).signIn(prompt)
  }

  /** Deletes the tokens for a server. Resolves to whether there were any. */
  async signOut(name: string): Promise<boolean> {
    return this.#named(name).signOut()
  }

  /** Closes all servers. No tools are offered afterwards. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#keepOnly([])
    await Promise.all(this.#closing)
  }

  #named(name: string): Connection {
    const found = this.#connections.values().find(({ entry }) => entry.name === name)
    if (found) return found.connection
    const isDisabled = this.#disabled.some((entry) => entry.name === name)
    const what = isDisabled ? `The MCP server "${name}" is disabled.` : `There is no MCP server "${visibleText(name)}".`
    const message = `${what} \`bulkhead tools\` lists the servers of the configuration.`
    throw new BulkheadError('SignInFailed', message, { data: { server: name } })
  }

  #keepOnly(wanted: readonly ServerEntry[]): void {
    const keys = new Set(wanted.map(keyOf))
    for (const [key, { connection }] of this.#connections) {
      if (keys.has(key)) continue
      this.#connections.delete(key)
      const closed: Promise<void> = connection.close().finally(() => this.#closing.delete(closed))
      this.#closing.add(closed)
    }
  }

  #offerOf(entry: ServerEntry): ReturnType<typeof serverExtension> {
    const connection = this.#connectionOf(entry)
    const { catalog } = connection
    if (catalog === undefined) return { extension: undefined, diagnostics: [] }
    const executorOf: ToolExecutor = (tool) => {
      const execute = (args: JsonObject, runtime: CallContext) => connection.call(tool, args, runtime)
      return { execute: execute as ModuleTool['execute'] }
    }
    const init = ({ log }: { readonly log: Log }) => connection.logTo(log)
    return serverExtension(entry, catalog, executorOf, { init })
  }

  #connectionOf(entry: ServerEntry): Connection {
    const key = keyOf(entry)
    const known = this.#connections.get(key)
    if (known) {
      this.#connections.set(key, { entry, connection: known.connection })
      return known.connection
    }
    const { surroundings, self, credentials, embedder = {}, now, connectMs, onChange, onFault } = this.#options
    const { name: server, extensionId } = entry
    const connection = new Connection(entry, {
      surroundings, self, credentials, embedder, cached: this.#files.read(entry.identity),
      ...(now && { now }), ...(connectMs !== undefined && { connectMs }),
      onCatalog: (catalog, hasNewTools) => {
        this.#files.write(entry.identity, catalog)
        if (hasNewTools && !this.#isClosed) onChange()
      },
      onStartFault: ({ code: errorCode, message }) => onFault?.({ server, extensionId, errorCode, message }),
    })
    this.#connections.set(key, { entry, connection })
    return connection
  }
}

const keyOf = ({ name, identity, layer }: ServerEntry): string => `${layer} ${name} ${identity}`

/** A server is not confined to a ceiling, so one that can do more than it allows is not used. */
function refusalOf(entry: ServerEntry, config: ResolvedConfig): Diagnostic | undefined {
  const items = beyondCeilings(powersOf(entry.config), givenTo(entry.config), config)
  if (items === undefined) return undefined
  const message = `The server "${entry.name}" can do more than policy.ceiling allows, and servers cannot be confined `
    + `to a ceiling: ${items}.`
  return diagnosticOf(entry, 'CapabilityDenied', message, 'Raise the ceiling, or remove the server.')
}

function statusOf(
  { name, layer, address, config }: ServerEntry, connection: Connection | undefined,
): McpServerStatus {
  const fault = connection?.fault
  const { type } = config
  return {
    name, type, layer, address, ...unconfinedOf(config),
    state: connection?.state ?? 'disabled', restarts: connection?.restarts ?? 0,
    ...(connection?.pid !== undefined && { pid: connection.pid }), tools: connection?.catalog?.tools.length,
    ...(fault && { error: fault }),
  }
}

/** Imports the client code before third-party code runs. Never rejects. */
export const loadLateCode = (): Promise<unknown> => import('./transport/client.ts').catch(() => undefined)
