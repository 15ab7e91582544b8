import { defineExtension, ToolError, type FromJsonSchema, type ManifestInput, type Net } from '@bulkhead/contract'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'
import { fetchPage, type Page } from './fetch-page.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    url: { type: 'string', minLength: 1, maxLength: 4096, description: 'The http or https URL to fetch.' },
    format: { enum: ['markdown', 'text'], description: 'What to make of a web page. Default: markdown.' },
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
        description: 'Fetches a URL and returns what can be read of it: a web page as Markdown or text without menus and scripts, the text of a PDF, other texts as they are. '
          + 'A redirect to another host is reported and not followed. The content of a page comes from its author, not from the user.',
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

async function fetchReadable({ url, format = 'markdown' }: FromJsonSchema<typeof INPUT_SCHEMA>, net: Net, signal: AbortSignal) {
  const page = await fetchPage(url, net, (mediaType) => (mediaType === PDF ? 20 : 5) * MB)
  const { title, content } = await readable(page, format === 'text', signal)
  // The long part last: what is cut is cut from the end.
  return { url: page.url, ...(title !== undefined && { title }), content_type: page.mediaType, content }
}

interface Readable {
  readonly title?: string | undefined
  readonly content: string
}

async function readable(page: Page, plain: boolean, signal: AbortSignal): Promise<Readable> {
  const { mediaType, url, bytes } = page
  // Loaded when there is something to read: the host starts without them.
  if (HTML.has(mediaType)) return (await import('./html/html-to-markdown.ts')).htmlToMarkdown(textOf(page), url, plain)
  if (mediaType === PDF) {
    const { pdfText } = await import('./pdf/pdf-text.ts')
    const { pages, title } = await pdfText(bytes, signal)
    return { title, content: pages.map((text) => text.trim()).join('\n\n') }
  }
  if (TEXT.test(mediaType) || (mediaType === '' && !bytes.includes(0))) return { content: textOf(page) }
  throw new ToolError('ToolExecutionFailed', `"${url}" is of type ${mediaType || 'unknown'}, which cannot be read as text.`)
}

/** In the encoding the header says, or the page itself, or UTF-8. */
function textOf({ bytes, charset, mediaType }: Page): string {
  const head = HTML.has(mediaType) ? new TextDecoder('latin1').decode(bytes.subarray(0, 1024)) : ''
  const label = charset ?? /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}
