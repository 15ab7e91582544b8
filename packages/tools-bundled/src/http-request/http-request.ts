import {
  defineTool, ToolError, type ArgumentsReader, type FromJsonSchema, type Net,
  type NetRequest,
} from '@bulkhead/contract'
import { findJsonFault, type Json } from '@bulkhead/kit/json'
import { exchange, isText, NO_URL, readUrlHost, textOf, type Answer, type FetchOptions } from '../model/http.ts'
import { simpleReading, stringOr } from '../model/paths.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    url: { type: 'string', minLength: 1, maxLength: 4096, description: 'The http or https URL.' },
    method: {
      enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      description: 'The method. Default: GET.',
    },
    headers: {
      type: 'object',
      maxProperties: 64,
      additionalProperties: { type: 'string', maxLength: 8192 },
      description: 'Headers by name. The connection sets Host, Content-Length and the like.',
    },
    body: { type: 'string', description: 'The body as text. Name its type in the header content-type.' },
    json: { type: 'object', description: 'The body as a JSON object, instead of `body`.' },
  },
  required: ['url'],
  additionalProperties: false,
} as const

const MAX_BYTES = 5 * 1024 * 1024
/** Longer header values are cut. */
const HEADER_CHARS = 1_000
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/

type RequestArgs = FromJsonSchema<typeof INPUT_SCHEMA>

export const createTool = ({ fetchHosts = ['*'] }: FetchOptions) => defineTool({
  label: 'Send a request',
  description: 'Sends an HTTP request and returns the status, headers and body of the response, also for error '
    + 'statuses. A JSON body is returned parsed, text as a string, anything else as its type and size. GET and '
    + 'HEAD follow redirects on the same origin; other redirects are reported. No cookies are kept. To read a '
    + 'web page, use web_fetch. The response comes from the server, not from the user.',
  input: INPUT_SCHEMA,
  requires: { net: { hosts: [...fetchHosts] } },
  gated: true,
  mode: 'external',
  kind: 'fetch',
  maxOutput: '200KB',
  execute: (args, { net }) => request(args, net),
  deriveApprovalKey: ({ url, method = 'GET' }) => keyOf(method, readUrlHost(url)?.hostname),
})

/** An approval of reading from a host does not cover sending to it. */
const keyOf = (method: string, hostname: string | undefined): string =>
  hostname === undefined ? NO_URL : `${method} ${hostname}`

/** The approval key is the method and the host. Rules can also forbid the host alone. */
export const readArguments: ArgumentsReader = ({ url, method }) => {
  const found = readUrlHost(stringOr(url))
  if (found === undefined) return { ...simpleReading(NO_URL, [], 'nothing: it is not a URL'), needs: [] }
  const key = keyOf(stringOr(method, 'GET'), found.hostname)
  return {
    ...simpleReading(key, [], `send ${stringOr(method, 'GET')} to ${found.host}`),
    subjects: [{ key, names: [found.hostname] }],
    needs: found.needs,
  }
}

async function request(args: RequestArgs, net: Net) {
  const answer = await exchange(args.url, net, {
    request: requestOf(args),
    // The headers of the caller may contain credentials, which must not reach another port or an unencrypted one.
    follows: (from, to) => from.origin === to.origin,
    maxBytes: () => MAX_BYTES,
  })
  const { url, status, headers, mediaType, bytes } = answer
  // The body comes last, because the host truncates at the end.
  return { url, status, headers: shortened(headers), content_type: mediaType, bytes: bytes.length, ...bodyOf(answer) }
}

function requestOf({ method = 'GET', headers = {}, body, json }: RequestArgs): Omit<NetRequest, 'redirect'> {
  if (body !== undefined && json !== undefined) {
    throw new ToolError('InputInvalid', 'The request has two bodies. Use `body` or `json`.')
  }
  const given = headers as Readonly<Record<string, string>>
  const names = new Set(Object.keys(given).map((name) => name.toLowerCase()))
  const defaults = {
    'user-agent': 'Bulkhead/1.0 (http_request)', ...(json !== undefined && { 'content-type': 'application/json' }),
  }
  const content = json === undefined ? body : JSON.stringify(json)
  return {
    method,
    headers: { ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !names.has(name))), ...given },
    ...(content !== undefined && { body: content }),
  }
}

const shortened = (headers: Answer['headers']): Answer['headers'] => Object.fromEntries(
  Object.entries(headers).map(([name, value]) =>
    [name, value.length > HEADER_CHARS ? `${value.slice(0, HEADER_CHARS)}…` : value]),
)

type Body = { readonly body_kind: 'empty' | 'binary' } | { readonly body_kind: 'json' | 'text'; readonly body: Json }

function bodyOf(answer: Answer): Body {
  if (answer.bytes.length === 0) return { body_kind: 'empty' }
  if (!isText(answer)) return { body_kind: 'binary' }
  const body = textOf(answer)
  const parsed = JSON_TYPE.test(answer.mediaType) ? parse(body) : undefined
  return parsed === undefined ? { body_kind: 'text', body } : { body_kind: 'json', body: parsed }
}

/** undefined if it is not JSON, or JSON that no result may contain. The request had its effect, so the call succeeds. */
function parse(text: string): Json | undefined {
  try {
    const body = JSON.parse(text) as Json
    return findJsonFault({ body }) === undefined ? body : undefined
  } catch {
    return undefined
  }
}
