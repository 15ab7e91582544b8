import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { BulkheadError } from '@bulkhead/contract'
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
    open: (chunkSize) => createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
  }],
])

/**
 * Reads the head of a response. A body in one known encoding is decoded, and the headers then describe the decoded body. A
 * body in several encodings, which only decompression bombs use, or in an unknown one is passed on as it is.
 */
export function readResponseHead({ statusCode, headers: given }: RawHead, method: string, limits: NetLimits): ResponseHead {
  const headers = new Map<string, string>()
  let count = 0
  for (const [name, value] of Object.entries(given)) {
    const values = Array.isArray(value) ? value : [value ?? '']
    count += values.length
    if (!HIDDEN.has(name) && !name.startsWith('proxy-')) headers.set(name, values.join(name === 'set-cookie' ? '\n' : ', '))
  }
  if (count > limits.headerCount) {
    throw new BulkheadError('ToolExecutionFailed', `The response has more than ${limits.headerCount} headers.`)
  }
  const hasBody = method !== 'HEAD' && !BODILESS.has(statusCode)
  const decoder = hasBody ? DECODERS.get(headers.get('content-encoding')?.trim().toLowerCase() ?? '') : undefined
  if (decoder !== undefined) {
    headers.delete('content-encoding')
    headers.delete('content-length')
  }
  return { headers, decoder, hasBody }
}
