import { BulkheadError } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { storeError, type StoreFaultReason } from '@bulkhead/store/records'

interface Explanation {
  readonly reason: StoreFaultReason
  readonly what: string
  readonly cure: string
}

const unreachable: Explanation = {
  reason: 'unreachable', what: 'cannot be reached',
  cure: 'Check that the server runs, its address and the network. The host tries again by itself',
}
const denied: Explanation = {
  reason: 'denied', what: 'refused the connection or a statement',
  cure: 'Check user, password, database and the rights of the role (docs/guides/store.md)',
}
const tls: Explanation = {
  reason: 'denied', what: 'cannot be trusted or does not offer TLS',
  cure: 'Name its authority with sslrootcert, or choose another sslmode (docs/guides/store.md)',
}
const late: Explanation = {
  reason: 'timeout', what: 'did not answer in time', cure: 'Check the load of the server and for locks that are held',
}
const busy: Explanation = {
  reason: 'busy', what: 'is busy', cure: 'Raise max_connections, or connect through a pooler',
}
const full: Explanation = { reason: 'full', what: 'has no room left', cure: 'Free disk space on the server' }
const changed: Explanation = {
  reason: 'corrupt', what: 'does not have the tables of a store',
  cure: 'They were changed or removed from outside. Restore a backup',
}
const location: Explanation = {
  reason: 'location', what: 'accepts no writes', cure: 'Name the primary server, not a standby',
}
const other: Explanation = { reason: 'disk', what: 'reported an error', cure: 'See the log of the server' }

/** By code of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html), or by its class. */
const explanations: ReadonlyMap<string, Explanation> = new Map([
  ['08', unreachable], ['57P01', unreachable], ['57P02', unreachable], ['57P03', unreachable], ['57P05', unreachable],
  ['57014', late], ['55P03', late], ['25P03', late], ['28', denied], ['3D000', denied], ['42501', denied],
  ['53300', busy], ['53100', full], ['40', busy], ['42P01', changed], ['42703', changed], ['3F000', changed],
  ['25006', location],
])

/** Of Node and of the library. */
const TLS = /^(?:ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/
const CONNECTION =
  /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_|ENOENT|EADDR)|Connection terminated|timeout expired|connection error|trying to connect|was closed/
const LATE = /Query read timeout/
const NO_TLS = /does not support SSL/
const NO_PASSWORD = /password must be a|SASL/

function explain(thrown: unknown): Explanation {
  const code = errorCode(thrown) ?? ''
  if (/^[0-9A-Z]{5}$/.test(code)) {
    const known = explanations.get(code) ?? explanations.get(code.slice(0, 2))
    if (known) return known
  }
  const text = `${code} ${messageOf(thrown)}`.trim()
  if (TLS.test(code) || NO_TLS.test(text)) return tls
  if (LATE.test(text)) return late
  if (CONNECTION.test(text)) return unreachable
  return NO_PASSWORD.test(text) ? denied : other
}

/** Any error as StoreUnavailable with its cure. A BulkheadError is returned as it is. */
export function postgresError(thrown: unknown, shown: string, secret: string | undefined): BulkheadError {
  if (BulkheadError.is(thrown)) return thrown
  const { reason, what, cure } = explain(thrown)
  const code = errorCode(thrown)
  // Several addresses of one host fail with an error that has no message of its own.
  const said = messageOf(thrown instanceof AggregateError ? thrown.errors[0] : thrown)
  const words = withoutSecret(code === undefined || said.includes(code) ? said : `${code}: ${said}`, secret)
  // The error itself is not kept as the cause: the library attaches the client, which knows the password.
  return storeError(reason, `The store ${shown} ${what} (${words}). ${cure}.`, {
    data: { store: shown, ...(code !== undefined && { code }), ...(LATE.test(said) && { hung: true }) },
  })
}

function withoutSecret(text: string, secret: string | undefined): string {
  return secret === undefined || secret === '' ? text : text.replaceAll(secret, '…')
}

/** The client gave up: not even the time limit of the server was reported. */
export const isHung = (error: unknown): boolean =>
  BulkheadError.is(error) && (error.data as { readonly hung?: unknown } | undefined)?.hung === true

/** A key that is there already. The statement had no effect. */
export const isDuplicate = (error: unknown): boolean =>
  BulkheadError.is(error) && (error.data as { readonly code?: unknown } | undefined)?.code === '23505'

/** The statement may or may not have taken effect: nobody answered. */
export const isUnanswered = (error: unknown): boolean =>
  BulkheadError.is(error) && (error.data as { readonly reason?: unknown } | undefined)?.reason === 'unreachable'
