import type { NetResponse } from '@bulkhead/contract'
import { Blob, File, FormData } from './form-data.ts'
import { Body, extractBody, takeBytes } from './body.ts'
import { Headers, type HeadersInit } from './headers.ts'
import type { ShimHost } from './host.ts'

interface RequestInit {
  readonly method?: string
  readonly headers?: HeadersInit
  readonly body?: unknown
  readonly redirect?: 'follow' | 'manual' | 'error'
  readonly signal?: AbortSignal | null
  readonly [ignored: string]: unknown
}

const NORMALISED = /^(?:delete|get|head|options|post|put)$/i
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** The standard `Request`. Members about caches, cookies and pages have their default values. */
class Request extends Body {
  readonly url: string
  readonly method: string
  readonly redirect: 'follow' | 'manual' | 'error'
  readonly signal: AbortSignal
  readonly cache = 'default'
  readonly credentials = 'same-origin'
  readonly destination = ''
  readonly duplex = 'half'
  readonly integrity = ''
  readonly keepalive = false
  readonly mode = 'cors'
  readonly referrer = 'about:client'
  readonly referrerPolicy = ''

  constructor(input: unknown, init: RequestInit = {}) {
    const from = input instanceof Request ? input : undefined
    const url = from?.url ?? urlOf(input)
    const method = methodOf(init.method ?? from?.method ?? 'GET')
    if (init.body !== undefined && init.body !== null && WITHOUT_BODY.has(method)) {
      throw new TypeError(`A request with the method ${method} cannot have a body.`)
    }
    const given = init.body === undefined || init.body === null ? from?.handOver() : extractBody(init.body)
    super(given, new Headers(init.headers ?? from?.headers))
    this.url = url
    this.method = method
    this.redirect = init.redirect ?? from?.redirect ?? 'follow'
    this.signal = (init.signal === undefined ? from?.signal : init.signal) ?? new AbortController().signal
  }

  clone(): Request {
    const { method, redirect, signal, headers } = this
    const body = this.copy()
    return new Request(this.url, { method, redirect, signal, headers, ...(body && { body: body.source }) })
  }

  get [Symbol.toStringTag](): string {
    return 'Request'
  }
}

function urlOf(input: unknown): string {
  const url = URL.parse(String(input))
  if (url === null) throw new TypeError(`Failed to parse URL from ${String(input)}`)
  if (url.username !== '' || url.password !== '') throw new TypeError('The URL of a request cannot have credentials.')
  return url.href
}

const methodOf = (given: unknown): string => {
  const method = String(given)
  return NORMALISED.test(method) ? method.toUpperCase() : method
}

interface ResponseInit {
  readonly status?: number
  readonly statusText?: string
  readonly headers?: HeadersInit
}

let received: (answer: NetResponse, asked: string) => Response

/** The standard `Response`. */
class Response extends Body {
  readonly status: number
  readonly statusText: string
  #type: 'default' | 'basic' | 'error' = 'default'
  #url = ''
  #redirected = false

  constructor(body?: unknown, { status = 200, statusText = '', headers }: ResponseInit = {}) {
    super(extractBody(body), new Headers(headers))
    this.status = status
    this.statusText = statusText
  }

  get ok(): boolean {
    return this.status >= 200 && this.status <= 299
  }

  get type(): string {
    return this.#type
  }

  get url(): string {
    return this.#url
  }

  get redirected(): boolean {
    return this.#redirected
  }

  clone(): Response {
    const copy = new Response(this.copy()?.source, this)
    copy.#type = this.#type
    copy.#url = this.#url
    copy.#redirected = this.#redirected
    return copy
  }

  static json(data: unknown, init: ResponseInit = {}): Response {
    const headers = new Headers(init.headers)
    if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    return new Response(JSON.stringify(data), { ...init, headers })
  }

  static error(): Response {
    const response = new Response(null, { status: 0 })
    response.#type = 'error'
    return response
  }

  static redirect(url: string, status = 302): Response {
    return new Response(null, { status, headers: { location: urlOf(url) } })
  }

  static {
    received = ({ status, headers, url, body }, asked) => {
      const hasBody = status !== 204 && status !== 205 && status !== 304
      const response = new Response(hasBody ? body : null, { status, headers })
      response.#type = 'basic'
      response.#url = url
      response.#redirected = url !== asked
      return response
    }
  }

  get [Symbol.toStringTag](): string {
    return 'Response'
  }
}

/** Headers that belong to the connection. The standard ignores them, too. */
export const OF_CONNECTION: readonly string[] = [
  'connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade',
  'via',
]
/** Failures of the network. All others say what the caller did wrong, and stay as they are. */
const FAILURES: ReadonlySet<unknown> = new Set(['ToolExecutionFailed', 'NotFound'])
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The standard `fetch`, by `runtime.net` of the current call. */
export function fetchOver(host: ShimHost): Readonly<Record<string, unknown>> {
  const fetch = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const net = host.use('fetch', 'net')
    const request = new Request(input, init)
    const { url, method, redirect, signal } = request
    signal.throwIfAborted()
    const headers = new Headers(request.headers)
    for (const name of OF_CONNECTION) headers.delete(name)
    const body = await untilAborted(Promise.resolve(takeBytes(request)), signal)
    const asking = net.fetch(url, {
      method, headers: Object.fromEntries(headers), redirect: redirect === 'follow' ? 'follow' : 'manual',
      ...(body !== undefined && { body }),
    })
    const answer = await untilAborted(asking, signal).catch((error: unknown) => {
      asking.then(discard, () => undefined)
      const isFailure = FAILURES.has((error as { readonly code?: unknown } | null)?.code)
      throw isFailure ? new TypeError('fetch failed', { cause: error }) : error
    })
    if (redirect === 'error' && REDIRECTS.has(answer.status)) {
      discard(answer)
      throw new TypeError('fetch failed', { cause: new Error('The response is a redirect.') })
    }
    return received({ ...answer, body: abortable(answer.body, signal) }, url)
  }
  return { fetch, Request, Response, Headers, FormData, Blob, File }
}

/** Releases the connection of a response that is not read. */
const discard = ({ body }: NetResponse): void => release(body[Symbol.asyncIterator](), false)

/** A body ends its connection only after its first piece was asked for. */
function release(pieces: AsyncIterator<Uint8Array>, isStarted: boolean): void {
  const started = isStarted ? Promise.resolve() : pieces.next()
  started.then(() => pieces.return?.()).catch(() => undefined)
}

function abortable(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncIterableIterator<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]()
  let isStarted = false
  return {
    async next() {
      isStarted = true
      try {
        return await untilAborted(pieces.next(), signal)
      } catch (error) {
        release(pieces, isStarted)
        throw error
      }
    },
    async return() {
      release(pieces, isStarted)
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Rejects with the reason of the signal when it is aborted before. */
function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>()
  const abort = (): void => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  return promise
}
