import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { LimitReached } from '../../connected/backoff.ts'

/** Whether the connection failed, not the call itself. */
export const isConnectionFault = (error: unknown): boolean =>
  codeOf(error) !== undefined || statusOf(error) !== undefined || isFetchFault(error)

const MOST_CHARS = 2_000
/** For validation errors of the SDK, which can be very long. */
const MOST_DUMP_CHARS = 300

/** Converts a failed call to a BulkheadError. Server messages are untrusted text. */
export function callFault(name: string, error: unknown, redact: (text: string) => string): BulkheadError {
  if (BulkheadError.is(error)) return error
  const text = visibleText(redact(messageOf(error)), { keepLines: true }).slice(0, MOST_CHARS)
  const make = (code: 'ServerUnavailable' | 'ServerLost' | 'MessageTooLarge', message: string) =>
    new BulkheadError(code, message, { data: { server: name } })
  if (error instanceof RangeError) {
    return make('MessageTooLarge', `The MCP server "${name}" sent a message that is too large: ${text} ${LESS}`)
  }
  if (error instanceof LimitReached) {
    const what = `The MCP server "${name}" was lost during the call: ${text}.`
    return make('ServerLost', `${what} The next call starts it again.`)
  }
  const status = statusOf(error)
  if (status === 401 || status === 403) {
    return make('ServerUnavailable', `${unavailable(name)}: it responds with status ${status}. ${authorization(name)}`)
  }
  if (status !== undefined) return make('ServerUnavailable', `${unavailable(name)}: it responds with status ${status}.`)
  const code = codeOf(error)
  if (code === 'NOT_CONNECTED' || code === 'SEND_FAILED' || isRefused(error)) {
    const reason = networkReason(error)
    const why = reason === undefined ? text : unreachable(visibleText(redact(reason)))
    return make('ServerUnavailable', `${unavailable(name)}: ${why}`)
  }
  if (code === 'CONNECTION_CLOSED' || code === 'EPIPE' || isFetchFault(error)) {
    const how = isFetchFault(error) ? 'the connection was closed' : text
    return make('ServerLost', `The MCP server "${name}" was lost during the call: ${how}`)
  }
  if (isUnreadable(error)) {
    const why = text.replaceAll(/\s+/g, ' ').slice(0, MOST_DUMP_CHARS)
    return new BulkheadError(
      'ToolExecutionFailed', `The MCP server "${name}" sent an invalid response: ${why}`, { data: { server: name } },
    )
  }
  return new BulkheadError('ToolExecutionFailed', text, { data: { server: name } })
}

const LESS = 'Request less data: the size of a message is limited.'
const authorization = (name: string): string =>
  `Name the variable with its token in "headers" of the configuration, or run \`bulkhead mcp login ${name}\`.`

export const unavailable = (name: string): string => `mcp server ${name} is unavailable`

/** Error codes of the SDK and of pipes are strings. Those of a server are numbers. */
function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' && CONNECTION_CODES.has(code) ? code : undefined
}

const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'NOT_CONNECTED', 'CONNECTION_CLOSED', 'SEND_FAILED', 'ERA_NEGOTIATION_FAILED',
  // A local server ended before it had read everything.
  'EPIPE',
])

function statusOf(error: unknown): number | undefined {
  const { data, name } = (error ?? {}) as { readonly data?: { readonly status?: unknown }; readonly name?: unknown }
  if (name === 'UnauthorizedError') return 401
  return typeof data?.status === 'number' && typeof (error as { code?: unknown }).code === 'string'
    ? data.status
    : undefined
}

/** `terminated` is the message if the response had started. */
const isFetchFault = (error: unknown): boolean =>
  error instanceof TypeError && ['fetch failed', 'terminated'].includes(error.message)

/** Whether the SDK could not parse the response. */
const isUnreadable = (error: unknown): boolean => {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown }
  return error instanceof SyntaxError || name === 'ZodError' || (typeof code === 'string' && UNREADABLE_CODES.has(code))
}

const UNREADABLE_CODES: ReadonlySet<string> = new Set([
  'INVALID_RESULT', 'UNSUPPORTED_RESULT_TYPE', 'CLIENT_HTTP_UNEXPECTED_CONTENT',
])

export const unreachable = (reason: string): string => `it cannot be reached: ${reason}`

/** Why a request could not be sent. `fetch` tells it in its cause. undefined if no request failed. */
export function networkReason(error: unknown): string | undefined {
  const chain: unknown[] = []
  for (let one = error; one instanceof Error && chain.length < MOST_CAUSES; one = one.cause) chain.push(one)
  if (!chain.some(isFetchFault)) return undefined
  const last = chain.at(-1) as Error & { readonly code?: unknown }
  // Several addresses were tried.
  return (last.message || String(last.code ?? last.name)).slice(0, MOST_DUMP_CHARS)
}

const MOST_CAUSES = 8

const isRefused = (error: unknown): boolean =>
  isFetchFault(error) && ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(
    String((error as { cause?: { code?: unknown } }).cause?.code),
  )

/** The result of a call, with secrets removed. */
export function callResultOf(answer: unknown, redact: (text: string) => string): JsonObject {
  const redacted = JSON.parse(redact(JSON.stringify(answer))) as Record<string, Json | undefined>
  const { content, structuredContent, isError, _meta: about } = redacted
  const code = isJsonObject(about) ? about['bulkhead/error'] : undefined
  return {
    content: Array.isArray(content) ? content : [],
    ...(structuredContent !== undefined && {
      structuredContent: isJsonObject(structuredContent) ? structuredContent : { result: structuredContent },
    }),
    ...(typeof isError === 'boolean' && { isError }),
    // The code of another Bulkhead. The host accepts what a tool may report.
    ...(isError === true && code !== undefined && { _meta: { 'bulkhead/error': code } }),
  }
}
