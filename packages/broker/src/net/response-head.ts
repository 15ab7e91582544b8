import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { BulkheadError } from '@bulkhead/contract'
import type { Dispatcher } from 'undici'
import type { NetLimits } from './limits.ts'

/** The head of a response, as the tool is told it. */
export interface Incoming {
  /** Names in lower case; several of one name are joined, cookies by line breaks since commas occur in them. */
  readonly headers: ReadonlyMap<string, string>
  readonly decoder: Decoder | undefined
  readonly hasBody: boolean
}
export interface Decoder {
  /** What it may hold, in bytes: the largest window of its format, and some more. */
  readonly bytes: number
  open(chunkBytes: number): Transform
}
type ResponseHead = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>

/** They are about the connection, which is not the tool's. The last would be a prototype to careless code. */
const HIDDEN: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', '__proto__',
])
/** Nothing comes after these; no other status is asked for, since undici itself refuses to switch protocols. */
const BODILESS: ReadonlySet<number> = new Set([204, 304])
/** What the specification of this content coding asks a reader to hold at most: 8 MB. The library would take 128. */
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
 * Reads the head of a response. A body in one known coding is decoded, and then the headers speak of the decoded body; one
 * in several codings, which only bombs use, or in an unknown one is handed on as it came, with the header that says so.
 */
export function readIncoming({ statusCode, headers: given }: ResponseHead, method: string, limits: NetLimits): Incoming {
  const headers = new Map<string, string>()
  let count = 0
  for (const [name, value] of Object.entries(given)) {
    const values = Array.isArray(value) ? value : [value ?? '']
    count += values.length
    if (!HIDDEN.has(name) && !name.startsWith('proxy-')) headers.set(name, values.join(name === 'set-cookie' ? '\n' : ', '))
  }
  if (count > limits.headerCount) {
    throw new BulkheadError('ToolExecutionFailed', `The response has more than ${limits.headerCount} headers and was not read.`)
  }
  const hasBody = method !== 'HEAD' && !BODILESS.has(statusCode)
  const decoder = hasBody ? DECODERS.get(headers.get('content-encoding')?.trim().toLowerCase() ?? '') : undefined
  if (decoder !== undefined) {
    headers.delete('content-encoding')
    headers.delete('content-length')
  }
  return { headers, decoder, hasBody }
}
