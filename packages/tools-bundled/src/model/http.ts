import { ToolError, type CallNeed, type Net, type NetRequest, type NetResponse } from '@bulkhead/contract'

const MB = 1024 * 1024
const REDIRECTS = 5
const TEXT = /^text\/|^application\/(?:[\w.-]+\+|x-)?(?:json|xml|yaml|javascript|ndjson|toml|sh)$/
export const HTML: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml'])

/** What the embedder says about hosts. */
export interface FetchOptions {
  /** Default: every public host. */
  readonly fetchHosts?: readonly string[] | undefined
}

/** A response with its whole body. */
export interface Answer {
  /** After redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** In lower case, without parameters. Empty if the server names none. */
  readonly mediaType: string
  readonly charset: string | undefined
  readonly bytes: Uint8Array
}

export interface Exchange {
  readonly request: Omit<NetRequest, 'redirect'>
  /** Whether a redirect is followed. Others are reported, because the approval was for one host. */
  readonly follows: (from: URL, to: URL) => boolean
  /** Throws if the body is not wanted. Returns its limit in bytes. */
  readonly maxBytes: (url: URL, status: number, mediaType: string) => number
}

/** Sends a request, follows redirects on the same host, and reads the body. */
export async function exchange(address: string, net: Net, { request, follows, maxBytes }: Exchange): Promise<Answer> {
  let url = readUrl(address)
  for (let hops = 0; hops <= REDIRECTS; hops++) {
    const response = await net.fetch(url.href, { ...request, redirect: 'manual' })
    const location = response.headers['location']
    if (response.status < 300 || response.status >= 400 || location === undefined || !isRepeatable(request.method)) {
      return readAnswer(url, response, maxBytes)
    }
    const next = URL.parse(location, url)
    if (next === null || !isHttp(next)) {
      throw new ToolError('ToolExecutionFailed', `${url.hostname} redirects to a URL that is not http or https.`)
    }
    if (!follows(url, next)) {
      const elsewhere = next.hostname === url.hostname ? 'another port or protocol' : 'another host'
      const message = `${url.hostname} redirects to ${elsewhere}. To follow it, fetch ${next.href}.`
      throw new ToolError('ToolExecutionFailed', message, { location: next.href })
    }
    url = next
  }
  throw new ToolError('ToolExecutionFailed', `${url.hostname} redirects more than ${REDIRECTS} times.`)
}

/** A redirect of another method may ask for another method or repeat an effect, so it is returned to the caller. */
const isRepeatable = (method = 'GET'): boolean => method === 'GET' || method === 'HEAD'

function readUrl(address: string): URL {
  const url = URL.parse(address)
  if (url === null || !isHttp(url)) throw new ToolError('InputInvalid', `"${address}" is not an http or https URL.`)
  if (url.username !== '' || url.password !== '') {
    throw new ToolError('InputInvalid', 'The URL contains a user name or password. Remove it.')
  }
  return url
}

const isHttp = ({ protocol }: URL): boolean => protocol === 'http:' || protocol === 'https:'

async function readAnswer(url: URL, response: NetResponse, maxBytes: Exchange['maxBytes']): Promise<Answer> {
  const { status, headers } = response
  const type = headers['content-type'] ?? ''
  const mediaType = type.split(';')[0]!.trim().toLowerCase()
  const bytes = await readBody(response, maxBytes(url, status, mediaType), url)
  const charset = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(type)?.[1]
  return { url: url.href, status, headers, mediaType, charset, bytes }
}

async function readBody(response: NetResponse, maxBytes: number, { hostname }: URL): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body) {
    length += piece.length
    if (length > maxBytes) {
      const most = `${maxBytes / MB} MB`
      throw new ToolError('ToolExecutionFailed', `The response of ${hostname} is larger than the limit of ${most}.`)
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

/** Whether the body can be read as text. */
export const isText = ({ mediaType, bytes }: Answer): boolean =>
  TEXT.test(mediaType) || (mediaType === '' && !bytes.includes(0))

/** Decodes with the charset of the header, of the page, or UTF-8, in this order. */
export function textOf({ bytes, charset, mediaType }: Answer): string {
  const head = HTML.has(mediaType) ? new TextDecoder('latin1').decode(bytes.subarray(0, 1024)) : ''
  const label = charset ?? /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** What the host of a URL means for approvals, rules and ceilings. */
export interface UrlReading {
  /** The host without its port, which approvals name. */
  readonly hostname: string
  /** The host with its port, if that is not the default. */
  readonly host: string
  readonly needs: readonly CallNeed[]
}

/** undefined for a string that is not a URL with a host. */
export function readUrlHost(text: string): UrlReading | undefined {
  const { hostname = '', host = '', port, protocol } = URL.parse(text) ?? {}
  if (host === '') return undefined
  const subject = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
  return { hostname, host, needs: [{ kind: 'net', subject }] }
}

/** The approval key of arguments without a usable URL. The call itself is refused. */
export const NO_URL = 'not a URL'
