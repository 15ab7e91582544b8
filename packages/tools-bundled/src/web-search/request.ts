import type { NetRequest } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { MAX_RESULTS, type SearchService } from './service.ts'

export interface SearchValues {
  readonly query: string
  readonly max_results: number
  /** A placeholder. The host replaces it in headers and in the query. */
  readonly secret?: string | undefined
}

/** The request for a search. Each value is encoded for its place, so that no query changes the request. */
export function requestOf(service: SearchService, values: SearchValues): NetRequest & { readonly url: string } {
  const { method, headers, body } = service
  return {
    url: urlOf(service, values),
    method,
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, fill(text, values, String)])),
    },
    ...(body !== undefined && { body: JSON.stringify(fillJson(body, values)) }),
  }
}

/** The placeholder of a secret is not encoded: the host would not find it. */
function urlOf({ url, query }: SearchService, values: SearchValues): string {
  const target = new URL(fill(url, values, encodeURIComponent))
  target.hash = ''
  for (const name of Object.keys(query)) {
    if (target.searchParams.has(name)) target.searchParams.delete(name)
  }
  const added = Object.entries(query).map(([name, text]) => `${encodeURIComponent(name)}=${parameter(text, values)}`)
  const joint = target.search === '' ? '?' : '&'
  return added.length === 0 ? target.href : `${target.href}${joint}${added.join('&')}`
}

const parameter = (text: string, values: SearchValues): string =>
  text.split('{secret}').map((part) => encodeURIComponent(fill(part, values, String))).join(values.secret ?? '')

type Encode = (text: string) => string

/** In one pass: a query may contain the name of a variable. A query that is not well-formed cannot be encoded. */
const fill = (text: string, values: SearchValues, encode: Encode): string => text.replaceAll(
  /\{(query|max_results|secret)\}/g,
  (_, name: keyof SearchValues) => encode(String(values[name] ?? '').toWellFormed()),
)

function fillJson(value: Json, values: SearchValues): Json {
  if (value === MAX_RESULTS) return values.max_results
  if (typeof value === 'string') return fill(value, values, String)
  if (Array.isArray(value)) return value.map((member) => fillJson(member, values))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, fillJson(member, values)]))
}
