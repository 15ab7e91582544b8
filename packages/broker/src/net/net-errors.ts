import type { ErrorCode } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'

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
