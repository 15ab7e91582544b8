import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type FetchLike, isJSONRPCErrorResponse, isJSONRPCRequest, isJSONRPCResponse, type JSONRPCMessage, ProtocolError,
  type RequestId, SdkError, SdkErrorCode, StreamableHTTPClientTransport, type StreamableHTTPClientTransportOptions,
  type Transport,
} from '@modelcontextprotocol/client'

type Sent = Parameters<StreamableHTTPClientTransport['send']>

/** One request. Its response is the body of the HTTP response: one message or an event stream. */
interface Exchange {
  readonly id: RequestId
  /** Requests that were open when it was sent. */
  readonly beside: ReadonlySet<RequestId>
  hasStream: boolean
  /** Call this when no response can arrive any more. Only the first call has an effect. */
  over(why: Error): void
}

/** The Streamable HTTP transport. Rejects a request as soon as no response can arrive for it. */
export class HttpTransport extends StreamableHTTPClientTransport {
  /** The request whose body is being read. The SDK does not report it. */
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
    // The client replaces this handler and calls it first.
    Object.assign(this, { onmessage: (message) => this.#receive(message) } satisfies Pick<Transport, 'onmessage'>)
  }

  override async send(...[message, options]: Sent): Promise<void> {
    // A caller with its own handler notices the end of its stream.
    if (!isJSONRPCRequest(message) || options?.onRequestStreamEnd !== undefined) return super.send(message, options)
    const { promise, resolve } = Promise.withResolvers<Error>()
    const exchange: Exchange = { id: message.id, beside: new Set(this.#open), hasStream: false, over: resolve }
    this.#open.add(message.id)
    this.#newest = Number(message.id)
    try {
      await this.#current.run(
        exchange, () => super.send(message, { ...options, onRequestStreamEnd: () => resolve(ended()) }),
      )
      if (!exchange.hasStream) resolve(unfit('the HTTP response contains no result'))
      const why = await promise
      // If a response arrived before, it has settled the call, and this error has no effect.
      await nextTurn()
      throw why
    } finally {
      this.#open.delete(message.id)
    }
  }

  /**
   * The stream of a request carries only its own answer. An error without an id means the server could not read the id.
   */
  #receive(message: JSONRPCMessage): void {
    const exchange = this.#current.getStore()
    if (exchange === undefined || !isJSONRPCResponse(message)) return
    const { id } = message
    if (id === undefined && isJSONRPCErrorResponse(message)) {
      const { code, message: text, data } = message.error
      exchange.over(new ProtocolError(code, text, data))
    } else if (id === undefined || !this.#isAsked(id, exchange)) {
      exchange.over(unfit(`the response is for another request (${id})`))
    }
  }

  /** Whether a request with this id was open at the same time: some servers mix up streams, or write ids as strings. */
  #isAsked(id: RequestId, { id: own, beside }: Exchange): boolean {
    const number = Number(id)
    return id === own || beside.has(id) || beside.has(number) || (number >= Number(own) && number <= this.#newest)
  }
}

const isStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') ?? false

const ended = (): Error => new SdkError(SdkErrorCode.ConnectionClosed, 'the event stream ended without a result')

const unfit = (why: string): Error => new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, why)

/** `fetch` with a size limit for the body or, in a stream, for each event. Reading beyond it fails with RangeError. */
export function boundedFetch(maxBytes: number, request: FetchLike = fetch): FetchLike {
  return async (url, init) => {
    const response = await request(url, init)
    if (response.body === null) return response
    const open = isStream(response)
      ? new OpenEvent()
      : { bytes: 0, add: (chunk: Uint8Array) => void (open.bytes += chunk.length) }
    const counted = response.body.pipeThrough(new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        open.add(chunk)
        if (open.bytes > maxBytes) throw new RangeError(`The message has more than ${maxBytes} bytes.`)
        controller.enqueue(chunk)
      },
    }))
    const { status, statusText, headers } = response
    return new Response(counted, { status, statusText, headers })
  }
}

const LF = 0x0a
const CR = 0x0d

/** Counts the bytes since the last empty line, which ends an event. */
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
