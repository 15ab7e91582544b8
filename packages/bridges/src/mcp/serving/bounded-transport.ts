import type {
  JSONRPCMessage, JSONRPCRequest, MessageExtraInfo, RequestId, Transport, TransportSendOptions,
} from '@modelcontextprotocol/server'
import { ClientFault } from './client-request.ts'
import { faultResponse, type PlainCalls } from './plain-calls.ts'

export interface TransportBounds {
  readonly maxOpen: number
  /** Checks a request before it is processed. Must not throw. */
  faultOf?(request: JSONRPCRequest): ClientFault | undefined
  /** Called when the transport has closed. */
  closed(): void
}

/**
 * A transport with bounded memory. A request counts until its response is sent, so a client that does not read
 * responses is refused, and disconnected if it does not read the refusals. Duplicate ids of open requests are refused.
 */
export class BoundedTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  /** Answers requests instead of the server, while the server has none. So requests begin in their order. */
  plainCalls?: PlainCalls
  readonly #inner: Transport
  readonly #bounds: TransportBounds
  readonly #open = new Set<RequestId>()
  /** Responses that are being sent. */
  #leaving = 0
  #refusals = 0

  constructor(inner: Transport, bounds: TransportBounds) {
    this.#inner = inner
    this.#bounds = bounds
    const listeners: Pick<Transport, 'onmessage' | 'onerror' | 'onclose'> = {
      onmessage: (message, extra) => this.#receive(message, extra),
      onerror: (error) => this.onerror?.(error),
      onclose: () => {
        this.plainCalls?.end()
        this.onclose?.()
        bounds.closed()
      },
    }
    Object.assign(inner, listeners)
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  start(): Promise<void> {
    return this.#inner.start()
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!isResponse(message)) return this.#inner.send(message, options)
    this.#open.delete(message.id!)
    this.#leaving += 1
    try {
      await this.#inner.send(message, options)
    } finally {
      this.#leaving -= 1
    }
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version)
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#inner.setSupportedProtocolVersions?.(versions)
  }

  #receive(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    if (isResponse(message) || !('id' in message)) {
      this.#release(message)
      return this.onmessage?.(message, extra)
    }
    const { id } = message
    const { maxOpen, faultOf } = this.#bounds
    if (this.#open.has(id)) {
      return this.#refuse(id, new ClientFault('InvalidRequest', 'A request with this id is already open.'))
    }
    if (this.#open.size + this.#leaving >= maxOpen) {
      return this.#refuse(
        id, new ClientFault('ServerBusy', `${maxOpen} requests are open. Wait until some have finished.`),
      )
    }
    const fault = faultOf?.(message)
    if (fault) return this.#refuse(id, fault)
    const answer = this.plainCalls?.size === this.#open.size ? this.plainCalls.answer(message) : undefined
    this.#open.add(id)
    if (answer === undefined) this.onmessage?.(message, extra)
    else void this.#sendAnswer(answer)
  }

  async #sendAnswer(answer: Promise<JSONRPCMessage | undefined>): Promise<void> {
    try {
      const response = await answer
      if (response) await this.send(response)
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }

  /** A cancelled request gets no response. */
  #release(message: JSONRPCMessage): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return
    const { requestId } = message.params ?? {}
    this.#open.delete(requestId as RequestId)
    this.plainCalls?.cancel(requestId as RequestId)
  }

  #refuse(id: RequestId, fault: ClientFault): void {
    this.onerror?.(new Error(`A request was refused: ${fault.message}`))
    if (++this.#refusals > this.#bounds.maxOpen) return void this.close().catch((error: Error) => this.onerror?.(error))
    this.#inner.send(faultResponse(id, fault)).catch((error: Error) => this.onerror?.(error))
      .finally(() => { this.#refusals -= 1 })
  }
}

type ResponseMessage = Extract<JSONRPCMessage, { result: unknown } | { error: unknown }>

const isResponse = (message: JSONRPCMessage): message is ResponseMessage => !('method' in message)
