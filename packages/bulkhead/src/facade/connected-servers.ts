import { join } from 'node:path'
import type { McpServers, McpServerStatus } from '@bulkhead/bridges/mcp'
import type { Offered, OpenapiDocuments } from '@bulkhead/bridges/openapi'
import type { Loader, LoadReport } from '@bulkhead/contract'
import type { OperatorEnvironment } from '@bulkhead/sandbox'
import { CORE_VERSION } from './version.ts'

export interface ConnectedServersOptions {
  readonly loader: Pick<Loader, 'connect'>
  /** The canonical path that local servers are started in, and that documents of a project lie in. */
  readonly workspace: string
  readonly operator: OperatorEnvironment
  readonly env: (name: string) => string | undefined
  /** The folder that documents are looked for in which the user names. */
  readonly home: string
  /** The folder to remember in what servers offer and documents describe. */
  readonly cache: string
}

/** So long a session waits for servers of which nobody knows what they offer. Those that are slower come with a later turn. */
const PATIENCE_MS = 5_000

/**
 * The MCP servers and OpenAPI documents of one workspace beside what a loader found there. Where the configuration names none,
 * nothing is loaded for them.
 */
export class ConnectedServers {
  readonly #options: ConnectedServersOptions
  #servers: McpServers | undefined
  #documents: OpenapiDocuments | undefined
  #found: LoadReport | undefined
  #takeOver: ((report: LoadReport) => Promise<unknown>) | undefined
  #taking: Promise<unknown> = Promise.resolve()

  constructor(options: ConnectedServersOptions) {
    this.#options = options
  }

  /** What was found, and what the servers and documents that it names offer as far as that is known. Starts nothing. */
  async beside(found: LoadReport): Promise<LoadReport> {
    this.#found = found
    const offered = [...await this.#ofServers(found), ...await this.#ofDocuments(found)]
    if (offered.length === 0) return found
    const report = await this.#options.loader.connect(found, offered.flatMap(({ extensions }) => extensions))
    return { ...report, diagnostics: [...report.diagnostics, ...offered.flatMap(({ diagnostics }) => diagnostics)] }
  }

  /** Who is told when servers offer something else than before; nobody any more, without one. */
  attach(takeOver: ((report: LoadReport) => Promise<unknown>) | undefined): void {
    this.#takeOver = takeOver
  }

  get status(): readonly McpServerStatus[] {
    return this.#servers?.status ?? []
  }

  /** Resolves when each of these, all unless named, has answered or failed, and what they offer has been taken over. */
  async connect(names?: readonly string[]): Promise<readonly McpServerStatus[]> {
    const chosen = names && new Set(names)
    await this.#servers?.connect(new AbortController().signal, ({ name }) => chosen?.has(name) ?? true)
    await this.#taking
    return this.status
  }

  /** The same for those of which nothing is known yet, and not for longer than one likes to wait. */
  async discover(): Promise<void> {
    if (this.status.some(isUnheard)) await this.#servers?.connect(AbortSignal.timeout(PATIENCE_MS), isUnheard)
    await this.#taking
  }

  /** Loads the code that the configured servers and documents need later, before third-party code runs. */
  async loadLateCode(): Promise<void> {
    if (this.#servers !== undefined) await (await import('@bulkhead/bridges/mcp')).loadLateCode()
    if (this.#documents !== undefined) await (await import('@bulkhead/bridges/openapi')).documentThread.load()
  }

  async close(): Promise<void> {
    this.attach(undefined)
    await this.#servers?.close()
  }

  async #ofServers(found: LoadReport): Promise<readonly Offered[]> {
    if (this.#servers === undefined && !isNamed(found, 'mcp')) return []
    this.#servers ??= await this.#make()
    return [this.#servers.offer(found.config)]
  }

  async #ofDocuments(found: LoadReport): Promise<readonly Offered[]> {
    if (!isNamed(found, 'openapi')) return []
    const { workspace, home, cache } = this.#options
    const { OpenapiDocuments: Documents } = await import('@bulkhead/bridges/openapi')
    this.#documents ??= new Documents({ workspace, home, cache: join(cache, 'openapi') })
    return [await this.#documents.offer(found.config, found.projectDocuments)]
  }

  async #make(): Promise<McpServers> {
    const { McpServers: Servers } = await import('@bulkhead/bridges/mcp')
    const { workspace, operator: { path, env: base }, env, cache } = this.#options
    return new Servers({
      self: { name: 'bulkhead', version: CORE_VERSION }, cache: join(cache, 'mcp'),
      surroundings: { workspace, base: { ...base, PATH: path.join(':') }, env },
      onChange: () => this.#changed(),
    })
  }

  /** One after the other, so that the newest is taken over last. */
  #changed(): void {
    this.#taking = this.#taking.then(async () => {
      if (this.#found === undefined) return
      const report = await this.beside(this.#found)
      await this.#takeOver?.(report)
      // It is only ever refused by a host that closes.
    }).catch(() => undefined)
  }
}

const isNamed = ({ config: { layers } }: LoadReport, key: 'mcp' | 'openapi'): boolean =>
  layers.some(({ config }) => Object.keys(config[key] ?? {}).length > 0)

const isUnheard = ({ state, tools }: McpServerStatus): boolean => tools === undefined && (state === 'unknown' || state === 'unavailable')
