import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { DescribedOperation, DescribedParameter } from '../reading/api-description.ts'

/** Usual names of parameters that choose a page, in lower case without underscores. */
const POSITIONS: ReadonlySet<string> = new Set([
  'page', 'pagenumber', 'pagenum', 'pageno', 'pagetoken', 'pagecursor', 'offset', 'skip', 'cursor', 'after', 'before',
  'startingafter', 'endingbefore', 'nexttoken', 'nextcursor', 'nextpage', 'continue', 'start', 'startindex',
])
/** Those that choose its size. */
const SIZES: ReadonlySet<string> = new Set(['limit', 'perpage', 'pagesize', 'maxresults', 'count'])

const argumentsLike = (parameters: readonly DescribedParameter[], names: ReadonlySet<string>): readonly string[] =>
  parameters.filter((one) => one.in === 'query' && names.has(one.name.toLowerCase().replaceAll('_', '')))
    .map(({ argument }) => `\`${argument}\``)

/** A sentence for the model about an operation that returns pages; empty for another one. */
export function pageHint({ method, parameters }: DescribedOperation): string {
  const positions = method === 'GET' ? argumentsLike(parameters, POSITIONS) : []
  if (positions.length === 0) return ''
  const sizes = argumentsLike(parameters, SIZES)
  const size = sizes.length === 0 ? '' : `; ${sizes.join(' or ')} sets its size`
  return `Returns one page: ${positions.join(' or ')} selects it${size}.`
}

const LINK_CHARS = 8_192
const URL_CHARS = 2_048
const NEXT = /^\s*<([^<>]*)>\s*;(?:.*;)?\s*rel\s*=\s*"?(?:[\w.-]+ )*next(?: [\w.-]+)*"?\s*(?:;|$)/i

/**
 * The next page by the header Link: the arguments that differ, if it is a page of the same operation, else its URL.
 * undefined if there is none.
 */
export function nextPage(link: string, from: string, operation: DescribedOperation): JsonObject | undefined {
  const target = link.slice(0, LINK_CHARS).split(/,(?=\s*<)/).map((one) => NEXT.exec(one)?.[1])
    .find((one) => one !== undefined)
  const url = target === undefined || target.length > URL_CHARS ? null : URL.parse(target, from)
  if (url === null) return undefined
  const { origin, pathname } = new URL(from)
  const byName = new Map(operation.parameters.filter((one) => one.in === 'query').map((one) => [one.name, one]))
  const pairs = [...url.searchParams]
  const isSame = url.origin === origin && url.pathname === pathname && pairs.every(([name]) => byName.has(name))
  if (!isSame) return { url: visibleText(url.href) }
  const { properties } = operation.inputSchema
  return {
    arguments: Object.fromEntries(pairs.map(([name, text]) => {
      const { argument } = byName.get(name)!
      return [argument, valueOf(isJsonObject(properties) ? properties[argument] : undefined, visibleText(text))]
    })),
  }
}

function valueOf(schema: Json | undefined, text: string): Json {
  const { type }: JsonObject = isJsonObject(schema) ? schema : {}
  return (type === 'integer' || type === 'number') && /^-?\d{1,15}$/.test(text) ? Number(text) : text
}
