import { BulkheadError, HEADER_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { checkParsedUrl, type HostAllowList, type Target } from '../hosts/url-policy.ts'
import { Denial, type Remedies } from '../model/capability.ts'
import { hasHandle } from '../secrets/secrets.ts'

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
/** Methods that read: they have no body, and a repetition is harmless. */
export const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Headers that control routing or framing. The connection sets them. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect',
  'http2-settings', 'via',
])
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const HEADERS = 64
const HEADER_CHARS = 16 * 1024
const OPTIONS: ReadonlySet<string> = new Set(['method', 'headers', 'body', 'redirect'])

/** Reads the request of a tool. `reserved`: a header that only the host sets, in lower case. Throws InputInvalid. */
export function readRequest(given: Json | undefined, maxBytes: number, reserved?: string): OutgoingRequest {
  const request = given ?? {}
  if (!isJsonObject(request)) throw invalid('it must be an object')
  const unknown = Object.keys(request).find((key) => !OPTIONS.has(key))
  if (unknown !== undefined) throw invalid(`it has the unknown option "${unknown}"`)
  const method = readMethod(request['method'])
  const body = readBody(request['body'], maxBytes)
  if (body !== undefined && SAFE.has(method)) throw invalid(`${method} cannot have a body; use another method`)
  const headers = readHeaders(request['headers'], body, reserved)
  return { method, headers, body: body?.bytes ?? null, follow: readRedirect(request['redirect']) }
}

function readMethod(given: Json | undefined): string {
  const method = typeof given === 'string' ? given.toUpperCase() : given ?? 'GET'
  if (typeof method === 'string' && METHODS.has(method)) return method
  throw invalid(`the method must be one of ${[...METHODS].join(', ')}`)
}

function readRedirect(given: Json | undefined): boolean {
  if (given !== undefined && given !== 'follow' && given !== 'manual') {
    throw invalid('redirect must be follow or manual')
  }
  return given !== 'manual'
}

interface Body {
  readonly kind: 'text' | 'bytes'
  readonly bytes: Buffer
}

function readBody(given: Json | undefined, maxBytes: number): Body | undefined {
  if (given === undefined || given === null) return undefined
  const { kind, content } = isJsonObject(given) ? given : ({} satisfies JsonObject as JsonObject)
  if (typeof content !== 'string' || (kind !== 'text' && kind !== 'bytes')) {
    throw invalid('the body must be a string or bytes')
  }
  const bytes = Buffer.from(content, kind === 'bytes' ? 'base64' : 'utf8')
  if (bytes.length > maxBytes) throw invalid(`the body has more than ${maxBytes} bytes`)
  return { kind, bytes }
}

function readHeaders(
  given: Json | undefined, body: Body | undefined, reserved: string | undefined,
): ReadonlyMap<string, string> {
  if (given !== undefined && given !== null && !isJsonObject(given)) throw invalid('the headers must be an object')
  const headers = new Map<string, string>()
  let chars = 0
  for (const [name, value] of Object.entries(given ?? ({} satisfies JsonObject))) {
    const key = name.toLowerCase()
    if (!HEADER_NAME_PATTERN.test(name)) throw invalid('a header name is not a valid token')
    if (FORBIDDEN.has(key) || key.startsWith('proxy-')) throw invalid(`tools may not set the header ${key}`)
    if (key === reserved) throw invalid(`the host sets the header ${key}, as the manifest says`)
    if (headers.has(key)) throw invalid(`the header ${key} is given twice`)
    if (typeof value !== 'string' || !VALUE.test(value)) {
      throw invalid(`the header ${key} must be a string of Latin-1 characters`)
    }
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

/** One request of a fetch: the first one, or one that follows a redirect. */
export interface Hop {
  readonly target: Target
  readonly request: OutgoingRequest
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/**
 * Headers that follow a redirect to another origin. Credentials travel in headers of any name, so this is an allow list
 * of headers that carry none. A header with a secret handle is dropped in any case.
 */
const CARRIED: ReadonlySet<string> = new Set([
  'accept', 'accept-encoding', 'accept-language', 'cache-control', 'content-encoding', 'content-language',
  'content-type',
  'if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'range', 'user-agent',
])
const OF_BODY: ReadonlySet<string> =
  new Set(['content-encoding', 'content-language', 'content-location', 'content-type'])

/** The next request if the response is a redirect. Its URL is checked like any other. */
export function nextHop(hop: Hop, status: number, location: string, scope: HostAllowList): Hop | undefined {
  if (!REDIRECTS.has(status) || location === '') return undefined
  const { target, request } = hop
  const next = checkLocation(target, location, scope)
  const isGet = becomesGet(status, request.method)
  const isCrossOrigin = next.url.origin !== target.url.origin
  const headers = [...request.headers].filter(([name, value]) =>
    (!isGet || !OF_BODY.has(name)) && (!isCrossOrigin || (CARRIED.has(name) && !hasHandle(value))))
  const changed = isGet ? { method: 'GET', body: null } : {}
  return { target: next, request: { ...request, headers: new Map(headers), ...changed } }
}

/** Everything that the target receives. The URL also unescaped, because its parser escapes characters. */
export const contentOf = ({ target: { url }, request: { headers, body } }: Hop): readonly Buffer[] => [
  Buffer.from(url.href),
  Buffer.from(url.href.replaceAll(/%[0-9a-f]{2}/gi, unescaped), 'latin1'),
  ...[...headers.values()].map((value) => Buffer.from(value, 'latin1')),
  ...(body === null ? [] : [body]),
]

const unescaped = (escape: string): string => Buffer.from(escape.slice(1), 'hex').toString('latin1')

function checkLocation({ url, host }: Target, location: string, scope: HostAllowList): Target {
  const parsed = URL.parse(location, url)
  if (parsed === null) throw new BulkheadError('ToolExecutionFailed', `The host ${host} redirects to an invalid URL.`)
  if (url.protocol === 'https:' && parsed.protocol === 'http:') {
    throw new Denial(
      `The host ${host} redirects from https to http. Such a redirect is not followed.`,
      UNFOLLOWED,
      { power: 'net', host },
    )
  }
  try {
    return checkParsedUrl(parsed, scope)
  } catch (error) {
    const elsewhere = `The host ${host} redirects elsewhere.`
    if (error instanceof Denial) throw new Denial(`${elsewhere} ${error.what}`, error.remedies, error.data ?? null)
    const { code, message, data } = BulkheadError.from(error)
    // The URL is not the tool's input.
    const errorCode = code === 'InputInvalid' ? 'ToolExecutionFailed' : code
    throw new BulkheadError(errorCode, `${elsewhere} ${message}`, {
      cause: error, ...(data !== undefined && { data }),
    })
  }
}

const UNFOLLOWED: Remedies = {
  author: "Fetch with redirect: 'manual' to see where it leads.",
  caller: 'Use the http URL directly if you want it.',
}

const becomesGet = (status: number, method: string): boolean =>
  status === 303 ? method !== 'GET' && method !== 'HEAD' : (status === 301 || status === 302) && method === 'POST'
