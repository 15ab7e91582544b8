import { join } from 'node:path'
import type { ConfiguredLanguageServers } from '@bulkhead/bridges/lsp'
import type {
  FrameWatch, McpEmbedder, McpServers, McpServerStatus, ServerFault, ServerFrame, ServerKeyUse, SignInPrompt, Surroundings,
} from '@bulkhead/bridges/mcp'
import type { Offered, OpenapiDocuments } from '@bulkhead/bridges/openapi'
import {
  BulkheadError, type Diagnostic, type IgnoredFiles, type LanguageServers, type Loader, type LoadReport, type ServerJail,
} from '@bulkhead/contract'
import { deniedToServer } from '@bulkhead/host'
import type { OperatorEnvironment } from '@bulkhead/sandbox'
import { signInFolder } from './folders.ts'
import { CORE_VERSION } from './version.ts'

export interface ConnectedServersOptions {
  readonly loader: Pick<Loader, 'connect'>
  /** Canonical path. Local servers start here, and documents of the project are resolved here. */
  readonly workspace: string
  readonly operator: OperatorEnvironment
  readonly env: (name: string) => string | undefined
  /** Documents named in the global configuration are resolved here. It contains the tokens of remote servers. */
  readonly home: string
  /** Cache folder for the tool lists of servers and documents. */
  readonly cache: string
  /** The folder of {user-data}. */
  readonly userData: string
  readonly tenant?: string | undefined
  readonly jail: ServerJail
  /** What ignore files in these folders exclude now. */
  readonly ignored?: ((roots: readonly string[]) => IgnoredFiles | undefined) | undefined
  /** What MCP servers get from the embedder. */
  readonly embedder?: McpEmbedder | undefined
}

/** How long a session waits for servers whose tools are unknown. Tools of slower servers appear in a later turn. */
const DISCOVERY_MS = 5_000

/**
 * The MCP servers, OpenAPI documents and language servers of one workspace. Their code is loaded only if the
 * configuration names one.
 */
export class ConnectedServers {
  readonly #options: ConnectedServersOptions
  #servers: McpServers | undefined
  #documents: OpenapiDocuments | undefined
  /** By root: the workspace, and other roots of sessions. */
  readonly #languages = new Map<string, Promise<ConfiguredLanguageServers>>()
  #found: LoadReport | undefined
  #onFault: ((fault: ServerFault) => void) | undefined
  #onKeyUse: ((use: ServerKeyUse) => void) | undefined
  #takeOver: ((report: LoadReport) => Promise<unknown>) | undefined
  #taking: Promise<unknown> = Promise.resolve()

  constructor(options: ConnectedServersOptions) {
    this.#options = options
  }

  /** Adds the known tools of the configured servers and documents to a load report. Connects to nothing. */
  async beside(found: LoadReport): Promise<LoadReport> {
    this.#found = found
    const offered = [...await this.#ofServers(found), ...await this.#ofDocuments(found)]
    const faults = [...offered.flatMap(({ diagnostics }) => diagnostics), ...await this.#configureLanguages(found)]
    if (offered.length === 0 && faults.length === 0) return found
    const report = await this.#options.loader.connect(found, offered.flatMap(({ extensions }) => extensions))
    return { ...report, diagnostics: [...report.diagnostics, ...faults] }
  }

  /** Sets the callback for changed tool lists. undefined removes it. */
  attach(takeOver: ((report: LoadReport) => Promise<unknown>) | undefined): void {
    this.#takeOver = takeOver
  }

  get status(): readonly McpServerStatus[] {
    return this.#servers?.status ?? []
  }

  /** Calls the listener for each message of a server. undefined: there is no such server. */
  watchFrames(name: string, listener: (frame: ServerFrame) => void): FrameWatch | undefined {
    return this.#servers?.watchFrames(name, listener)
  }

  /** Of servers that could not be started or reached. */
  get diagnostics(): readonly Diagnostic[] {
    return this.#servers?.diagnostics ?? []
  }

  /** Sets the callbacks for servers that could not be started or reached, and for each use of a key. */
  watch(onFault: (fault: ServerFault) => void, onKeyUse: (use: ServerKeyUse) => void): void {
    this.#onFault = onFault
    this.#onKeyUse = onKeyUse
  }

  /**
   * The language servers of the present configuration. `root`: the workspace or another root of a session. Contract:
   * the caller may read everything in it.
   */
  async languages(root: string = this.#options.workspace): Promise<LanguageServers> {
    const isNew = !this.#languages.has(root)
    const languages = await this.#openLanguages(root)
    if (isNew && this.#found) languages.configure(this.#found.config)
    return languages
  }

  /** Why a local server with this grant cannot be confined on this machine; undefined if it can. */
  jailFault(grant: Parameters<ServerJail['findFault']>[0]): Promise<string | undefined> {
    return this.#options.jail.findFault(grant)
  }

  /** The known resources and prompts, by server. */
  get contents(): McpServers['contents'] {
    return this.#servers?.contents ?? new Map()
  }

  /** Resolves when each named server (default: all) has answered or failed, and its tools are loaded. */
  async connect(names?: readonly string[]): Promise<readonly McpServerStatus[]> {
    const chosen = names && new Set(names)
    await this.#servers?.connect(new AbortController().signal, ({ name }) => chosen?.has(name) ?? true)
    await this.#taking
    return this.status
  }

  /** Resolves when the person has signed in and the tools of the server are loaded. */
  async signIn(name: string, prompt: SignInPrompt): Promise<void> {
    await this.#required(name).signIn(name, prompt)
    await this.#taking
  }

  async signOut(name: string): Promise<boolean> {
    return this.#required(name).signOut(name)
  }

  /** Connects to servers whose tools are unknown, with a timeout. */
  async discover(): Promise<void> {
    if (this.status.some(isUndiscovered)) {
      await this.#servers?.connect(AbortSignal.timeout(DISCOVERY_MS), isUndiscovered)
    }
    await this.#taking
  }

  /** Loads the code that the configured servers and documents need later, before third-party code runs. */
  async loadLateCode(): Promise<void> {
    await import('@bulkhead/bridges/lsp')
    if (this.#found && hasKeys(this.#found)) await (await import('@bulkhead/sandbox')).loadKeyCode()
    if (this.#servers !== undefined) await (await import('@bulkhead/bridges/mcp')).loadLateCode()
    if (this.#documents !== undefined) await import('@bulkhead/bridges/openapi')
  }

  async close(): Promise<void> {
    this.attach(undefined)
    const languages = [...this.#languages.values()].map(async (opened) => (await opened).close())
    await Promise.all([this.#servers?.close(), ...languages])
  }

  #required(name: string): McpServers {
    if (this.#servers) return this.#servers
    const message = `There is no MCP server "${name}": the configuration has no servers.`
    throw new BulkheadError('SignInFailed', message, { data: { server: name } })
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
    const { cache, home, tenant, embedder } = this.#options
    return new Servers({
      self: SELF, cache: join(cache, 'mcp'), credentials: signInFolder(home, tenant), home, ...(embedder && { embedder }),
      surroundings: this.#surroundings(), onChange: () => this.#changed(), onFault: (fault) => this.#onFault?.(fault),
    })
  }

  async #configureLanguages(found: LoadReport): Promise<readonly Diagnostic[]> {
    const { workspace } = this.#options
    if (this.#languages.size === 0 && !isNamed(found, 'lsp')) return []
    const [diagnostics = []] = await Promise.all([...new Set([workspace, ...this.#languages.keys()])]
      .map(async (root) => (await this.#openLanguages(root)).configure(found.config)))
    return diagnostics
  }

  #openLanguages(root: string): Promise<ConfiguredLanguageServers> {
    const { workspace } = this.#options
    const opened = this.#languages.get(root) ?? import('@bulkhead/bridges/lsp').then((bridge) =>
      new bridge.ConfiguredLanguageServers({
        self: SELF, surroundings: this.#surroundings(root), isWorkspace: root === workspace,
      }))
    this.#languages.set(root, opened)
    return opened
  }

  #surroundings(workspace = this.#options.workspace): Surroundings {
    const { operator: { path, env: base }, env, userData, jail } = this.#options
    return {
      workspace, base: { ...base, PATH: path.join(':') }, env, userData, jail,
      onKeyUse: (use) => this.#onKeyUse?.(use),
      deniedTo: ({ kind, name }) => this.#found && deniedToServer({
        config: this.#found.config, variables: { workspace: [workspace], 'user-data': [userData] },
        tools: kind === 'MCP server' ? [`mcp:${name}:*`, `${name}_*`] : ['lsp'],
        ignored: this.#options.ignored?.([workspace]),
      }),
    }
  }

  /** Serialized, so that the newest report is loaded last. */
  #changed(): void {
    this.#taking = this.#taking.then(async () => {
      if (this.#found === undefined) return
      const report = await this.beside(this.#found)
      await this.#takeOver?.(report)
      // Fails only while the host closes.
    }).catch(() => undefined)
  }
}

const SELF = { name: 'bulkhead', version: CORE_VERSION }

const isNamed = ({ config: { layers } }: LoadReport, key: 'mcp' | 'openapi' | 'lsp'): boolean =>
  layers.some(({ config }) => Object.keys(config[key] ?? {}).length > 0)

const hasKeys = ({ config: { layers } }: LoadReport): boolean => layers.some(({ config: { mcp = {}, lsp = {} } }) =>
  [...Object.values(mcp), ...Object.values(lsp)].some((server) => 'keys' in server))

const isUndiscovered = ({ state, tools }: McpServerStatus): boolean =>
  tools === undefined && (state === 'unknown' || state === 'unavailable')
