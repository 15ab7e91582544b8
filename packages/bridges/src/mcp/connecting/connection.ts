import { BulkheadError, type Log } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { Backoff, LimitReached } from '../../connected/backoff.ts'
import { redactorOf, ServerLog } from '../../connected/server-log.ts'
import { callFault, callResultOf, isConnectionFault } from './server-messages.ts'
import { FrameTap } from './frame-tap.ts'
import type { CallContext, ConnectionOptions } from './connection-options.ts'
import { ConnectionFaults } from './connection-faults.ts'
import { catalogDigest, readCatalog, type Catalog, type CatalogTool } from './catalog/catalog.ts'
import { listOf } from './catalog/server-content.ts'
import type { ClientOptions, LiveClient } from './transport/client.ts'
import { Elicitation } from './elicitation.ts'
import type { SignInPrompt } from './sign-in/sign-in.ts'
import { CredentialFile } from './sign-in/credentials.ts'
import { CONNECTION, type ConnectionSignal, type ServerState } from './connection-state.ts'
import { grantHint, withGrantHint, withHint } from './missing-grants.ts'
import { secretsOf, targetOf, type ServerEntry } from './server-entry.ts'
import { rootsOf, Sampling } from './server-requests.ts'

/** A state with what belongs to it. */
type Status =
  | { readonly state: 'unknown' | 'known' }
  | { readonly state: 'connecting'; readonly opening: Promise<LiveClient> }
  | { readonly state: 'connected'; readonly live: LiveClient }
  | { readonly state: 'unavailable'; readonly fault: BulkheadError; readonly wasConnected: boolean }

const CONNECT_MS = 60_000

/**
 * One server and the connection to it. The first call that needs it connects. After a failure the next call connects
 * again, once the backoff has passed. `#move` is the only writer of the state.
 */
export class Connection {
  readonly frames = new FrameTap()
  readonly #entry: ServerEntry
  readonly #options: ConnectionOptions
  readonly #elicitation = new Elicitation()
  readonly #sampling: Sampling | undefined
  readonly #closing = new AbortController()
  readonly #backoff: Backoff
  readonly #credentials: CredentialFile | undefined
  /** Removes the secrets that the last attempt to connect used, and its tokens. */
  #redact: (text: string) => string
  readonly #log: ServerLog
  readonly #faults: ConnectionFaults
  #catalog: Catalog | undefined
  #status: Status
  /** No longer used, but open while calls run: the failure of one call does not affect the others. */
  readonly #retired = new Set<LiveClient>()
  #refreshing: Promise<void> = Promise.resolve()
  #connections = 0
  /** Whether a refresh of the list is scheduled that has not started yet. */
  #isStale = false

  constructor(entry: ServerEntry, options: ConnectionOptions) {
    this.#entry = entry
    this.#options = options
    this.#catalog = options.cached
    this.#status = { state: options.cached ? 'known' : 'unknown' }
    this.#backoff = new Backoff(options.now ?? (() => performance.now()))
    const { sample } = options.embedder
    this.#sampling = sample && new Sampling(entry.name, sample, () => this.#elicitation.hasCalls)
    const { config } = entry
    this.#credentials = config.type === 'remote' ? new CredentialFile(options.credentials, new URL(config.url)) : undefined
    this.#redact = redactorOf(secretsOf(entry, options.surroundings))
    this.#log = new ServerLog((line) => visibleText(this.#redact(line)))
    this.#faults = new ConnectionFaults(entry, this.#log, (text) => this.#redact(text))
  }

  /** The newest known list of tools. */
  get catalog(): Catalog | undefined {
    return this.#catalog
  }

  get state(): ServerState {
    return this.#status.state
  }

  /** Why the server is unavailable. */
  get fault(): BulkheadError | undefined {
    return this.#status.state === 'unavailable' ? this.#status.fault : undefined
  }

  /** Why the last attempt to start or reach it failed. */
  get startFault(): BulkheadError | undefined {
    return this.#status.state === 'unavailable' && !this.#status.wasConnected ? this.#status.fault : undefined
  }

  /** Of a local server that is connected. */
  get pid(): number | undefined {
    return this.#live?.pid
  }

  /** How often it connected again after the connection was lost. */
  get restarts(): number {
    return Math.max(0, this.#connections - 1)
  }

  /** Sends the standard error of the server to a log, including earlier lines. */
  logTo(log: Log): void {
    this.#log.to(log)
  }

  /** Resolves when the tools are known. Rejects with ServerUnavailable, EnvNameNotSet, or the signal's reason. */
  async connect(signal: AbortSignal): Promise<void> {
    await this.#ready(signal)
  }

  /** Rejects with ToolDefinitionChanged, before sending anything, if the definition of the tool has changed. */
  async call(offered: CatalogTool, args: JsonObject, { signal, interact, progress }: CallContext): Promise<JsonObject> {
    const live = await this.#ready(signal)
    await untilAborted(this.#refreshing, signal)
    if (offered.access === undefined) this.#refuseChanged(offered)
    const list = offered.access && listOf(this.#catalog?.content ?? {}, offered.access, args)
    if (list) return callResultOf(list, this.#redact)
    if (!this.#elicitation.hasCalls) this.#sampling?.reset()
    const { count } = this.#log
    const hint = (text: string) => grantHint(this.#entry, [text, ...this.#log.since(count)].join('\n'))
    try {
      const onProgress = (text: string) => progress(visibleText(this.#redact(text)))
      const request = { tool: offered, args, signal, onProgress }
      const answer = await this.#elicitation.during(interact, () => live.call(request))
      this.#backoff.succeeded()
      return withGrantHint(callResultOf(answer, this.#redact), hint)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (!isConnectionFault(error)) throw withHint(callFault(this.#entry.name, error, this.#redact), hint)
      // The exit of a local server tells why it ended. For a remote server, the next call reconnects.
      const hasEnded = this.#entry.config.type === 'local' && this.#live !== live
      const reason = hasEnded ? await live.ended ?? error : error
      this.#lost(live, error)
      this.#retire(live)
      const isOurs = reason instanceof RangeError || reason instanceof LimitReached
      throw callFault(this.#entry.name, isOurs ? reason : error, this.#redact)
    }
  }

  /** Resolves when the person has signed in and the tools are known. Rejects with SignInFailed, or as `connect` does. */
  async signIn(prompt: SignInPrompt): Promise<void> {
    const { signIn } = await import('./transport/client.ts')
    const signal = AbortSignal.any([this.#closing.signal, prompt.signal])
    try {
      await signIn(this.#clientOptions(signal), { ...prompt, signal })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw this.#faults.ofOpening(error)
    }
    this.#backoff.forget()
    await this.connect(signal)
  }

  /** Forgets the tokens. Resolves to whether there were any. */
  async signOut(): Promise<boolean> {
    return await this.#credentials?.remove() ?? false
  }

  /** Resolves when the connection and its process have ended. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(this.#faults.unavailable('the connection is closed'))
    const status = this.#status
    const live = status.state === 'connecting' ? await status.opening.catch(() => undefined) : this.#live
    await Promise.all([live, ...this.#retired].map((one) => one?.close()))
  }

  get #live(): LiveClient | undefined {
    return this.#status.state === 'connected' ? this.#status.live : undefined
  }

  #move(signal: ConnectionSignal, to: Status): void {
    const cells: Partial<Record<ConnectionSignal, ServerState>> = CONNECTION[this.#status.state]
    if (cells[signal] !== to.state) {
      throw new Error(`A connection that is ${this.#status.state} cannot become ${to.state} by ${signal}.`)
    }
    this.#status = to
  }

  #ready(signal: AbortSignal): Promise<LiveClient> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason)
    const status = this.#status
    if (status.state === 'connected') return Promise.resolve(status.live)
    if (status.state === 'connecting') return untilAborted(status.opening, signal)
    const { leftMs } = this.#backoff
    if (leftMs > 0) return Promise.reject(this.#faults.inBackoff(leftMs, this.fault))
    const opening = this.#open()
    this.#move('connect', { state: 'connecting', opening })
    return untilAborted(opening, signal)
  }

  async #open(): Promise<LiveClient> {
    const { connectMs = CONNECT_MS } = this.#options
    const late = AbortSignal.timeout(connectMs)
    const signal = AbortSignal.any([this.#closing.signal, late])
    let opened: LiveClient | undefined
    try {
      const { openClient } = await import('./transport/client.ts')
      opened = await openClient(this.#clientOptions(signal))
      const catalog = await listed(opened, signal)
      signal.throwIfAborted()
      this.#began(opened, catalog)
      return opened
    } catch (error) {
      await opened?.close()
      const why = await opened?.ended
      const reason = why instanceof RangeError ? why : error
      const fault = this.#closing.signal.aborted
        ? this.#closing.signal.reason as BulkheadError
        : this.#faults.ofOpening(late.aborted ? new Error(`it did not respond within ${connectMs} ms`) : reason)
      this.#backoff.failed()
      this.#move('failed', { state: 'unavailable', fault, wasConnected: false })
      if (!this.#closing.signal.aborted) this.#options.onStartFault(fault)
      throw fault
    }
  }

  #clientOptions(signal: AbortSignal): ClientOptions {
    const { surroundings, self, embedder } = this.#options
    const target = targetOf(this.#entry, surroundings)
    const secrets = secretsOf(this.#entry, surroundings)
    this.#redact = redactorOf(secrets)
    this.frames.begin()
    return {
      name: this.#entry.name, target, self, elicitation: this.#elicitation, signal, credentials: this.#credentials,
      roots: rootsOf(this.#entry.name, target, embedder), sampling: this.#sampling,
      onSecrets: (tokens) => void (this.#redact = redactorOf(new Map([...secrets, ...tokens]))),
      onStderr: (line) => this.#log.add(line), onFrame: (way, message) => this.frames.note(way, message, this.#redact),
      onListChanged: () => this.#refresh(),
    }
  }

  #began(live: LiveClient, catalog: Catalog): void {
    this.#move('opened', { state: 'connected', live })
    this.#connections++
    void live.ended.then((why) => this.#lost(live, why))
    this.#take(catalog)
  }

  #lost(live: LiveClient, why: unknown): void {
    if (this.#live !== live) return
    this.#backoff.failed(why)
    this.#move('lost', { state: 'unavailable', fault: this.#faults.ofLoss(why), wasConnected: true })
  }

  #retire(live: LiveClient): void {
    this.#retired.add(live)
    void live.ended.then(() => this.#retired.delete(live))
    live.retire()
  }

  /** A change during a request for the list may be missing from the answer, so the list is requested once more. */
  #refresh(): void {
    if (this.#isStale) return
    this.#isStale = true
    this.#refreshing = this.#refreshing.then(async () => {
      this.#isStale = false
      const live = this.#live
      if (!live) return
      try {
        this.#take(await listed(live, this.#closing.signal))
      } catch (error) {
        this.#log.add(`The lists of the server could not be refreshed: ${messageOf(error)}`)
      }
    })
  }

  #take(catalog: Catalog): void {
    const before = this.#catalog
    this.#catalog = catalog
    const hasNewTools = before?.version !== catalog.version || catalogDigest(before) !== catalogDigest(catalog)
    if (hasNewTools || JSON.stringify(before.content) !== JSON.stringify(catalog.content)) {
      this.#options.onCatalog(catalog, hasNewTools)
    }
  }

  #refuseChanged({ name, digest }: CatalogTool): void {
    const now = this.#catalog?.tools.find((tool) => tool.name === name)
    if (now?.digest === digest) return
    const what = now ? 'has changed the definition of its tool' : 'no longer has the tool'
    const message = `The MCP server "${this.#entry.name}" ${what} "${name}". The call was not sent.`
    throw new BulkheadError('ToolDefinitionChanged', message, { data: { server: this.#entry.name, tool: name } })
  }
}

const listed = async (live: LiveClient, signal: AbortSignal): Promise<Catalog> =>
  readCatalog(live.version, await live.list(signal), live.sendsHeaders, await live.content(signal))
