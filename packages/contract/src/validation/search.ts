import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { meantNames } from '@bulkhead/kit/text'
import { z } from 'zod'
import { CALL_LIMITS } from '../model/limits.ts'
import { headerName, secretName, webUrl } from './fields.ts'

const named = (name: string): string => `{${name}}`
const variablesIn = (text: string): readonly string[] =>
  [...text.matchAll(/\{([A-Za-z_]\w{0,63})\}/g)].map(([, name]) => name!)

/** Variables that may stand in one place. The pattern says the same for the JSON Schema. */
interface Place {
  readonly allowed: readonly string[]
  readonly pattern: RegExp
}
const IN_ADDRESS: Place = {
  allowed: ['query', 'max_results'], pattern: /^(?![\s\S]*\{(?!(?:query|max_results)\})[A-Za-z_]\w{0,63}\})/,
}
const IN_QUERY: Place = {
  allowed: ['query', 'max_results', 'secret'],
  pattern: /^(?![\s\S]*\{(?!(?:query|max_results|secret)\})[A-Za-z_]\w{0,63}\})/,
}
/** Without the query: a header has no encoding for arbitrary text. */
const IN_HEADER: Place = { allowed: ['secret'], pattern: /^(?![\s\S]*\{(?!secret\})[A-Za-z_]\w{0,63}\})/ }

/** What is wrong with the variables of a string, as the end of a sentence. */
function wrongVariable(text: string, { allowed }: Place): string | undefined {
  const wrong = variablesIn(text).find((name) => !allowed.includes(name))
  if (wrong === undefined) return undefined
  const meant = meantNames(named(wrong), allowed.map(named))
  return `a string with no other variable than ${allowed.map(named).join(', ')}, and not ${named(wrong)}.${meant}`
}

const explained = (place: Place) =>
  ({ error: ({ input }: { readonly input?: unknown }) => wrongVariable(String(input), place) })
const template = (place: Place) => z.string().max(4096).regex(place.pattern, explained(place))

const stringsIn = (value: Json): readonly string[] => {
  if (typeof value === 'string') return [value]
  const members = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : []
  return members.flatMap(stringsIn)
}

const positive = z.int().positive()
const pointer = z.string().max(1024).regex(/^(?:\/.*)?$/s, 'a JSON Pointer such as /data/hits')
const queryName = z.string().min(1).max(128)
const url = webUrl.regex(/^https?:\/\/[^/?#{]*(?:[/?#]|$)/, 'a URL with variables in its path and query only')
  .regex(IN_ADDRESS.pattern, explained(IN_ADDRESS))
const resultsPath = pointer.optional().describe('JSON Pointer to the list of results.')

const json = z.strictObject({
  type: z.literal('json').describe('Any service that answers in JSON.'),
  url: url.describe('Its address. {query} and {max_results} can stand in the path and the query.'),
  method: z.enum(['GET', 'POST']).optional().describe('Default: POST with a body, otherwise GET.'),
  headers: z.record(headerName, template(IN_HEADER)).optional()
    .describe('Headers. {secret} stands for the secret, such as in "Bearer {secret}".'),
  query: z.record(queryName, template(IN_QUERY)).optional()
    .describe('Query parameters with {query}, {max_results} and {secret}. Default: q, if {query} stands nowhere.'),
  body: z.record(z.string(), z.json()).superRefine((body, context) => {
    const wrong = stringsIn(body).map((text) => wrongVariable(text, IN_ADDRESS)).find((why) => why)
    if (wrong !== undefined) context.addIssue({ code: 'custom', message: `expected ${wrong}` })
  }).optional()
    .describe('A JSON body, with {query} and {max_results} in its strings. The string "{max_results}" becomes a number.'),
  secret: secretName.optional(),
  maxResults: positive.max(1_000).optional().describe('The most results that the service returns at once.'),
  resultsPath,
  titlePath: pointer.optional().describe('JSON Pointer to the title in a result.'),
  urlPath: pointer.optional().describe('JSON Pointer to the URL in a result.'),
  snippetPath: pointer.optional().describe('JSON Pointer to the snippet in a result: a string or a list of strings.'),
}).superRefine(({ method, headers = {}, query = {}, body, secret }, context) => {
  if (body !== undefined && method === 'GET') {
    context.addIssue({ code: 'custom', path: ['method'], message: 'GET cannot have a body; use POST' })
  }
  const usesSecret = [headers, query].flatMap((templates) => Object.values(templates))
    .some((text) => variablesIn(text).includes('secret'))
  if (usesSecret && secret === undefined) {
    context.addIssue({ code: 'custom', path: ['secret'], message: '{secret} is used, so name the secret' })
  }
})

const provider = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal(['brave', 'tavily', 'exa']).describe('Brave Search, Tavily or Exa.'),
    secret: secretName,
  }),
  z.strictObject({
    type: z.literal('google-cse').describe('Google Programmable Search (Custom Search JSON API).'),
    secret: secretName,
    engine: z.string().max(256).regex(/^[\w:.-]+$/, 'the id of a search engine').describe('The id of the search engine.'),
  }),
  z.strictObject({
    type: z.literal('searxng').describe('An instance of SearXNG with the format json enabled.'),
    url: url.describe('Its address.'),
    secret: secretName.optional(),
    resultsPath,
  }),
  json,
])

export const search = z.strictObject({
  providers: z.array(provider).optional().describe('Providers. Each session uses one of them throughout.'),
  callsPerSession: positive.optional().describe('Searches one session may make.'),
  timeoutMs: positive.max(CALL_LIMITS.maxTimeoutMs).optional().describe('Deadline of a search, in milliseconds.'),
})
