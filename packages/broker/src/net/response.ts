import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { BulkheadError, type ErrorCode } from '@bulkhead/contract'
import type { Dispatcher } from 'undici'
import type { NetLimits } from './limits.ts'

/** The head of a response, as the tool sees it. */
export interface ResponseHead {
  /** Names in lower case. Repeated headers are joined, cookies by line breaks because they contain commas. */
  readonly headers: ReadonlyMap<string, string>
  readonly decoder: Decoder | undefined
  readonly hasBody: boolean
}
export interface Decoder {
  /** The memory it may use: the largest window of its format, and some more. */
  readonly bytes: number
  open(chunkBytes: number): Transform
}
type RawHead = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

/** Headers of the connection. `__proto__` would set a prototype in careless code. */
const HIDDEN: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', '__proto__',
])
/** Responses with these have no body. 1xx does not occur: undici does not switch protocols. */
const BODILESS: ReadonlySet<number> = new Set([204, 304])
/** 8 MB, the largest window that RFC 9659 allows. The library would accept 128 MB. */
const ZSTD_WINDOW_LOG = 23

const MB = 1024 * 1024
const GZIP: Decoder = { bytes: MB, open: (chunkSize) => createGunzip({ chunkSize }) }

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', { bytes: MB, open: (chunkSize) => createInflate({ chunkSize }) }],
  ['br', { bytes: 20 * MB, open: (chunkSize) => createBrotliDecompress({ chunkSize }) }],
  ['zstd', {
    bytes: 10 * MB,
    open: (chunkSize) =>
      createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
  }],
])

/** For the value of content-encoding, in lower case. undefined for none, an unknown one, or several. */
export const decoderFor = (encoding: string): Decoder | undefined => DECODERS.get(encoding)

/**
 * Reads the head of a response. A body in one known encoding is decoded, and the headers then describe the decoded
 * body. A body in several encodings, which only decompression bombs use, or in an unknown one is passed on as it is.
 */
export function readResponseHead(
  { statusCode, headers: given }: RawHead, method: string, limits: NetLimits,
): ResponseHead {
  const headers = new Map<string, string>()
  let count = 0
  for (const [name, value] of Object.entries(given)) {
    const values = Array.isArray(value) ? value : [value ?? '']
    count += values.length
    if (HIDDEN.has(name) || name.startsWith('proxy-')) continue
    headers.set(name, values.join(name === 'set-cookie' ? '\n' : ', '))
  }
  if (count > limits.headerCount) {
    throw new BulkheadError('ToolExecutionFailed', `The response has more than ${limits.headerCount} headers.`)
  }
  const hasBody = method !== 'HEAD' && !BODILESS.has(statusCode)
  const decoder = hasBody ? decoderFor(headers.get('content-encoding')?.trim().toLowerCase() ?? '') : undefined
  if (decoder !== undefined) {
    headers.delete('content-encoding')
    headers.delete('content-length')
  }
  return { headers, decoder, hasBody }
}

const FAULTS: ReadonlyMap<string, readonly [code: ErrorCode, what: string]> = new Map([
  ['ENOTFOUND', ['NotFound', 'has no address. Check the name']],
  ['EAI_AGAIN', ['ResourceBusy', 'could not be looked up. Try again later']],
  ['EMFILE', ['ResourceBusy', 'cannot be reached because too many files and connections are open. Try again later']],
  ['ENFILE', ['ResourceBusy', 'cannot be reached because too many files and connections are open. Try again later']],
  ['ECONNREFUSED', ['ToolExecutionFailed', 'refused the connection. Check that it is up and the port is right']],
  ['EHOSTUNREACH', ['ToolExecutionFailed', 'is unreachable']],
  ['ENETUNREACH', ['ToolExecutionFailed', 'is unreachable']],
  ['ETIMEDOUT', ['ToolExecutionFailed', 'did not answer. Try again later']],
  ['ECONNRESET', ['ToolExecutionFailed', 'closed the connection before it answered']],
  ['EPIPE', ['ToolExecutionFailed', 'closed the connection before it answered']],
  ['UND_ERR_SOCKET', ['ToolExecutionFailed', 'closed the connection before it answered']],
  ['ERR_STREAM_PREMATURE_CLOSE', ['ToolExecutionFailed', 'closed the connection before it answered']],
  ['UND_ERR_HEADERS_OVERFLOW', ['ToolExecutionFailed', 'sent too many headers']],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', ['ToolExecutionFailed', 'sent a different number of bytes than announced']],
  ['ERR_TLS_CERT_ALTNAME_INVALID', ['ToolExecutionFailed', 'has a certificate for other names']],
  ['CERT_HAS_EXPIRED', ['ToolExecutionFailed', 'has an expired certificate']],
])

const FAMILIES: readonly (readonly [codes: RegExp, what: string])[] = [
  [/^HTTPParserError$|^HPE_/, 'answered with something that is not HTTP'],
  [/^(?:Z_|ERR__ERROR_|ZSTD_)/, 'sent a body that cannot be decompressed'],
  [/CERT|SELF_SIGNED|UNABLE_TO_|^ERR_SSL|^ERR_TLS|^EPROTO$/, 'could not be authenticated over TLS'],
]

/** An error of a request in the tool's terms: the host and a remedy, without addresses and details of this machine. */
export function netError(error: unknown, host: string): BulkheadError {
  if (BulkheadError.is(error)) return error
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown }
  // Most errors of the HTTP parser have no code.
  const reason = typeof code === 'string' ? code : name === 'HTTPParserError' ? name : 'unknown'
  const family = FAMILIES.find(([codes]) => codes.test(reason))?.[1] ?? `could not be reached (${reason})`
  const [kind, what] = FAULTS.get(reason) ?? ['ToolExecutionFailed' as const, family]
  return new BulkheadError(kind, `The host ${host} ${what}.`, { cause: error, data: { host, reason } })
}
