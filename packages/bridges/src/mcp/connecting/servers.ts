import {
  beyond, type BulkheadError, declaredCeiling, declaredPower, type Diagnostic, type Layer, type Log, type ModuleTool, type ResolvedConfig,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { diagnosticOf, type Offered } from '../../connected/entries.ts'
import { CatalogFiles } from './catalog/catalog.ts'
import { type Carrier, givenTo, powersOf, serverExtension } from './catalog/server-extension.ts'
import { type CarriedCall, Connection, type ConnectionOptions, type ServerState } from './connection.ts'
import { serverEntries, type ServerEntry } from './server-entry.ts'

export interface McpServersOptions extends Pick<ConnectionOptions, 'surroundings' | 'self' | 'now' | 'connectMs'> {
  /** The folder to remember in what servers offer. Default: nothing is remembered. */
  readonly cache?: string
  /** Called when a server offers something else than before. Contract: must not throw. */
  onChange(): void
}

/** One server as people are shown it. */
export interface McpServerStatus {
  readonly name: string
  readonly type: 'local' | 'remote'
  readonly layer: Layer
  /** The command line or the URL. */
  readonly address: string
  readonly state: ServerState | 'disabled'
  /** How many tools it offers, where that is known. */
  readonly tools: number | undefined
  /** Why it is unavailable. */
  readonly error?: BulkheadError
}

/** The MCP servers of one workspace. Nothing is started or reached by making it, nor by asking what is offered. */
export class McpServers {
  readonly #options: McpServersOptions
  readonly #files: CatalogFiles
  readonly #connections = new Map<string, { readonly entry: ServerEntry; readonly connection: Connection }>()
  readonly #leaving = new Set<Promise<void>>()
  #disabled: readonly ServerEntry[] = []
  #isClosed = false

  constructor(options: McpServersOptions) {
    this.#options = options
    this.#files = new CatalogFiles(options.cache)
  }

  /** Goes by this configuration from here on: what it no longer names is ended. */
  offer(config: ResolvedConfig): Offered {
    if (this.#isClosed) return { extensions: [], diagnostics: [] }
    const { entries, diagnostics } = serverEntries(config)
    const refused = entries.flatMap((entry) => refusalOf(entry, config) ?? [])
    const allowed = entries.filter((entry) => !refused.some(({ path }) => path === entry.path))
    this.#disabled = allowed.filter((entry) => entry.config.enabled === false)
    const wanted = allowed.filter((entry) => entry.config.enabled !== false)
    this.#keepOnly(wanted)
    const offered = wanted.map((entry) => this.#offerOf(entry))
    return {
      extensions: offered.flatMap(({ extension }) => extension ?? []),
      diagnostics: [...diagnostics, ...refused, ...offered.flatMap((one) => one.diagnostics)],
    }
  }

  get status(): readonly McpServerStatus[] {
    const live = [...this.#connections.values()].map(({ entry, connection }) => statusOf(entry, connection))
    return [...live, ...this.#disabled.map((entry) => statusOf(entry, undefined))].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * Starts or reaches these, all unless given, and hears what they offer. Resolves when each has answered or failed, or the signal
   * is aborted; what fails shows in the status.
   */
  async connect(signal: AbortSignal, which: (status: McpServerStatus) => boolean = () => true): Promise<void> {
    const chosen = [...this.#connections.values()].filter(({ entry, connection }) => which(statusOf(entry, connection)))
    await Promise.allSettled(chosen.map(({ connection }) => connection.connect(signal)))
  }

  /** Ends every server; from here on none is offered. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#keepOnly([])
    await Promise.all(this.#leaving)
  }

  #keepOnly(wanted: readonly ServerEntry[]): void {
    const keys = new Set(wanted.map(keyOf))
    for (const [key, { connection }] of this.#connections) {
      if (keys.has(key)) continue
      this.#connections.delete(key)
      const gone: Promise<void> = connection.close().finally(() => this.#leaving.delete(gone))
      this.#leaving.add(gone)
    }
  }

  #offerOf(entry: ServerEntry): ReturnType<typeof serverExtension> {
    const connection = this.#connectionOf(entry)
    const { catalog } = connection
    if (catalog === undefined) return { extension: undefined, diagnostics: [] }
    const carry: Carrier = (tool) => {
      const execute = (args: JsonObject, runtime: CarriedCall) => connection.call(tool, args, runtime)
      return { execute: execute as ModuleTool['execute'] }
    }
    return serverExtension(entry, catalog, carry, { init: ({ log }: { readonly log: Log }) => connection.logTo(log) })
  }

  #connectionOf(entry: ServerEntry): Connection {
    const key = keyOf(entry)
    const known = this.#connections.get(key)
    if (known) {
      this.#connections.set(key, { entry, connection: known.connection })
      return known.connection
    }
    const { surroundings, self, now, connectMs, onChange } = this.#options
    const connection = new Connection(entry, {
      surroundings, self, remembered: this.#files.read(entry.identity),
      ...(now && { now }), ...(connectMs !== undefined && { connectMs }),
      onCatalog: (catalog) => {
        this.#files.write(entry.identity, catalog)
        if (!this.#isClosed) onChange()
      },
    })
    this.#connections.set(key, { entry, connection })
    return connection
  }
}

const keyOf = ({ name, identity, layer }: ServerEntry): string => `${layer} ${name} ${identity}`

/** Nothing holds a server to less than it can do, so one that can do more than the ceiling allows is not used at all. */
function refusalOf(entry: ServerEntry, { merged }: ResolvedConfig): Diagnostic | undefined {
  const ceiling = merged.policy?.ceiling
  const more = ceiling === undefined ? [] : beyond(declaredPower(powersOf(entry.config), givenTo(entry.config)), declaredCeiling(ceiling))
  if (more.length === 0) return undefined
  const message = `The server "${entry.name}" can do more than policy.ceiling allows, and nothing holds it to less: ${more.map(({ kind, subject }) => `${kind}: ${subject}`).join('; ')}.`
  return diagnosticOf(entry, 'CapabilityDenied', message, 'Raise the ceiling, or do without the server.')
}

function statusOf({ name, layer, address, config: { type } }: ServerEntry, connection: Connection | undefined): McpServerStatus {
  const fault = connection?.fault
  return {
    name, type, layer, address, state: connection?.state ?? 'disabled', tools: connection?.catalog?.tools.length,
    ...(fault && { error: fault }),
  }
}

/** Imports the client code before third-party code runs. Never rejects. */
export const loadLateCode = (): Promise<unknown> => import('./transport/client.ts').catch(() => undefined)
