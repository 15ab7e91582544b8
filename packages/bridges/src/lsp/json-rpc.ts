import { onAbort } from '@bulkhead/kit/deadlines'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { framed } from './message-reader.ts'

/** What the server may ask of this side. */
export interface PeerHandlers {
  /** Returns the result, or undefined if there is no such method. Must not throw. */
  onRequest(method: string, params: Json): Json | undefined
  /** Must not throw. */
  onNotification(method: string, params: Json): void
}

/** An error that the server answered with. */
export class ResponseError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const METHOD_NOT_FOUND = -32_601
/** What a server may send between two answers to this side. */
const MOST_MESSAGES = 20_000
const MOST_CHARS = 64 * 1024 * 1024
const ERROR_CHARS = 2_000

interface Pending {
  resolve(result: Json): void
  reject(error: unknown): void
}

/** One side of a JSON-RPC connection. */
export class JsonRpcPeer {
  readonly #write: (data: string) => Promise<void>
  readonly #handlers: PeerHandlers
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  #messages = 0
  #chars = 0
  #ended: Error | undefined

  constructor(write: (data: string) => Promise<void>, handlers: PeerHandlers) {
    this.#write = write
    this.#handlers = handlers
  }

  /** Rejects with ResponseError, the error of `end`, or the signal's reason; then the server learns of it. */
  request(method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<Json> {
    if (this.#ended) return Promise.reject(this.#ended)
    if (signal.aborted) return Promise.reject(signal.reason)
    const id = ++this.#lastId
    return new Promise<Json>((resolve, reject) => {
      const forget = onAbort(signal, () => {
        this.#pending.delete(id)
        this.notify('$/cancelRequest', { id })
        reject(signal.reason)
      })
      this.#pending.set(id, {
        resolve: (result) => {
          forget()
          resolve(result)
        },
        reject: (error) => {
          forget()
          reject(error)
        },
      })
      this.#send({ id, method, ...(params && { params }) })
    })
  }

  notify(method: string, params?: JsonObject): void {
    this.#send({ method, ...(params && { params }) })
  }

  /** Throws RangeError for a message that cannot be read, and if the server sends too much without being asked. */
  receive(json: string): void {
    this.#messages++
    this.#chars += json.length
    if (this.#messages > MOST_MESSAGES || this.#chars > MOST_CHARS) {
      throw new RangeError('It sends too many messages without being asked.')
    }
    const parsed = parseJson(json)
    if (!parsed.ok || !isJsonObject(parsed.value)) throw new RangeError('It sent a message that cannot be read.')
    const { id, method, params = null } = parsed.value
    if (typeof method === 'string') {
      if (typeof id === 'string' || typeof id === 'number') this.#answer(id, method, params)
      else this.#handlers.onNotification(method, params)
    } else if (typeof id === 'number') this.#settle(id, parsed.value)
  }

  /** Rejects everything that is pending, and later requests. */
  end(error: Error): void {
    this.#ended ??= error
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }

  #answer(id: string | number, method: string, params: Json): void {
    const result = this.#handlers.onRequest(method, params)
    this.#send(result === undefined
      ? { id, error: { code: METHOD_NOT_FOUND, message: 'This client has no such method.' } }
      : { id, result })
  }

  /** An id that is not pending was cancelled, or is forged. */
  #settle(id: number, { result = null, error }: JsonObject): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    this.#messages = 0
    this.#chars = 0
    if (!isJsonObject(error)) return pending.resolve(result)
    const { code, message } = error
    const text = typeof message === 'string' && message !== '' ? message.slice(0, ERROR_CHARS) : 'unknown error'
    pending.reject(new ResponseError(typeof code === 'number' ? code : 0, text))
  }

  #send(message: JsonObject): void {
    // The end of the process rejects what is pending.
    this.#write(framed(JSON.stringify({ jsonrpc: '2.0', ...message }))).catch(() => undefined)
  }
}
