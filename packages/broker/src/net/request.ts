import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError, HEADER_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'

/** A valid request. Its headers cannot change where it goes or where its message ends. */
export interface OutgoingRequest {
  readonly method: string
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer | null
  readonly follow: boolean
}

/** Without CONNECT, which opens a tunnel, and TRACE, which echoes headers added on the way. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Headers that control routing or framing. The connection sets them. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect',
  'http2-settings', 'via',
])
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const HEADERS = 64
const HEADER_CHARS = 16 * 1024
const OPTIONS: ReadonlySet<string> = new Set(['method', 'headers', 'body', 'redirect'])

/** Reads the request of a tool. Throws InputInvalid. */
export function readRequest(given: Json | undefined, maxBytes: number): OutgoingRequest {
  const request = given ?? {}
  if (!isJsonObject(request)) throw invalid('it must be an object')
  const unknown = Object.keys(request).find((key) => !OPTIONS.has(key))
  if (unknown !== undefined) throw invalid(`it has the unknown option "${unknown}"`)
  const method = readMethod(request['method'])
  const body = readBody(request['body'], maxBytes)
  if (body !== undefined && BODILESS.has(method)) throw invalid(`${method} cannot have a body; use another method`)
  const headers = readHeaders(request['headers'], body)
  return { method, headers, body: body?.bytes ?? null, follow: readRedirect(request['redirect']) }
}

function readMethod(given: Json | undefined): string {
  const method = typeof given === 'string' ? given.toUpperCase() : given ?? 'GET'
  if (typeof method === 'string' && METHODS.has(method)) return method
  throw invalid(`the method must be one of ${[...METHODS].join(', ')}`)
}

function readRedirect(given: Json | undefined): boolean {
  if (given !== undefined && given !== 'follow' && given !== 'manual') throw invalid('redirect must be follow or manual')
  return given !== 'manual'
}

interface Body {
  readonly kind: 'text' | 'bytes'
  readonly bytes: Buffer
}

function readBody(given: Json | undefined, maxBytes: number): Body | undefined {
  if (given === undefined || given === null) return undefined
  if (!isJsonObject(given) || typeof given['content'] !== 'string' || (given['kind'] !== 'text' && given['kind'] !== 'bytes')) {
    throw invalid('the body must be a string or bytes')
  }
  const bytes = Buffer.from(given['content'], given['kind'] === 'bytes' ? 'base64' : 'utf8')
  if (bytes.length > maxBytes) throw invalid(`the body has more than ${maxBytes} bytes`)
  return { kind: given['kind'], bytes }
}

function readHeaders(given: Json | undefined, body: Body | undefined): ReadonlyMap<string, string> {
  if (given !== undefined && given !== null && !isJsonObject(given)) throw invalid('the headers must be an object')
  const headers = new Map<string, string>()
  let chars = 0
  for (const [name, value] of Object.entries(given ?? ({} satisfies JsonObject))) {
    const key = name.toLowerCase()
    if (!HEADER_NAME_PATTERN.test(name)) throw invalid('a header name is not a valid token')
    if (FORBIDDEN.has(key) || key.startsWith('proxy-')) throw invalid(`tools may not set the header ${key}`)
    if (headers.has(key)) throw invalid(`the header ${key} is given twice`)
    if (typeof value !== 'string' || !VALUE.test(value)) throw invalid(`the header ${key} must be a string of Latin-1 characters`)
    chars += name.length + value.length
    headers.set(key, value.trim())
  }
  if (headers.size > HEADERS || chars > HEADER_CHARS) {
    throw invalid(`it has more than ${HEADERS} headers, or more than ${HEADER_CHARS} characters in them`)
  }
  return withDefaults(headers, body)
}

/** Default headers. A range is requested uncompressed, because part of a compressed body cannot be decoded. */
function withDefaults(headers: Map<string, string>, body: Body | undefined): ReadonlyMap<string, string> {
  return new Map([
    ['accept', '*/*'],
    ['accept-encoding', headers.has('range') ? 'identity' : 'gzip, br, zstd'],
    ['user-agent', 'bulkhead'],
    ...(body?.kind === 'text' ? [['content-type', 'text/plain;charset=UTF-8'] as const] : []),
    ...headers,
  ])
}

const invalid = (why: string): BulkheadError => new BulkheadError('InputInvalid', `The request is invalid: ${why}.`)
