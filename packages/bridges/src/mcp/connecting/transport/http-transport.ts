import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type FetchLike, isJSONRPCErrorResponse, isJSONRPCRequest, isJSONRPCResponse, type JSONRPCMessage, ProtocolError, type RequestId, SdkError, SdkErrorCode, StreamableHTTPClientTransport, type StreamableHTTPClientTransportOptions, type Transport,
} from '@modelcontextprotocol/client'

type Sent = Parameters<StreamableHTTPClientTransport['send']>

/** One request, and the way on which its answer comes: the body that it was answered with, whole or a stream. */
interface Exchange {
  readonly id: RequestId
  /** Those that were open when it began. */
  readonly beside: ReadonlySet<RequestId>
  hasStream: boolean
  /** No answer can come any more. The first reason counts. */
  over(why: Error): void
}

/** A server that is reached by Streamable HTTP. A request to which no answer can come any more is rejected. */
export class HttpTransport extends StreamableHTTPClientTransport {
  /** Whose body is being read: the library does not say it. */
  readonly #current: AsyncLocalStorage<Exchange>
  readonly #open = new Set<RequestId>()
  #newest = -1

  constructor(url: URL, options: StreamableHTTPClientTransportOptions & { readonly fetch: FetchLike }) {
    const current = new AsyncLocalStorage<Exchange>()
    super(url, {
      ...options,
      async fetch(to, init) {
        const response = await options.fetch(to, init)
        const exchange = current.getStore()
        if (exchange) exchange.hasStream = response.status !== 202 && isStream(response)
        return response
      },
    })
    this.#current = current
    // Whoever connects hears of each message after this.
    Object.assign(this, { onmessage: (message) => this.#receive(message) } satisfies Pick<Transport, 'onmessage'>)
  }

  override async send(...[message, options]: Sent): Promise<void> {
    // Whoever looks after its stream itself needs no word of its end.
    if (!isJSONRPCRequest(message) || options?.onRequestStreamEnd !== undefined) return super.send(message, options)
    const { promise, resolve } = Promise.withResolvers<Error>()
    const exchange: Exchange = { id: message.id, beside: new Set(this.#open), hasStream: false, over: resolve }
    this.#open.add(message.id)
    this.#newest = Number(message.id)
    try {
      await this.#current.run(exchange, () => super.send(message, { ...options, onRequestStreamEnd: () => resolve(ended()) }))
      if (!exchange.hasStream) resolve(unfit('its answer holds none'))
      const why = await promise
      // An earlier answer was already handled, so its caller does not see this error.
      await nextTurn()
      throw why
    } finally {
      this.#open.delete(message.id)
    }
  }

  /** The stream of a request carries only its own answer. An error without an id means the server could not read the id. */
  #receive(message: JSONRPCMessage): void {
    const exchange = this.#current.getStore()
    if (exchange === undefined || !isJSONRPCResponse(message)) return
    const { id } = message
    if (id === undefined && isJSONRPCErrorResponse(message)) exchange.over(errorOf(message.error))
    else if (id === undefined || !this.#isAsked(id, exchange)) exchange.over(unfit(`it is for a request that was not made (${id})`))
  }

  /** Whether it is, or was, open beside the other: servers take one stream for another, and write a number as a text. */
  #isAsked(id: RequestId, { id: own, beside }: Exchange): boolean {
    const number = Number(id)
    return id === own || beside.has(id) || beside.has(number) || (number >= Number(own) && number <= this.#newest)
  }
}

const isStream = ({ headers }: Response): boolean => headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') ?? false

const ended = (): Error => new SdkError(SdkErrorCode.ConnectionClosed, 'the stream of its answer ended without one')

const unfit = (why: string): Error => new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, why)

const errorOf = ({ code, message, data }: { readonly code: number; readonly message: string; readonly data?: unknown }): Error =>
  new ProtocolError(code, message, data)

/**
 * `fetch` whose answers are bounded: a whole answer, or of a stream of events each event, which is kept until it is whole. Whoever
 * reads beyond it gets an error.
 */
export function boundedFetch(maxBytes: number, request: FetchLike = fetch): FetchLike {
  return async (url, init) => {
    const response = await request(url, init)
    if (response.body === null) return response
    const open = isStream(response) ? new OpenEvent() : { bytes: 0, add: (chunk: Uint8Array) => void (open.bytes += chunk.length) }
    const counted = response.body.pipeThrough(new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        open.add(chunk)
        if (open.bytes > maxBytes) throw new RangeError(`The server has sent more than ${maxBytes} bytes at once.`)
        controller.enqueue(chunk)
      },
    }))
    const { status, statusText, headers } = response
    return new Response(counted, { status, statusText, headers })
  }
}

const LF = 0x0a
const CR = 0x0d

/** How much of a stream has come since the last empty line, which is where an event ends. */
class OpenEvent {
  bytes = 0
  #isEmptyLine = true

  add(chunk: Uint8Array): void {
    let from = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, end))
      if (this.#isEmptyLine) this.bytes = 0
      this.#isEmptyLine = true
      from = end + 1
    }
    this.#keep(chunk.subarray(from))
  }

  #keep(part: Uint8Array): void {
    this.bytes += part.length
    this.#isEmptyLine &&= part.every((byte) => byte === CR)
  }
}
