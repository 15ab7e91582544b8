import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Refusal } from './http-guard.ts'

const MAX_BODY_BYTES = 10_000_000
/** A client that does not read a stream is disconnected when so many bytes wait for it. */
const MAX_UNREAD_BYTES = 32_000_000

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
  const tooLong = new HttpFault(413, `The body is longer than ${MAX_BODY_BYTES} bytes.`)
  if (Number(req.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLong
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) throw tooLong
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown
  } catch {
    throw new HttpFault(400, 'The body is not JSON.', PARSE_ERROR)
  }
}

export function refuse(res: ServerResponse, { status, message, code = SERVER_ERROR, headers }: Refusal): void {
  const error = { code, message }
  // Does not wait for a body that is not read.
  if (!res.req.complete) res.shouldKeepAlive = false
  res.writeHead(status, { 'Content-Type': 'application/json', ...headers })
  res.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }))
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
