import { BulkheadError, type Interact, type Log } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { callFault, carriedResult, isLineFault, redactorOf, unavailable } from './call-outcome.ts'
import { catalogDigest, readCatalog, type Catalog, type CatalogTool } from './catalog/catalog.ts'
import type { LiveClient } from './transport/client.ts'
import { Elicitation } from './elicitation.ts'
import { Rests } from './backoff.ts'
import { ServerLog } from './server-log.ts'
import type { ServerEntry } from './server-entry.ts'
import { secretsOf, targetOf, type Surroundings } from './target.ts'

/** known: nothing runs, and what it offers is remembered. unknown: the same, and it is not. */
export type ServerState = 'unknown' | 'known' | 'connecting' | 'connected' | 'unavailable'

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
 * One server, and the way to it while there is one. It is started or reached by whoever needs it first, and again when it is
 * needed after it was lost, though not before it has rested.
 *
 *   unknown, known ─ connect or call ─▶ connecting ▶ connected ─ ends ─▶ unavailable ─ next call, rested ─▶ connecting
 *                                           └─ fails ─▶ unavailable
 */
export class Connection {
  readonly #entry: ServerEntry
  readonly #options: ConnectionOptions
  readonly #elicitation = new Elicitation()
  readonly #closing = new AbortController()
  readonly #rests: Rests
  /** Of the values that the last try to connect has used. */
  #redact: (text: string) => string
  readonly #log: ServerLog
  #catalog: Catalog | undefined
  #connecting: Promise<LiveClient> | undefined
  #live: LiveClient | undefined
  /** Not used any more, and not ended while calls run: what went wrong with one says nothing of the others. */
  readonly #retired = new Set<LiveClient>()
  #refreshing: Promise<void> = Promise.resolve()
  /** Whether a list is going to be asked for that has not been yet. */
  #isStale = false
  #fault: BulkheadError | undefined

  constructor(entry: ServerEntry, options: ConnectionOptions) {
    this.#entry = entry
    this.#options = options
    this.#catalog = options.remembered
    this.#rests = new Rests(options.now ?? (() => performance.now()))
    this.#redact = redactorOf(secretsOf(entry, options.surroundings))
    this.#log = new ServerLog((line) => visibleText(this.#redact(line)))
  }

  /** The newest list that is known. */
  get catalog(): Catalog | undefined {
    return this.#catalog
  }

  get state(): ServerState {
    if (this.#live) return 'connected'
    if (this.#connecting) return 'connecting'
    if (this.#fault) return 'unavailable'
    return this.#catalog ? 'known' : 'unknown'
  }

  /** Why it is unavailable. */
  get fault(): BulkheadError | undefined {
    return this.state === 'unavailable' ? this.#fault : undefined
  }

  /** From here on what the process says beside the protocol goes there; and what it has said so far. */
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
      this.#rests.worked()
      return carriedResult(answer, this.#redact)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (!isLineFault(error)) throw callFault(this.#entry.name, error, this.#redact)
      // A process that ended says why by its end; a far server is asked anew by the next call.
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
    const live = this.#live ?? await this.#connecting?.catch(() => undefined)
    await Promise.all([live, ...this.#retired].map((one) => one?.close()))
  }

  #ready(signal: AbortSignal): Promise<LiveClient> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason)
    if (this.#live) return Promise.resolve(this.#live)
    const { leftMs } = this.#rests
    if (!this.#connecting && leftMs > 0) return Promise.reject(this.#resting(leftMs))
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined
    })
    return untilAborted(this.#connecting, signal)
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
      if (this.#closing.signal.aborted) throw this.#closing.signal.reason
      this.#rests.failed()
      const reason = why instanceof RangeError ? why : error
      this.#fault = this.#openFault(late.aborted ? new Error(`it did not answer within ${connectMs} ms`) : reason)
      throw this.#fault
    }
  }

  #began(live: LiveClient, catalog: Catalog): void {
    this.#live = live
    this.#fault = undefined
    void live.ended.then((why) => this.#lost(live, why))
    this.#take(catalog)
  }

  #lost(live: LiveClient, why: unknown): void {
    if (this.#live !== live) return
    this.#live = undefined
    if (this.#closing.signal.aborted) return
    this.#rests.failed()
    this.#fault = this.#unavailable(this.#told(why === undefined ? 'it ended' : messageOf(why)))
  }

  #retire(live: LiveClient): void {
    this.#retired.add(live)
    void live.ended.then(() => this.#retired.delete(live))
    live.retire()
  }

  /** What changes while a list is on its way may be in it or not: it is asked for once more. */
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
    if (error instanceof RangeError) return this.#unavailable(this.#told(`it sent too much at once: ${error.message}`))
    const fault = callFault(this.#entry.name, error, this.#redact)
    if (fault.code === 'ServerUnavailable' || fault.code === 'EnvNameNotSet' || fault.code === 'CapabilityUnavailable') return fault
    return this.#unavailable(this.#told(fault.code === 'ServerLost' ? 'it ended before it was ready' : fault.message))
  }

  /** The last thing a process says of itself is often why it ended. */
  #told(what: string): string {
    const said = this.#log.last
    return visibleText(this.#redact(what)).replace(/\.$/, '') + (said === undefined ? '' : `. It said last: ${said}`)
  }

  #resting(ms: number): BulkheadError {
    const seconds = Math.ceil(ms / 1_000)
    const why = this.#fault?.message.replace(/\.$/, '') ?? 'it failed'
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
