import type { NetResponse } from '@bulkhead/contract/author'
import { type Json, type JsonObject, parseJson } from '@bulkhead/kit/json'
import type { Credential } from '../credentials.ts'
import type { DescribedOperation } from '../reading/api-description.ts'
import { authorize, type AuthorizedRequest, type CallRuntime, type OauthTokens } from './authorization.ts'
import { nextPage } from './pagination.ts'
import { requestOf } from './request.ts'

/** Limit of a response body. */
const MOST_BODY_BYTES = 64 * 1024

const MEDIA_TYPE = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/
const TEXT_TYPE =
  /^text\/|^application\/(?:[\w.-]+\+|x-)?(?:json|xml|yaml|javascript|ndjson|toml|x-www-form-urlencoded)$/

/**
 * Converts a response to a result. Any status is a result; the caller interprets it. The long part comes last, because
 * results are truncated at the end.
 */
async function answerOf(
  operation: DescribedOperation, address: string, response: NetResponse, tokens: readonly string[],
): Promise<JsonObject> {
  const { method } = operation
  const { status, headers } = response
  const next = nextPage(withoutTokens(headers['link'] ?? '', tokens), address, operation)
  const url = withoutTokens(address, tokens)
  const [mediaType, charset] = contentType(headers['content-type'] ?? '')
  const { bytes, isCut } = await readHead(response)
  const text = TEXT_TYPE.test(mediaType) || !bytes.includes(0)
    ? withoutTokens(decoded(bytes, charset, isCut), tokens) : undefined
  const parsed = text !== undefined && !isCut && JSON_TYPE.test(mediaType) ? parseJson(text) : undefined
  const body: Json = parsed?.ok ? parsed.value : text ?? null
  const shown = text ?? `[${isCut ? 'more than ' : ''}${bytes.length} bytes of binary data]`
  const note = isCut ? `\n[The response has more than ${MOST_BODY_BYTES} bytes and was truncated.]` : ''
  const more = next === undefined ? '' : `\nNext page: ${JSON.stringify(next['arguments'] ?? next['url'] ?? null)}`
  return {
    type: 'output',
    data: {
      status, ...(mediaType !== '' && { content_type: mediaType }), ...(next && { next }),
      ...(isCut && { truncated: true }), body,
    },
    content: [{ type: 'text', text: `${method} ${url} → ${status}${more}\n\n${shown}${note}` }],
    details: { status, method, url, ...(next && { next }) },
  }
}

/** A server may echo a token that it received. At the end of a truncated text it may be incomplete. */
export function withoutTokens(text: string, tokens: readonly string[]): string {
  return tokens.flatMap((token) => [token, encodeURIComponent(token), JSON.stringify(token).slice(1, -1)])
    .reduce((rest, token) => {
      const whole = rest.replaceAll(token, '[REDACTED]')
      const begun = Array.from(token, (_, at) => token.slice(0, at)).findLast((part) => whole.endsWith(part)) ?? ''
      return begun.length < 4 ? whole : `${whole.slice(0, -begun.length)}[REDACTED]`
    }, text)
}

/** The URL of the response without a key in its query. */
function shownUrlOf({ url, shownUrl }: AuthorizedRequest, response: NetResponse): string {
  if (url === shownUrl) return response.url
  return response.url === new URL(url).href
    ? new URL(shownUrl).href : response.url.replaceAll(/\{\{secret:[^{}]*\}\}/g, '[REDACTED]')
}

function contentType(header: string): readonly [mediaType: string, charset: string] {
  const [type = '', ...parameters] = header.split(';')
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([\w.:-]+)"?\s*$/i.exec(one)?.[1])
    .find((one) => one !== undefined)
  const mediaType = type.trim().toLowerCase()
  return [MEDIA_TYPE.test(mediaType) ? mediaType : '', charset ?? 'utf-8']
}

/** Reads a body up to the limit and ignores the rest. */
async function readHead({ body }: NetResponse): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const pieces: Uint8Array[] = []
  let count = 0
  for await (const piece of body) {
    pieces.push(piece)
    count += piece.length
    if (count > MOST_BODY_BYTES) return { bytes: Buffer.concat(pieces).subarray(0, MOST_BODY_BYTES), isCut: true }
  }
  return { bytes: Buffer.concat(pieces), isCut: false }
}

/** Drops an incomplete character at the end of a truncated body. */
function decoded(bytes: Buffer, charset: string, isCut: boolean): string {
  try {
    return new TextDecoder(charset).decode(bytes, { stream: isCut })
  } catch {
    return new TextDecoder().decode(bytes, { stream: isCut })
  }
}

/** Sends the calls of one operation. `explain` may replace an error; it gets the tokens that were sent. */
export function operationCaller(
  operation: DescribedOperation, base: string, credentials: readonly Credential[], tokens: OauthTokens,
  explain: (error: unknown, sent: readonly string[]) => unknown = withoutTokensIn,
): (args: JsonObject, runtime: CallRuntime) => Promise<JsonObject> {
  return async (args, runtime) => {
    const fail = (sent: readonly string[]) => (error: unknown): never => { throw explain(error, sent) }
    const request = await authorize(requestOf(operation, base, args), credentials, runtime, tokens).catch(fail([]))
    const { url, method, headers, body } = request
    const response = await runtime.net.fetch(url, {
      method, headers: Object.fromEntries(headers), ...(body !== undefined && { body }),
    }).catch(fail(request.tokens))
    if (response.status === 401) tokens.forget(credentials)
    return answerOf(operation, shownUrlOf(request, response), response, request.tokens)
  }
}

/** An error of the network may contain the URL with a token. */
function withoutTokensIn(error: unknown, tokens: readonly string[]): unknown {
  if (error instanceof Error) error.message = withoutTokens(error.message, tokens)
  return error
}
