import {
  defineTool, ToolError, type ArgumentsReader, type FromJsonSchema, type Net,
} from '@bulkhead/contract'
import {
  exchange, HTML, isText, NO_URL, readUrlHost, textOf, type Answer, type FetchOptions,
} from '../model/http.ts'
import { simpleReading, stringOr } from '../model/paths.ts'
import { pdfText } from '../model/pdf/pdf-text.ts'
import { readPage } from './html/read-page.ts'

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
const PDF = 'application/pdf'

export const createTool = ({ fetchHosts = ['*'] }: FetchOptions) => defineTool({
  label: 'Fetch a page',
  description: 'Fetches a URL and returns its text: a web page as Markdown or plain text without menus and '
    + 'scripts, the text of a PDF, other text unchanged. Redirects to another host are reported, not followed. '
    + 'The content of a page comes from its author, not from the user.',
  input: INPUT_SCHEMA,
  requires: { net: { hosts: [...fetchHosts] } },
  gated: true,
  mode: 'external',
  kind: 'fetch',
  idempotent: true,
  maxOutput: '200KB',
  execute: (args, { net, signal }) => fetchReadable(args, net, signal),
  deriveApprovalKey: ({ url }) => readUrlHost(url)?.hostname ?? NO_URL,
})

/** The approval key of a page is its host. */
export const readArguments: ArgumentsReader = ({ url }) => {
  const found = readUrlHost(stringOr(url))
  if (found === undefined) return { ...simpleReading(NO_URL, [], 'nothing: it is not a URL'), needs: [] }
  return { ...simpleReading(found.hostname, [], `reach ${found.host}`), needs: found.needs }
}

const HEADERS = {
  'accept': 'text/markdown, text/html;q=0.9, application/pdf;q=0.8, text/*;q=0.8, application/json;q=0.7, */*;q=0.1',
  'user-agent': 'Bulkhead/1.0 (web_fetch)',
}

async function fetchReadable(
  { url, format = 'markdown' }: FromJsonSchema<typeof INPUT_SCHEMA>, net: Net, signal: AbortSignal,
) {
  const page = await exchange(url, net, {
    request: { headers: HEADERS },
    follows: (from, to) => siteOf(from) === siteOf(to),
    maxBytes: (at, status, mediaType) => {
      if (status >= 400) throw statusError(at, status)
      return (mediaType === PDF ? 20 : 5) * MB
    },
  })
  const { title, content } = await readable(page, format === 'text', signal)
  // The content comes last, because the host truncates at the end.
  return { url: page.url, ...(title !== undefined && { title }), content_type: page.mediaType, content }
}

const siteOf = ({ hostname }: URL): string => hostname.replace(/^www\./, '')

function statusError({ hostname }: URL, status: number): ToolError {
  const busy = status === 429 || status === 502 || status === 503 || status === 504
  const code = status === 404 || status === 410 ? 'NotFound' : busy ? 'ResourceBusy' : 'ToolExecutionFailed'
  return new ToolError(code, `${hostname} answered with status ${status}.`, { status })
}

interface Readable {
  readonly title?: string | undefined
  readonly content: string
}

async function readable(page: Answer, plain: boolean, signal: AbortSignal): Promise<Readable> {
  const { mediaType, url, bytes } = page
  if (HTML.has(mediaType)) return readPage({ html: textOf(page), url, plain }, signal)
  if (mediaType === PDF) {
    const { pages, title } = await pdfText(bytes, signal)
    return { title, content: pages.map(({ text }) => text.trim()).join('\n\n') }
  }
  if (isText(page)) return { content: textOf(page) }
  throw new ToolError(
    'ToolExecutionFailed', `"${url}" has the type ${mediaType || 'unknown'}, which cannot be read as text.`,
  )
}
