import { setImmediate } from 'node:timers/promises'
import { HttpFault } from './http-exchange.ts'
import { MAX_OPEN, type ClientOptions, type ServedClient } from './served-client.ts'

export interface HttpClientOptions extends ClientOptions {
  /**
   * Maximum number of sessions of one client; four times as many in all. In the older era a client can have several. If
   * all are in use, or have not made a call yet, a new one is refused. Default: 32.
   */
  readonly maxSessions?: number
  /** A client that sends nothing for so long, and waits for nothing, loses its session. Default: 30 minutes. */
  readonly idleMs?: number
}

/** How a client of one era gets its responses. */
export interface Line {
  handle(request: Request, body: unknown): Promise<Response>
  close(): Promise<void>
  /** Called when its session has ended, or may be continued by another replica. Never rejects. */
  readonly left?: ((stays: boolean) => Promise<void>) | undefined
}

/** One client over HTTP: a session of the older era, or all requests of a client in the newer era. */
export class HttpClient {
  /** Of the client whose token opened it. */
  readonly key: string
  readonly #served: ServedClient
  readonly #line: Line
  readonly #ended: () => void
  readonly #left: Line['left']
  readonly #maxOpen: number
  readonly #idleMs: number
  #open = 0
  #idle: NodeJS.Timeout | undefined
  #lastUsed = performance.now()
  #ending: Promise<void> | undefined

  /** `ended` is called when the client must not get further requests. */
  constructor(key: string, served: ServedClient, line: Line, options: HttpClientOptions, ended: () => void) {
    this.key = key
    this.#served = served
    this.#line = line
    this.#ended = ended
    this.#left = line.left
    this.#maxOpen = options.maxOpen ?? MAX_OPEN
    this.#idleMs = options.idleMs ?? IDLE_MS
  }

  /** Whether no request, stream or call is open, and no task of the newer era may still be asked for. */
  get isIdle(): boolean {
    return this.#open === 0 && this.#served.calls.size === 0 && !this.#served.hasTasks
  }

  /** Whether it may lose its session to another client. A client that has not called yet is about to. */
  get isReplaceable(): boolean {
    return this.isIdle && this.#served.calls.hasBegun
  }

  get lastUsed(): number {
    return this.#lastUsed
  }

  /** Serves a request and sends the response. A stream counts as open until it ends. */
  async exchange(request: Request, body: unknown, send: Send): Promise<void> {
    if (this.#ending) throw new HttpFault(404, NO_SESSION)
    if (this.#open >= this.#maxOpen) {
      throw new HttpFault(503, `${this.#maxOpen} requests are open. Wait until some have finished.`)
    }
    this.#open += 1
    clearTimeout(this.#idle)
    try {
      const response = await this.#line.handle(request, body)
      // Before the response: no other replica may find the session then.
      if (request.method === 'DELETE') await this.#ending
      await send(response)
    } finally {
      this.#open -= 1
      this.#lastUsed = performance.now()
      this.#endWhenIdle()
    }
  }

  /** Handles a message that the client has sent to another replica, and drops the response. */
  async repeat(message: object, sessionId?: string): Promise<void> {
    const headers = {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
    }
    const request = new Request('http://localhost/', { method: 'POST', headers })
    await (await this.#line.handle(request, message)).text()
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle)
    if (this.#open > 0 || this.#ending) return
    this.#idle = setTimeout(() => {
      if (this.isIdle) void this.end()
      else this.#endWhenIdle()
    }, this.#idleMs).unref()
  }

  /**
   * Cancels its calls and sends their responses, then closes its streams. `stays`: another replica may continue it.
   * Never rejects. Idempotent.
   */
  end(stays = false): Promise<void> {
    this.#ending ??= this.#end(stays)
    return this.#ending
  }

  async #end(stays: boolean): Promise<void> {
    clearTimeout(this.#idle)
    this.#ended()
    await this.#served.end(stays)
    await this.#left?.(stays)
    // Lets the responses of the cancelled calls be written first.
    await setImmediate()
    await this.#line.close()
  }
}

/** Sends a response. Resolves when it has ended. */
export type Send = (response: Response) => Promise<void>

const IDLE_MS = 30 * 60_000
export const NO_SESSION = 'There is no session with this id. Start a new one.'
