import { relative, resolve, sep } from 'node:path'
import {
  BulkheadError, type CodeDiagnostic, type CodeLocation, type CodeSymbol, type Diagnostic,
  type LanguageServerConfig, type LanguageServers, type ResolvedConfig, type SourceFile, type TextPosition,
} from '@bulkhead/contract'
import { canonicalJson } from '@bulkhead/kit/json'
import { diagnosticOf, entriesOf, sha512, type Entry, type EntryKind } from '../connected/entries.ts'
import { beyondCeilings, findGrantFault, localGiven, localIdentity, localPowers } from '../connected/local-server.ts'
import { adviceFor, knownSuffixes } from './known-servers.ts'
import type { LanguageServer } from './language-server.ts'
import { ManagedServer, type ManagedOptions } from './managed-server.ts'

export type LanguageServerEntry = Entry<LanguageServerConfig>

const LANGUAGE_SERVERS: EntryKind<LanguageServerConfig, LanguageServerEntry> = {
  key: 'lsp', noun: 'language server',
  read: ({ lsp }) => lsp,
  make: (entry) => ({
    ...entry,
    identity: sha512(canonicalJson({ ...localIdentity(entry.config), suffixes: suffixesOf(entry.config) })),
  }),
  findFault: (config) => suffixesOf(config).length === 0
    ? 'has no "suffixes", and its command is not known. Name the files that it understands, such as [".rb"]'
    : findGrantFault(config),
}

const suffixesOf = ({ suffixes, command }: LanguageServerConfig): readonly string[] =>
  suffixes ?? knownSuffixes(command)

export interface LanguageServersOptions extends ManagedOptions {
  /** Default: true. In another root of a session, the paths in answers are absolute. */
  readonly isWorkspace?: boolean
}

/** The language servers of one workspace or other root. Each is started by its first question. */
export class ConfiguredLanguageServers implements LanguageServers {
  readonly #options: LanguageServersOptions
  readonly #servers = new Map<string, { readonly entry: LanguageServerEntry; readonly server: ManagedServer }>()
  readonly #closing = new Set<Promise<void>>()
  /** The places of entries that are refused. */
  #unused: readonly string[] = []
  #isClosed = false

  constructor(options: LanguageServersOptions) {
    this.#options = options
  }

  /** Uses the servers of a configuration. Ends those that it does not have. Starts nothing. */
  configure(config: ResolvedConfig): readonly Diagnostic[] {
    const { entries, diagnostics } = entriesOf(config, LANGUAGE_SERVERS)
    const refused = entries.flatMap((entry) => refusalOf(entry, config) ?? [])
    const wanted = this.#isClosed ? [] : entries.filter(({ path, config: { enabled } }) =>
      enabled !== false && !refused.some((one) => one.path === path))
    const keys = new Set(wanted.map(keyOf))
    for (const [key, { server }] of this.#servers) {
      if (keys.has(key)) continue
      this.#servers.delete(key)
      const closed: Promise<void> = server.close().finally(() => this.#closing.delete(closed))
      this.#closing.add(closed)
    }
    for (const entry of wanted) {
      const key = keyOf(entry)
      if (!this.#servers.has(key)) this.#servers.set(key, { entry, server: new ManagedServer(entry, this.#options) })
    }
    const faults = [...diagnostics, ...refused]
    this.#unused = faults.map(({ path }) => path)
    return faults
  }

  definition(source: SourceFile, at: TextPosition, signal: AbortSignal): Promise<readonly CodeLocation[]> {
    return this.#with(source, signal, (server, file) => server.locations('textDocument/definition', file, at, signal))
      .then((found) => this.#named(found))
  }

  references(source: SourceFile, at: TextPosition, signal: AbortSignal): Promise<readonly CodeLocation[]> {
    return this.#with(source, signal, (server, file) => server.locations('textDocument/references', file, at, signal))
      .then((found) => this.#named(found))
  }

  hover(source: SourceFile, at: TextPosition, signal: AbortSignal): Promise<string> {
    return this.#with(source, signal, (server, file) => server.hover(file, at, signal))
  }

  symbols(source: SourceFile, signal: AbortSignal): Promise<readonly CodeSymbol[]> {
    return this.#with(source, signal, (server, file) => server.symbols(file, signal)).then((found) => this.#named(found))
  }

  findSymbols(source: SourceFile, query: string, signal: AbortSignal): Promise<readonly CodeSymbol[]> {
    return this.#with(source, signal, (server, file) => server.findSymbols(file, query, signal))
      .then((found) => this.#named(found))
  }

  diagnostics(source: SourceFile, signal: AbortSignal): Promise<readonly CodeDiagnostic[]> {
    return this.#with(source, signal, (server, file) => server.diagnostics(file, signal))
  }

  /** Ends all servers. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    const servers = [...this.#servers.values()]
    this.#servers.clear()
    await Promise.all([...servers.map(({ server }) => server.close()), ...this.#closing])
  }

  async #with<Answer>(
    { path, text }: SourceFile, signal: AbortSignal,
    ask: (server: LanguageServer, file: SourceFile) => Promise<Answer>,
  ): Promise<Answer> {
    const { workspace } = this.#options.surroundings
    const inside = relative(workspace, resolve(workspace, path))
    if (inside === '..' || inside.startsWith(`..${sep}`)) {
      const message = `"${path}" is outside of the workspace. `
        + 'Language servers see the files of the workspace and of other roots only.'
      throw new BulkheadError('CapabilityUnavailable', message)
    }
    const server = this.#serverFor(inside)
    if (server !== undefined) return server.use(signal, (live) => ask(live, { path: inside, text }))
    const unused = this.#unused.map((place) => `"${place}"`).join(', ')
    const hint = unused === '' ? ''
      : ` These entries of the configuration cannot be used: ${unused}. Run "bulkhead doctor" to see why.`
    const message = `No language server is configured for "${path}". ${adviceFor(path)}${hint}`
    throw new BulkheadError('CapabilityUnavailable', message)
  }

  /** Paths as the session knows them: relative to its workspace, or absolute. */
  #named<Found extends CodeLocation>(found: readonly Found[]): readonly Found[] {
    const { isWorkspace = true, surroundings: { workspace } } = this.#options
    return isWorkspace ? found : found.map((one) => one.isOutside ? one : { ...one, path: resolve(workspace, one.path) })
  }

  /** The longest suffix decides. */
  #serverFor(path: string): ManagedServer | undefined {
    const lower = path.toLowerCase()
    const [best] = [...this.#servers.values()]
      .flatMap(({ entry, server }) => suffixesOf(entry.config)
        .filter((suffix) => lower.endsWith(suffix.toLowerCase())).map(({ length }) => ({ length, server })))
      .toSorted((a, b) => b.length - a.length)
    return best?.server
  }
}

const keyOf = ({ name, identity, layer }: LanguageServerEntry): string => `${layer} ${name} ${identity}`

/** A server is not confined to a ceiling, so one that can do more than it allows is not used. */
function refusalOf(entry: LanguageServerEntry, config: ResolvedConfig): Diagnostic | undefined {
  const items = beyondCeilings(localPowers(entry.config), localGiven(entry.config), config)
  if (items === undefined) return undefined
  const message = `The language server "${entry.name}" can do more than policy.ceiling allows, and servers cannot be `
    + `confined to a ceiling: ${items}.`
  return diagnosticOf(entry, 'CapabilityDenied', message, 'Raise the ceiling, or remove the server.')
}
