import { Buffer } from 'node:buffer'
import { Readable, Writable } from 'node:stream'
import type { NetResponse } from '@bulkhead/contract'
import { OF_CONNECTION } from './fetch.ts'
import { shimModule, type ShimHost } from './host.ts'
import { Agent, SecureAgent, Socket } from './http-agent.ts'
import { METHODS, STATUS_CODES } from './http-names.ts'

type Headers = Record<string, string | readonly string[]>
interface Options {
  readonly protocol?: string
  readonly hostname?: string
  readonly host?: string
  readonly port?: number | string
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, unknown>> | readonly string[]
  readonly auth?: string
  readonly timeout?: number
  readonly signal?: AbortSignal
  readonly agent?: unknown
}

const OTHERS = [
  'Server', 'ServerResponse', 'OutgoingMessage', 'createServer', 'setMaxIdleHTTPParsers', '_connectionListener',
  'WebSocket', 'CloseEvent', 'MessageEvent',
]

/** A response as `node:http` gives it, over the body that the host sends. */
class IncomingMessage extends Readable {
  readonly statusCode: number
  readonly statusMessage: string
  readonly headers: Record<string, string | string[]> = {}
  readonly rawHeaders: string[] = []
  readonly trailers = {}
  readonly rawTrailers: readonly string[] = []
  readonly httpVersion = '1.1'
  readonly httpVersionMajor = 1
  readonly httpVersionMinor = 1
  readonly socket: Socket
  readonly connection: Socket
  readonly req: ClientRequest
  readonly url = ''
  readonly aborted = false
  complete = false
  readonly #pieces: AsyncIterator<Uint8Array>

  constructor({ status, headers, body }: NetResponse, request: ClientRequest) {
    super()
    this.statusCode = status
    this.statusMessage = STATUS_CODES[status] ?? ''
    for (const [name, value] of Object.entries(headers)) {
      this.headers[name.toLowerCase()] = name.toLowerCase() === 'set-cookie' ? [value] : value
      this.rawHeaders.push(name, value)
    }
    this.req = request
    this.socket = request.socket
    this.connection = request.socket
    this.#pieces = body[Symbol.asyncIterator]()
  }

  get headersDistinct(): Record<string, readonly string[]> {
    return Object.fromEntries(Object.entries(this.headers).map(([name, value]) => [name, [value].flat()]))
  }

  setTimeout(): this {
    return this
  }

  override _read(): void {
    this.#pieces.next().then(({ done, value }) => {
      this.complete ||= done === true
      this.push(done === true ? null : Buffer.from(value as Uint8Array))
    }).catch((error: unknown) => this.destroy(error as Error))
  }

  async #release(): Promise<void> {
    try {
      await this.#pieces.return?.()
    } catch {
      // The connection has ended already.
    }
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.complete) void this.#release()
    // As Node has it: who listens to the request only is not ended by an error of the response.
    done(this.listenerCount('error') > 0 ? error : null)
  }
}

type Send = (request: ClientRequest, body: Uint8Array | undefined) => Promise<NetResponse>

/** A request whose body is collected, and sent by the host when it ends. */
class ClientRequest extends Writable {
  readonly socket = new Socket()
  readonly connection = this.socket
  readonly method: string
  readonly protocol: string
  readonly host: string
  readonly path: string
  readonly url: string
  readonly agent: unknown
  readonly reusedSocket = false
  aborted = false
  res: IncomingMessage | undefined
  readonly #headers = new Map<string, readonly [name: string, value: string | readonly string[]]>()
  readonly #pieces: Uint8Array[] = []
  readonly #send: Send
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(url: URL, options: Options, send: Send) {
    // It lives until its response has ended.
    super({ autoDestroy: false })
    this.#send = send
    this.method = (options.method ?? 'GET').toUpperCase()
    this.protocol = url.protocol
    this.host = url.hostname
    this.path = `${url.pathname}${url.search}`
    this.url = url.href
    this.agent = options.agent
    const given = Array.isArray(options.headers)
      ? pairs(options.headers as readonly string[]) : Object.entries(options.headers ?? {})
    for (const [name, value] of given) if (value !== undefined) this.setHeader(name, value)
    if (options.auth !== undefined && !this.hasHeader('authorization')) {
      this.setHeader('Authorization', `Basic ${Buffer.from(options.auth).toString('base64')}`)
    }
    if (options.timeout !== undefined) this.setTimeout(options.timeout)
    if (options.signal !== undefined) this.#endWith(options.signal)
    process.nextTick(() => this.emit('socket', this.socket))
  }

  setHeader(name: string, value: unknown): this {
    const text = Array.isArray(value) ? value.map(String) : String(value)
    this.#headers.set(String(name).toLowerCase(), [String(name), text])
    return this
  }

  getHeader(name: string): string | readonly string[] | undefined {
    return this.#headers.get(String(name).toLowerCase())?.[1]
  }

  getHeaders(): Headers {
    return Object.fromEntries([...this.#headers].map(([key, [, value]]) => [key, value]))
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()]
  }

  getRawHeaderNames(): string[] {
    return [...this.#headers.values()].map(([name]) => name)
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(String(name).toLowerCase())
  }

  removeHeader(name: string): void {
    this.#headers.delete(String(name).toLowerCase())
  }

  get headersSent(): boolean {
    return this.writableEnded
  }

  flushHeaders(): void {}
  setNoDelay(): void {}
  setSocketKeepAlive(): void {}

  setTimeout(ms: number, listener?: () => void): this {
    if (listener !== undefined) this.once('timeout', listener)
    clearTimeout(this.#timer)
    if (ms > 0) this.#timer = setTimeout(() => this.emit('timeout'), ms).unref()
    return this
  }

  abort(): void {
    this.aborted = true
    this.destroy()
  }

  #endWith(signal: AbortSignal): void {
    const abort = (): void => {
      const error = new Error('The operation was aborted', { cause: signal.reason })
      this.destroy(Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' }))
    }
    if (signal.aborted) process.nextTick(abort)
    else signal.addEventListener('abort', abort, { once: true })
  }

  override _write(chunk: unknown, encoding: BufferEncoding, done: () => void): void {
    this.#pieces.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : new Uint8Array(chunk as Uint8Array))
    done()
  }

  override _final(done: (error?: Error | null) => void): void {
    done()
    const body = this.#pieces.length === 0 ? undefined : Buffer.concat(this.#pieces)
    this.#send(this, body).then((answer) => this.#answered(answer), (error: unknown) => this.destroy(error as Error))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer)
    const reset = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
    if (this.res === undefined) return done(error ?? reset)
    this.res.destroy(error ?? undefined)
    done(error)
  }

  #answered(answer: NetResponse): void {
    clearTimeout(this.#timer)
    const response = new IncomingMessage(answer, this)
    if (this.destroyed) return void response.destroy()
    this.res = response
    response.once('close', () => this.destroy())
    if (!this.emit('response', response)) response.resume()
  }
}

function* pairs(list: readonly string[]): Generator<[name: string, value: string]> {
  for (let at = 0; at + 1 < list.length; at += 2) yield [list[at]!, list[at + 1]!]
}

/** `(url?, options?, callback?)`, in each order that Node takes. */
function requestOf(scheme: string, given: unknown[], send: Send): ClientRequest {
  const callback = typeof given.at(-1) === 'function' ? given.pop() as (response: IncomingMessage) => void : undefined
  const first = given[0]
  const from = typeof first === 'string' || first instanceof URL ? new URL(first) : undefined
  const options = (from === undefined ? first : given[1]) as Options | undefined ?? {}
  const { protocol = `${scheme}:`, hostname, host = 'localhost', port, path = '/' } = options
  const name = (hostname ?? host).replace(/^([^[].*:.*)$/, '[$1]')
  const place = port === undefined || port === '' ? name : `${name}:${port}`
  const url = from ?? new URL(`${protocol}//${place}${path.startsWith('/') ? path : `/${path}`}`)
  const request = new ClientRequest(url, { ...(from?.username && { auth: authOf(from) }), ...options }, send)
  if (callback !== undefined) request.once('response', callback)
  return request
}

const authOf = ({ username, password }: URL): string =>
  [username, password].map((part) => decodeURIComponent(part)).join(':')

/** `node:http` and `node:https` by `runtime.net` of the current call: requests, and no servers. */
export function httpModules(host: ShimHost): Readonly<Record<'http' | 'https', () => object>> {
  const send: Send = async (request, body) => {
    const net = host.use('request of node:http', 'net')
    const headers = Object.entries(request.getHeaders()).filter(([name]) => !OF_CONNECTION.includes(name))
    const url = new URL(request.url)
    url.username = ''
    url.password = ''
    return net.fetch(url.href, {
      method: request.method, redirect: 'manual', ...(body !== undefined && { body }),
      headers: Object.fromEntries(headers.map(([name, value]) => [name, [value].flat().join(', ')])),
    })
  }
  const moduleOf = (scheme: 'http' | 'https', Class: typeof Agent): object => {
    const request = (...given: unknown[]): ClientRequest => requestOf(scheme, given, send)
    const get = (...given: unknown[]): ClientRequest => {
      const asking = request(...given)
      asking.end()
      return asking
    }
    const common = { request, get, Agent: Class, globalAgent: new Class() }
    return shimModule(host, scheme, scheme === 'https' ? common : {
      ...common, METHODS, STATUS_CODES, ClientRequest, IncomingMessage, maxHeaderSize: 16_384,
      validateHeaderName: () => undefined, validateHeaderValue: () => undefined,
    }, OTHERS)
  }
  return { http: () => moduleOf('http', Agent), https: () => moduleOf('https', SecureAgent) }
}
