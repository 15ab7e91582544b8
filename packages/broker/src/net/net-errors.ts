import type { ErrorCode } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'

const FAULTS: ReadonlyMap<string, readonly [code: ErrorCode, what: string]> = new Map([
  ['ENOTFOUND', ['NotFound', 'has no address. Check its name']],
  ['EAI_AGAIN', ['ResourceBusy', 'could not be looked up just now. Try again a little later']],
  ['EMFILE', ['ResourceBusy', 'cannot be reached for now: too many files and connections are open here. Try again later']],
  ['ENFILE', ['ResourceBusy', 'cannot be reached for now: too many files and connections are open here. Try again later']],
  ['ECONNREFUSED', ['ToolExecutionFailed', 'refused the connection. Check that it is up and the port is right']],
  ['EHOSTUNREACH', ['ToolExecutionFailed', 'cannot be reached from here']],
  ['ENETUNREACH', ['ToolExecutionFailed', 'cannot be reached from here']],
  ['ETIMEDOUT', ['ToolExecutionFailed', 'did not answer. Try again later']],
  ['ECONNRESET', ['ToolExecutionFailed', 'ended the connection before it had answered']],
  ['EPIPE', ['ToolExecutionFailed', 'ended the connection before it had answered']],
  ['UND_ERR_SOCKET', ['ToolExecutionFailed', 'ended the connection before it had answered']],
  ['ERR_STREAM_PREMATURE_CLOSE', ['ToolExecutionFailed', 'ended the connection before it had answered']],
  ['UND_ERR_HEADERS_OVERFLOW', ['ToolExecutionFailed', 'sent more headers than are read']],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', ['ToolExecutionFailed', 'sent another number of bytes than it had announced']],
  ['ERR_TLS_CERT_ALTNAME_INVALID', ['ToolExecutionFailed', 'has a certificate for other names']],
  ['CERT_HAS_EXPIRED', ['ToolExecutionFailed', 'has a certificate that has expired']],
])

const FAMILIES: readonly (readonly [codes: RegExp, what: string])[] = [
  [/^HTTPParserError$|^HPE_/, 'answered with something that is not HTTP'],
  [/^(?:Z_|ERR__ERROR_|ZSTD_)/, 'sent a body that cannot be decompressed'],
  [/CERT|SELF_SIGNED|UNABLE_TO_|^ERR_SSL|^ERR_TLS|^EPROTO$/, 'could not prove over TLS who it is'],
]

/** What went wrong on the way to a host, in the tool's terms: the host, a cure, and nothing of addresses or of this machine. */
export function netFault(error: unknown, host: string): BulkheadError {
  if (BulkheadError.is(error)) return error
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown }
  // What parses answers has no code for most of its errors.
  const reason = typeof code === 'string' ? code : name === 'HTTPParserError' ? name : 'unknown'
  const family = FAMILIES.find(([codes]) => codes.test(reason))?.[1] ?? `could not be reached (${reason})`
  const [kind, what] = FAULTS.get(reason) ?? ['ToolExecutionFailed' as const, family]
  return new BulkheadError(kind, `The host ${host} ${what}.`, { cause: error, data: { host, reason } })
}
