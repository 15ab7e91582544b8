import { ToolError, type Net, type NetResponse } from '@bulkhead/contract'

const REDIRECTS = 5
const HEADERS = {
  'accept': 'text/markdown, text/html;q=0.9, application/pdf;q=0.8, text/*;q=0.8, application/json;q=0.7, */*;q=0.1',
  'user-agent': 'Bulkhead/1.0 (web_fetch)',
}

export interface Page {
  readonly url: string
  readonly mediaType: string
  readonly charset: string | undefined
  readonly bytes: Uint8Array
}

/** Fetches a URL. Redirects to another host are reported, not followed: the approval was for this host. */
export async function fetchPage(address: string, net: Net, maxBytes: (mediaType: string) => number): Promise<Page> {
  let url = readUrl(address)
  for (let hops = 0; hops <= REDIRECTS; hops++) {
    const response = await net.fetch(url.href, { headers: HEADERS, redirect: 'manual' })
    const location = response.headers['location']
    if (response.status < 300 || response.status >= 400 || location === undefined) return readPage(url, response, maxBytes)
    const next = URL.parse(location, url)
    if (next === null || !isHttp(next)) throw new ToolError('ToolExecutionFailed', `${url.hostname} redirects to what is no http or https URL.`)
    if (siteOf(next) !== siteOf(url)) {
      const message = `${url.hostname} redirects to another host. Fetch ${next.href} instead, if that is wanted.`
      throw new ToolError('ToolExecutionFailed', message, { location: next.href })
    }
    url = next
  }
  throw new ToolError('ToolExecutionFailed', `${url.hostname} redirects more than ${REDIRECTS} times.`)
}

function readUrl(address: string): URL {
  const url = URL.parse(address)
  if (url === null || !isHttp(url)) throw new ToolError('InputInvalid', `"${address}" is not an http or https URL.`)
  if (url.username !== '' || url.password !== '') throw new ToolError('InputInvalid', 'The URL has a user or a password in it. Leave them out.')
  return url
}

const isHttp = ({ protocol }: URL): boolean => protocol === 'http:' || protocol === 'https:'

const siteOf = ({ hostname }: URL): string => hostname.replace(/^www\./, '')

async function readPage(url: URL, response: NetResponse, maxBytes: (mediaType: string) => number): Promise<Page> {
  const { status, headers } = response
  if (status >= 400) throw refusedBy(url, status)
  const type = headers['content-type'] ?? ''
  const mediaType = type.split(';')[0]!.trim().toLowerCase()
  const bytes = await readBody(response, maxBytes(mediaType), url)
  return { url: url.href, mediaType, charset: /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(type)?.[1], bytes }
}

function refusedBy({ hostname }: URL, status: number): ToolError {
  const busy = status === 429 || status === 502 || status === 503 || status === 504
  const code = status === 404 || status === 410 ? 'NotFound' : busy ? 'ResourceBusy' : 'ToolExecutionFailed'
  return new ToolError(code, `${hostname} answered with status ${status}.`, { status })
}

async function readBody(response: NetResponse, maxBytes: number, { hostname }: URL): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body) {
    length += piece.length
    if (length > maxBytes) {
      const most = `${maxBytes / 1024 / 1024} MB`
      throw new ToolError('ToolExecutionFailed', `The page of ${hostname} is larger than ${most} and was not read.`)
    }
    pieces.push(piece)
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
