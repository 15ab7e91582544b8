import { BulkheadError, type LanguageServerConfig } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import { findProgram } from '@bulkhead/kit/programs'
import { visibleText } from '@bulkhead/kit/text'
import { Backoff, LimitReached } from '../connected/backoff.ts'
import type { Entry } from '../connected/entries.ts'
import { localTarget, type Surroundings } from '../connected/local-server.ts'
import { redactorOf, ServerLog } from '../connected/server-log.ts'
import { ResponseError } from './json-rpc.ts'
import { LanguageServer } from './language-server.ts'

export interface ManagedOptions {
  readonly surroundings: Surroundings
  /** Our name and version for the server. */
  readonly self: { readonly name: string; readonly version: string }
  /** After how long without a question a server is ended. */
  readonly idleMs?: number
  /** How long published diagnostics may still change. */
  readonly settleMs?: number
  /** Monotonic clock in milliseconds. */
  readonly now?: () => number
}

const START_MS = 60_000
const IDLE_MS = 5 * 60_000

/** One server of the configuration: started by a question, ended when idle, started again after a failure. */
export class ManagedServer {
  readonly #entry: Entry<LanguageServerConfig>
  readonly #options: ManagedOptions
  readonly #backoff: Backoff
  readonly #log: ServerLog
  readonly #redact: (text: string) => string
  readonly #closing = new AbortController()
  #running: Promise<LanguageServer> | undefined
  #fault: string | undefined
  #uses = 0
  #idle: NodeJS.Timeout | undefined

  constructor(entry: Entry<LanguageServerConfig>, options: ManagedOptions) {
    const { env = [] } = entry.config
    this.#entry = entry
    this.#options = options
    this.#backoff = new Backoff(options.now ?? (() => performance.now()))
    this.#redact = redactorOf(new Map(env.map((name) => [name, options.surroundings.env(name) ?? ''] as const)
      .filter(([, value]) => value.length >= SHORTEST)))
    this.#log = new ServerLog((line) => visibleText(this.#redact(line)))
  }

  async use<Answer>(signal: AbortSignal, ask: (server: LanguageServer) => Promise<Answer>): Promise<Answer> {
    this.#uses++
    clearTimeout(this.#idle)
    try {
      const server = await untilAborted(this.#started(), signal)
      try {
        const answer = await ask(server)
        this.#backoff.succeeded()
        return answer
      } catch (error) {
        if (signal.aborted) throw signal.reason
        if (BulkheadError.is(error)) throw error
        throw error instanceof ResponseError ? this.#refused(error) : this.#lost(error)
      }
    } finally {
      this.#uses--
      if (this.#uses === 0) this.#idle = setTimeout(() => void this.#stop(), this.#options.idleMs ?? IDLE_MS).unref()
    }
  }

  /** Resolves when its process has ended. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(this.#unavailable('it is closed'))
    await this.#stop()
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#idle)
    const running = this.#running
    this.#running = undefined
    const server = await running?.catch(() => undefined)
    await server?.close()
  }

  #started(): Promise<LanguageServer> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason)
    if (this.#running) return this.#running
    const { leftMs } = this.#backoff
    if (leftMs > 0) {
      const why = `${this.#fault}. The next attempt is possible in ${Math.ceil(leftMs / 1_000)} s`
      return Promise.reject(this.#unavailable(why, leftMs))
    }
    const forget = () => {
      const isCurrent = this.#running === running
      if (isCurrent) this.#running = undefined
      return isCurrent
    }
    const running: Promise<LanguageServer> = Promise.resolve().then(() => this.#start(forget))
    this.#running = running
    return running
  }

  /** `forget` ends the use of this start, and returns whether it was in use. */
  async #start(forget: () => boolean): Promise<LanguageServer> {
    const late = AbortSignal.timeout(START_MS)
    let server: LanguageServer | undefined
    try {
      const target = localTarget('language server', this.#entry, this.#options.surroundings)
      const [program = ''] = target.command
      if (findProgram(program, target.cwd, target.env['PATH'] ?? '') === undefined) {
        const cure = `Install it, or write its whole path into lsp.${this.#entry.name}.command`
        throw this.#unavailable(`"${program}" is not installed, or not on the PATH. ${cure}`)
      }
      server = new LanguageServer({
        name: this.#entry.name, target, self: this.#options.self, redact: this.#redact,
        settleMs: this.#options.settleMs, onStderr: (line) => this.#log.add(line),
      })
      await server.start(AbortSignal.any([late, this.#closing.signal]))
    } catch (error) {
      forget()
      await server?.close().catch(() => undefined)
      if (this.#closing.signal.aborted) throw this.#closing.signal.reason
      if (BulkheadError.is(error)) throw error
      throw this.#failed(late.aborted ? new Error(`it did not respond within ${START_MS} ms`) : error)
    }
    void server.ended.then((error) => {
      if (forget() && !this.#closing.signal.aborted) this.#failed(error)
    })
    return server
  }

  #refused(error: ResponseError): BulkheadError {
    const text = visibleText(this.#redact(error.message), { keepLines: true })
    const message = `The language server "${this.#entry.name}" answered with an error: ${text}`
    return new BulkheadError('ToolExecutionFailed', message)
  }

  #lost(error: unknown): BulkheadError {
    const why = this.#reason(error)
    const message = `The language server "${this.#entry.name}" was lost during the call: ${why}`
    return new BulkheadError('ServerLost', message, { data: { server: this.#entry.name } })
  }

  #failed(why: unknown): BulkheadError {
    this.#backoff.failed(why)
    this.#fault = this.#reason(why).replace(/\.$/, '')
    return this.#unavailable(this.#fault)
  }

  /** The last line of standard error often tells why a server exited. */
  #reason(why: unknown): string {
    if (why instanceof LimitReached) return `${why.message}. The next call starts it again.`
    const { last } = this.#log
    const text = visibleText(this.#redact(messageOf(why))).replace(/\.$/, '')
    const more = last === undefined ? '' : ` Last line of its standard error: ${last.replace(/\.$/, '')}.`
    const hint = this.#entry.config.jail === false ? '' : ` ${JAIL_HINT.replace('NAME', this.#entry.name)}`
    return `${text}.${more}${hint}`
  }

  #unavailable(why: string, retryAfterMs?: number): BulkheadError {
    const data = {
      server: this.#entry.name, ...(retryAfterMs !== undefined && { retryAfterMs: Math.ceil(retryAfterMs) }),
    }
    const message = `The language server "${this.#entry.name}" is unavailable: ${why.replace(/\.$/, '')}.`
    return new BulkheadError('ServerUnavailable', message, { data })
  }
}

/** Shorter values are not redacted: they would match ordinary words. */
const SHORTEST = 8
const JAIL_HINT = 'It runs in a jail. If it needs more, extend lsp.NAME.requires in the configuration.'
