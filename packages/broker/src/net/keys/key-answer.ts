import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, type Transform } from 'node:stream'
import type { Redaction } from '../../secrets/redaction.ts'
import { passedHeaders } from '../http-headers.ts'
import type { DecoderMemory } from '../response-body.ts'
import { decoderFor } from '../response.ts'

const CHUNK_BYTES = 64 * 1024
/** Responses with these have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 304])

/** An answer of the relay itself. */
export function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'connection': 'close' }).end(`${message}\n`)
}

export interface AnswerOptions {
  /** Of the request. */
  readonly method: string
  readonly redaction: Redaction | undefined
  readonly decoders: DecoderMemory
}

/**
 * Passes a response on, without secrets. A body in an encoding that was not asked for is decoded, and refused if that
 * is not possible.
 */
export async function answer(
  incoming: IncomingMessage, response: ServerResponse, { method, redaction, decoders }: AnswerOptions,
): Promise<void> {
  const status = incoming.statusCode ?? 502
  const headers = passedHeaders(incoming)
  const encoding = incoming.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  const hasBody = method !== 'HEAD' && !BODILESS.has(status)
  const decoder = decoderFor(encoding)
  if (hasBody && decoder === undefined && encoding !== 'identity') {
    incoming.destroy()
    return refuse(response, 502, 'The host answered in an encoding that cannot be searched for keys.')
  }
  if (hasBody) for (const name of ['content-encoding', 'content-length', 'trailer']) delete headers[name]
  for (const [name, values] of Object.entries(headers)) {
    headers[name] = values.map((value) => redaction?.text(value) ?? value)
  }
  response.writeHead(status, headers)
  // A stream of events may begin with a pause.
  response.flushHeaders()
  if (!hasBody) {
    incoming.resume()
    return void response.end()
  }
  const claim = decoder && decoders.claim(decoder.bytes)
  response.once('close', () => claim?.release())
  await claim?.granted
  const decoding: readonly Transform[] = decoder ? [decoder.open(CHUNK_BYTES)] : []
  const clean = (body: AsyncIterable<Buffer>) => redacted(body, redaction)
  pipeline([incoming, ...decoding, clean, response], () => undefined)
}

async function* redacted(body: AsyncIterable<Buffer>, redaction: Redaction | undefined): AsyncGenerator<Buffer> {
  const stream = redaction?.stream()
  for await (const chunk of body) {
    const clean = stream?.push(chunk) ?? chunk
    if (clean.length > 0) yield clean
  }
  const rest = stream?.end()
  if (rest !== undefined && rest.length > 0) yield rest
}
