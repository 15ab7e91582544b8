import type { IncomingMessage, ServerResponse } from 'node:http'
import { MCP_HTTP_LIMITS } from '@bulkhead/contract'
import type { Refusal } from './http-guard.ts'

const { bodyBytes } = MCP_HTTP_LIMITS
/** A client that does not read a stream is disconnected when so many bytes wait for it. */
const MAX_UNREAD_BYTES = 32_000_000
/** How much of a body is read and dropped after its request was refused, and for how long. */
const MAX_DROPPED_BYTES = 64_000_000
const DROP_MS = 5_000

const PARSE_ERROR = -32_700
const SERVER_ERROR = -32_000

/** A request that is refused. */
export class HttpFault extends Error implements Refusal {
  override readonly name = 'HttpFault'
  readonly status: number
  readonly code: number

  constructor(status: number, message: string, code?: number) {
    super(message)
    this.status = status
    this.code = code ?? SERVER_ERROR
  }
}

/** A request as the SDK takes it. Its body is passed beside it. */
export function webRequest({ method = 'GET', headers, url }: IncomingMessage, signal: AbortSignal): Request {
  const pairs = Object.entries(headers).flatMap(([name, value = '']): [string, string][] =>
    [value].flat().map((one) => [name, one]))
  return new Request(new URL(url ?? '/', 'http://localhost'), { method, headers: pairs, signal })
}

/** Throws HttpFault for a body that is too long or is not JSON. */
export async function jsonBody(req: IncomingMessage): Promise<unknown> {
  const tooLong = new HttpFault(413, `The body is longer than ${bodyBytes} bytes.`)
  if (Number(req.headers['content-length'] ?? 0) > bodyBytes) throw tooLong
  const chunks: Buffer[] = []
  let length = 0
  // Otherwise the loop would end the connection before the response is sent.
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > bodyBytes) throw tooLong
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown
  } catch {
    throw new HttpFault(400, 'The body is not JSON.', PARSE_ERROR)
  }
}

export function refuse(res: ServerResponse, { status, message, code = SERVER_ERROR, headers }: Refusal): void {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null })
  if (!res.req.complete) res.shouldKeepAlive = false
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...headers })
  res.write(body)
  // The client has the whole response now. A connection that is closed while the client sends is reset, and the
  // response would be lost.
  if (res.req.complete) res.end()
  else dropBody(res.req, () => res.end())
}

/** Calls back once: at the end of the body, or when it is too long or too slow. */
function dropBody(req: IncomingMessage, done: () => void): void {
  let left = MAX_DROPPED_BYTES
  const end = (): void => {
    clearTimeout(timer)
    req.pause().off('data', count).off('close', end)
    done()
  }
  const count = ({ length }: Buffer): void => {
    left -= length
    if (left < 0) end()
  }
  const timer = setTimeout(end, DROP_MS)
  req.once('close', end).on('data', count)
}

/** Resolves when the response is sent or the client has disconnected. */
export async function send(res: ServerResponse, { status, headers, body }: Response): Promise<void> {
  res.writeHead(status, Object.fromEntries(headers))
  res.flushHeaders()
  if (body) await pump(body.getReader(), res)
  res.end()
}

async function pump(reader: ReadableStreamDefaultReader<Uint8Array>, res: ServerResponse): Promise<void> {
  const stop = () => void reader.cancel().catch(() => {})
  res.once('close', stop)
  if (res.closed) stop()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    // The SDK does not wait for a slow reader, so waiting here would let its queue grow.
    res.write(value)
    if (res.writableLength > MAX_UNREAD_BYTES) res.destroy()
  }
}
