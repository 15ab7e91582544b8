import {
  type AnyRuntime, BulkheadError, type ModuleTool, type NetResponse, type OpenapiConfig,
} from '@bulkhead/contract'
import { type Json, type JsonObject, parseJson } from '@bulkhead/kit/json'
import type { DescribedOperation } from '../reading/api-description.ts'
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
async function answerOf(method: string, response: NetResponse): Promise<JsonObject> {
  const { url, status, headers } = response
  const [mediaType, charset] = contentType(headers['content-type'] ?? '')
  const { bytes, isCut } = await readHead(response)
  const text = TEXT_TYPE.test(mediaType) || !bytes.includes(0) ? decoded(bytes, charset, isCut) : undefined
  const parsed = text !== undefined && !isCut && JSON_TYPE.test(mediaType) ? parseJson(text) : undefined
  const body: Json = parsed?.ok ? parsed.value : text ?? null
  const shown = text ?? `[${isCut ? 'more than ' : ''}${bytes.length} bytes of binary data]`
  const note = isCut ? `\n[The response has more than ${MOST_BODY_BYTES} bytes and was truncated.]` : ''
  return {
    type: 'output',
    data: { status, ...(mediaType !== '' && { content_type: mediaType }), ...(isCut && { truncated: true }), body },
    content: [{ type: 'text', text: `${method} ${url} → ${status}\n\n${shown}${note}` }],
    details: { status, method, url },
  }
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

/** The runtime of a call. The network policy of any tool applies, and secrets are only handles. */
type CallRuntime = Required<Pick<AnyRuntime, 'net'>> & Pick<AnyRuntime, 'secrets'>

/** The tool for one operation. `document` is its name in the configuration. */
export function operationTool(
  operation: DescribedOperation, document: string, base: string, auth: OpenapiConfig['auth'],
): Pick<ModuleTool, 'execute'> {
  const execute = async (args: JsonObject, runtime: CallRuntime): Promise<JsonObject> => {
    const { url, method, headers, body } = requestOf(operation, base, args)
    const sent = Object.fromEntries([...headers, ...(auth ? [await authorisation(auth, runtime)] : [])])
    const response = await runtime.net.fetch(url, { method, headers: sent, ...(body !== undefined && { body }) })
      .catch((error: unknown) => { throw withConfigKey(error, document) })
    return answerOf(method, response)
  }
  return { execute: execute as unknown as ModuleTool['execute'] }
}

/** This header overrides one from the document or the model. */
async function authorisation(
  auth: NonNullable<OpenapiConfig['auth']>, { secrets }: CallRuntime,
): Promise<readonly [string, string]> {
  const handle = await secrets!.handle(auth.secret)
  return auth.type === 'bearer' ? ['authorization', `Bearer ${handle}`] : [auth.header.toLowerCase(), handle]
}

/** For a document only one configuration key allows a host, so the error names that key. */
function withConfigKey(error: unknown, document: string): unknown {
  const { code, message, data } = error as { readonly code?: unknown; readonly message?: unknown; readonly data?: Json }
  if (code !== 'CapabilityDenied') return error
  const advice = `${String(message)} Its operations may reach only \`baseUrl\` of "${document}" in the configuration.`
  return new BulkheadError(code, advice, { cause: error, ...(data !== undefined && { data }) })
}
