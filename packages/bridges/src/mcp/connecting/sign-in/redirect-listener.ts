import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { errorCode } from '@bulkhead/kit/error-message'

const PATH = '/callback'
const HOST = '127.0.0.1'

/**
 * Receives the answer of an authorization server: the browser is redirected to a port of this machine. Requests without
 * the state are ignored, because any page and any local program can send one.
 */
export class RedirectListener {
  readonly state = randomBytes(32).toString('base64url')
  readonly url: string
  readonly #server: Server
  readonly #answer = Promise.withResolvers<URLSearchParams>()

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`
    server.on('request', (request, response) => this.#receive(request, response))
  }

  /** `wanted` is used if it is free, unless it is `required`. */
  static async open(wanted: number, required: boolean): Promise<RedirectListener> {
    try {
      return new RedirectListener(await listen(wanted))
    } catch (error) {
      if (required || errorCode(error) !== 'EADDRINUSE') throw error
      return new RedirectListener(await listen(0))
    }
  }

  /** The parameters of the redirect. Rejects with the signal's reason. */
  arrived(signal: AbortSignal): Promise<URLSearchParams> {
    return untilAborted(this.#answer.promise, signal)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #receive({ method, url = '/', headers }: IncomingMessage, response: ServerResponse): void {
    const asked = URL.parse(url, this.url)
    const isOurs = method === 'GET' && asked?.pathname === PATH && `http://${headers.host}${PATH}` === this.url
    const accepted = isOurs && equal(asked.searchParams.get('state') ?? '', this.state)
    response.writeHead(accepted ? 200 : 400, {
      'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff', 'connection': 'close',
    })
    response.end(accepted ? 'You can close this window and return to the program.\n' : 'This is not a valid redirect.\n')
    if (accepted) this.#answer.resolve(asked.searchParams)
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, HOST)
  await once(server, 'listening')
  return server
}

const equal = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
