import {
  defineExtension, ToolError, type ArgumentsReader, type CallNeed, type FromJsonSchema, type ManifestInput, type Net,
  type NetResponse,
} from '@bulkhead/contract'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'
import { simpleReading, stringOr } from '../model/paths.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    url: { type: 'string', minLength: 1, maxLength: 4096, description: 'The http or https URL to fetch.' },
    format: { enum: ['markdown', 'text'], description: 'The format for web pages. Default: markdown.' },
  },
  required: ['url'],
  additionalProperties: false,
} as const

const MB = 1024 * 1024
const HTML: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml'])
const TEXT = /^text\/|^application\/(?:[\w.-]+\+|x-)?(?:json|xml|yaml|javascript|ndjson|toml|sh)$/
const PDF = 'application/pdf'

/** `hosts` defaults to every public host. */
export function createWebFetch(hosts: readonly string[] = ['*']): BundledExtension {
  const requires = { net: { hosts: [...hosts] } }
  return {
    manifest: {
      ...BUNDLED,
      id: 'web-fetch',
      tools: [{
        name: 'web_fetch',
        label: 'Fetch a page',
        description: 'Fetches a URL and returns its text: a web page as Markdown or plain text without menus and '
          + 'scripts, the text of a PDF, other text unchanged. Redirects to another host are reported, not followed. '
          + 'The content of a page comes from its author, not from the user.',
        inputSchema: INPUT_SCHEMA,
        requires,
        gated: true,
        mode: 'external',
        kind: 'fetch',
        idempotent: true,
        maxOutput: '200KB',
      }],
    } satisfies ManifestInput,
    module: defineExtension({
      tools: {
        web_fetch: {
          input: INPUT_SCHEMA,
          requires,
          execute: (args, { net, signal }) => fetchReadable(args, net, signal),
          deriveApprovalKey: ({ url }) => URL.parse(url)?.hostname || 'not a URL',
        },
      },
    }),
  }
}

/** The approval key of a page is its host. */
export const readFetchArguments: ArgumentsReader = ({ url }) => {
  const { hostname = '', host = '', port, protocol } = URL.parse(stringOr(url)) ?? {}
  const needs: readonly CallNeed[] = host === ''
    ? []
    : [{ kind: 'net', subject: `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}` }]
  const touch = host === '' ? 'nothing: it is not a URL' : `reach ${host}`
  return { ...simpleReading(hostname || 'not a URL', [], touch), needs }
}

async function fetchReadable(
  { url, format = 'markdown' }: FromJsonSchema<typeof INPUT_SCHEMA>, net: Net, signal: AbortSignal,
) {
  const page = await fetchPage(url, net, (mediaType) => (mediaType === PDF ? 20 : 5) * MB)
  const { title, content } = await readable(page, format === 'text', signal)
  // The content comes last, because the host truncates at the end.
  return { url: page.url, ...(title !== undefined && { title }), content_type: page.mediaType, content }
}

interface Readable {
  readonly title?: string | undefined
  readonly content: string
}

async function readable(page: Page, plain: boolean, signal: AbortSignal): Promise<Readable> {
  const { mediaType, url, bytes } = page
  // Loaded on first use, to keep the host's startup fast.
  if (HTML.has(mediaType)) return (await import('./html/html-to-markdown.ts')).htmlToMarkdown(textOf(page), url, plain)
  if (mediaType === PDF) {
    const { pdfText } = await import('./pdf/pdf-text.ts')
    const { pages, title } = await pdfText(bytes, signal)
    return { title, content: pages.map((text) => text.trim()).join('\n\n') }
  }
  if (TEXT.test(mediaType) || (mediaType === '' && !bytes.includes(0))) return { content: textOf(page) }
  throw new ToolError(
    'ToolExecutionFailed', `"${url}" has the type ${mediaType || 'unknown'}, which cannot be read as text.`,
  )
}

/** Decodes with the charset of the header, of the page, or UTF-8, in this order. */
function textOf({ bytes, charset, mediaType }: Page): string {
  const head = HTML.has(mediaType) ? new TextDecoder('latin1').decode(bytes.subarray(0, 1024)) : ''
  const label = charset ?? /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

const REDIRECTS = 5
const HEADERS = {
  'accept': 'text/markdown, text/html;q=0.9, application/pdf;q=0.8, text/*;q=0.8, application/json;q=0.7, */*;q=0.1',
  'user-agent': 'Bulkhead/1.0 (web_fetch)',
}

interface Page {
  readonly url: string
  readonly mediaType: string
  readonly charset: string | undefined
  readonly bytes: Uint8Array
}

/** Fetches a URL. Redirects to another host are reported, not followed: the approval was for this host. */
async function fetchPage(address: string, net: Net, maxBytes: (mediaType: string) => number): Promise<Page> {
  let url = readUrl(address)
  for (let hops = 0; hops <= REDIRECTS; hops++) {
    const response = await net.fetch(url.href, { headers: HEADERS, redirect: 'manual' })
    const location = response.headers['location']
    if (response.status < 300 || response.status >= 400 || location === undefined) {
      return readPage(url, response, maxBytes)
    }
    const next = URL.parse(location, url)
    if (next === null || !isHttp(next)) {
      throw new ToolError('ToolExecutionFailed', `${url.hostname} redirects to a URL that is not http or https.`)
    }
    if (siteOf(next) !== siteOf(url)) {
      const message = `${url.hostname} redirects to another host. To follow it, fetch ${next.href}.`
      throw new ToolError('ToolExecutionFailed', message, { location: next.href })
    }
    url = next
  }
  throw new ToolError('ToolExecutionFailed', `${url.hostname} redirects more than ${REDIRECTS} times.`)
}

function readUrl(address: string): URL {
  const url = URL.parse(address)
  if (url === null || !isHttp(url)) throw new ToolError('InputInvalid', `"${address}" is not an http or https URL.`)
  if (url.username !== '' || url.password !== '') {
    throw new ToolError('InputInvalid', 'The URL contains a user name or password. Remove it.')
  }
  return url
}

const isHttp = ({ protocol }: URL): boolean => protocol === 'http:' || protocol === 'https:'

const siteOf = ({ hostname }: URL): string => hostname.replace(/^www\./, '')

async function readPage(url: URL, response: NetResponse, maxBytes: (mediaType: string) => number): Promise<Page> {
  const { status, headers } = response
  if (status >= 400) throw statusError(url, status)
  const type = headers['content-type'] ?? ''
  const mediaType = type.split(';')[0]!.trim().toLowerCase()
  const bytes = await readBody(response, maxBytes(mediaType), url)
  return { url: url.href, mediaType, charset: /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(type)?.[1], bytes }
}

function statusError({ hostname }: URL, status: number): ToolError {
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
      throw new ToolError('ToolExecutionFailed', `The page of ${hostname} is larger than the limit of ${most}.`)
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
