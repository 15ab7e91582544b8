import { BulkheadError, type Interact, type Log } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { callFault, carriedResult, isLineFault, redactorOf, unavailable, ServerLog } from './server-messages.ts'
import { catalogDigest, readCatalog, type Catalog, type CatalogTool } from './catalog/catalog.ts'
import type { LiveClient } from './transport/client.ts'
import { Elicitation } from './elicitation.ts'
import { Backoff } from './backoff.ts'
import { secretsOf, targetOf, type ServerEntry, type Surroundings } from './server-entry.ts'

/** unknown: not connected, and its tools were never listed. known: not connected, and its list of tools is cached. */
export type ServerState = 'unknown' | 'known' | 'connecting' | 'connected' | 'unavailable'
type ConnectionSignal = 'connect' | 'opened' | 'failed' | 'lost'

/** The states of a connection. An absent cell is a transition that cannot happen. */
export const CONNECTION = {
  unknown: { connect: 'connecting' },
  known: { connect: 'connecting' },
  connecting: { opened: 'connected', failed: 'unavailable' },
  connected: { lost: 'unavailable' },
  unavailable: { connect: 'connecting' },
} as const satisfies Record<ServerState, Partial<Record<ConnectionSignal, ServerState>>>

/** A state with what belongs to it. */
type Standing =
  | { readonly state: 'unknown' | 'known' }
  | { readonly state: 'connecting'; readonly opening: Promise<LiveClient> }
  | { readonly state: 'connected'; readonly live: LiveClient }
  | { readonly state: 'unavailable'; readonly fault: BulkheadError }

export interface ConnectionOptions {
  readonly surroundings: Surroundings
  /** Who we say we are. */
  readonly self: { readonly name: string; readonly version: string }
  /** What it offered when it was last asked. */
  readonly remembered: Catalog | undefined
  /** Called when it offers something else than before. Contract: must not throw. */
  onCatalog(catalog: Catalog): void
  /** Milliseconds that only ever rise. */
  readonly now?: () => number
  /** For starting or reaching it, and hearing what it offers. */
  readonly connectMs?: number
}

export interface CarriedCall {
  readonly signal: AbortSignal
  readonly interact?: Interact
  progress(text: string): void
}

const CONNECT_MS = 60_000

/**
 * One server and the connection to it. The first call that needs it connects. After a failure the next call connects again, once the
 * backoff has passed. `#move` is the only writer of the state.
 */
export class Connection {
  readonly #entry: ServerEntry
  readonly #options: ConnectionOptions
  readonly #elicitation = new Elicitation()
  readonly #closing = new AbortController()
  readonly #backoff: Backoff
  /** Of the values that the last try to connect has used. */
  #redact: (text: string) => string
  readonly #log: ServerLog
  #catalog: Catalog | undefined
  #standing: Standing
  /** No longer used, but open while calls run: the failure of one call says nothing about the others. */
  readonly #retired = new Set<LiveClient>()
  #refreshing: Promise<void> = Promise.resolve()
  /** Whether a refresh of the list is scheduled that has not started yet. */
  #isStale = false

  constructor(entry: ServerEntry, options: ConnectionOptions) {
    this.#entry = entry
    this.#options = options
    this.#catalog = options.remembered
    this.#standing = { state: options.remembered ? 'known' : 'unknown' }
    this.#backoff = new Backoff(options.now ?? (() => performance.now()))
    this.#redact = redactorOf(secretsOf(entry, options.surroundings))
    this.#log = new ServerLog((line) => visibleText(this.#redact(line)))
  }

  /** The newest list that is known. */
  get catalog(): Catalog | undefined {
    return this.#catalog
  }

  get state(): ServerState {
    return this.#standing.state
  }

  /** Why it is unavailable. */
  get fault(): BulkheadError | undefined {
    return this.#standing.state === 'unavailable' ? this.#standing.fault : undefined
  }

  /** Sends the standard error of the server there, including what was written so far. */
  logTo(log: Log): void {
    this.#log.to(log)
  }

  /** Resolves when it answers and its list is known. Rejects with ServerUnavailable, EnvNameNotSet, or the reason of the signal. */
  async connect(signal: AbortSignal): Promise<void> {
    await this.#ready(signal)
  }

  /** Rejects with ToolDefinitionChanged, before anything is sent, where the tool is no longer what was offered. */
  async call(offered: CatalogTool, args: JsonObject, { signal, interact, progress }: CarriedCall): Promise<JsonObject> {
    const live = await this.#ready(signal)
    await untilAborted(this.#refreshing, signal)
    this.#refuseChanged(offered)
    try {
      const onProgress = (text: string) => progress(visibleText(this.#redact(text)))
      const answer = await this.#elicitation.during(interact, () => live.call({ tool: offered, args, signal, onProgress }))
      this.#backoff.succeeded()
      return carriedResult(answer, this.#redact)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (!isLineFault(error)) throw callFault(this.#entry.name, error, this.#redact)
      // A local server reports by its exit why it ended; a remote one is connected to again by the next call.
      const hasEnded = this.#entry.config.type === 'local' && this.#live !== live
      const reason = hasEnded ? await live.ended ?? error : error
      this.#lost(live, error)
      this.#retire(live)
      throw callFault(this.#entry.name, reason instanceof RangeError ? reason : error, this.#redact)
    }
  }

  /** Resolves when nothing of it is left. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(this.#unavailable('the host is done with it'))
    const standing = this.#standing
    const live = standing.state === 'connecting' ? await standing.opening.catch(() => undefined) : this.#live
    await Promise.all([live, ...this.#retired].map((one) => one?.close()))
  }

  get #live(): LiveClient | undefined {
    return this.#standing.state === 'connected' ? this.#standing.live : undefined
  }

  #move(signal: ConnectionSignal, to: Standing): void {
    const cells: Partial<Record<ConnectionSignal, ServerState>> = CONNECTION[this.#standing.state]
    if (cells[signal] !== to.state) throw new Error(`A connection that is ${this.#standing.state} cannot become ${to.state} by ${signal}.`)
    this.#standing = to
  }

  #ready(signal: AbortSignal): Promise<LiveClient> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason)
    const standing = this.#standing
    if (standing.state === 'connected') return Promise.resolve(standing.live)
    if (standing.state === 'connecting') return untilAborted(standing.opening, signal)
    const { leftMs } = this.#backoff
    if (leftMs > 0) return Promise.reject(this.#inBackoff(leftMs))
    const opening = this.#open()
    this.#move('connect', { state: 'connecting', opening })
    return untilAborted(opening, signal)
  }

  async #open(): Promise<LiveClient> {
    const { name } = this.#entry
    const { surroundings, self, connectMs = CONNECT_MS } = this.#options
    const late = AbortSignal.timeout(connectMs)
    const signal = AbortSignal.any([this.#closing.signal, late])
    let opened: LiveClient | undefined
    try {
      const target = targetOf(this.#entry, surroundings)
      this.#redact = redactorOf(secretsOf(this.#entry, surroundings))
      const { openClient } = await import('./transport/client.ts')
      opened = await openClient({
        name, target, self, elicitation: this.#elicitation, signal,
        onStderr: (line) => this.#log.add(line),
        onListChanged: () => this.#refresh(),
      })
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
        : this.#openFault(late.aborted ? new Error(`it did not answer within ${connectMs} ms`) : reason)
      this.#backoff.failed()
      this.#move('failed', { state: 'unavailable', fault })
      throw fault
    }
  }

  #began(live: LiveClient, catalog: Catalog): void {
    this.#move('opened', { state: 'connected', live })
    void live.ended.then((why) => this.#lost(live, why))
    this.#take(catalog)
  }

  #lost(live: LiveClient, why: unknown): void {
    if (this.#live !== live) return
    this.#backoff.failed()
    this.#move('lost', { state: 'unavailable', fault: this.#unavailable(this.#withLastLine(why === undefined ? 'it ended' : messageOf(why))) })
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
        this.#log.add(`Its list of tools could not be read again: ${messageOf(error)}`)
      }
    })
  }

  #take(catalog: Catalog): void {
    const before = this.#catalog
    this.#catalog = catalog
    if (before?.version !== catalog.version || catalogDigest(before) !== catalogDigest(catalog)) this.#options.onCatalog(catalog)
  }

  #refuseChanged({ name, digest }: CatalogTool): void {
    const now = this.#catalog?.tools.find((tool) => tool.name === name)
    if (now?.digest === digest) return
    const what = now ? 'describes its tool in other words than before' : 'no longer has its tool'
    const message = `The MCP server "${this.#entry.name}" ${what} "${name}". The call was not sent.`
    throw new BulkheadError('ToolDefinitionChanged', message, { data: { server: this.#entry.name, tool: name } })
  }

  #openFault(error: unknown): BulkheadError {
    if (error instanceof RangeError) return this.#unavailable(this.#withLastLine(`it sent too much at once: ${error.message}`))
    const fault = callFault(this.#entry.name, error, this.#redact)
    if (fault.code === 'ServerUnavailable' || fault.code === 'EnvNameNotSet' || fault.code === 'CapabilityUnavailable') return fault
    return this.#unavailable(this.#withLastLine(fault.code === 'ServerLost' ? 'it ended before it was ready' : fault.message))
  }

  /** The last line of standard error often says why a server ended. */
  #withLastLine(what: string): string {
    const line = this.#log.last
    return visibleText(this.#redact(what)).replace(/\.$/, '') + (line === undefined ? '' : `. It said last: ${line}`)
  }

  #inBackoff(ms: number): BulkheadError {
    const seconds = Math.ceil(ms / 1_000)
    const why = this.fault?.message.replace(/\.$/, '') ?? 'it failed'
    return this.#unavailable(`${why}. It is tried again when it is called in ${seconds} s`, ms)
  }

  #unavailable(why: string, retryAfterMs?: number): BulkheadError {
    const { name } = this.#entry
    const text = why.startsWith(unavailable(name)) ? why : `${unavailable(name)}: ${why}`
    const data = { server: name, ...(retryAfterMs !== undefined && { retryAfterMs: Math.ceil(retryAfterMs) }) }
    return new BulkheadError('ServerUnavailable', `${text}.`.replace(/\.\.$/, '.'), { data })
  }
}

const listed = async (live: LiveClient, signal: AbortSignal): Promise<Catalog> =>
  readCatalog(live.version, await live.list(signal), live.sendsHeaders)
