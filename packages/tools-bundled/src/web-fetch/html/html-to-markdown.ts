import { Parser } from 'htmlparser2'
import { MarkdownWriter, TableWriter } from './markdown-writer.ts'

/** The parser takes longer for deeper pages. Real pages are not this deep. */
const MAX_DEPTH = 1_000

export interface PageRequest {
  readonly html: string
  readonly url: string
  /** Plain text instead of Markdown. */
  readonly plain: boolean
}

export interface ReadablePage {
  readonly title: string | undefined
  readonly content: string
}

/** In a thread of the pool. */
export const run = ({ html, url, plain }: PageRequest): ReadablePage => htmlToMarkdown(html, url, plain)

/**
 * The readable part of a page: its main element if it has one, without menus, scripts and hidden elements. Takes linear
 * time for any input.
 */
export function htmlToMarkdown(html: string, url: string, plain: boolean): ReadablePage {
  const [whole, main] = [new MarkdownWriter(plain), new MarkdownWriter(plain)]
  const page = new PageElements({ whole, main, url })
  const stop = new Error('enough')
  let depth = 0
  const parser = new Parser({
    onopentag(name, attributes) {
      if (++depth > MAX_DEPTH || whole.isFull) throw stop
      page.open(name, attributes)
    },
    onclosetag(name) {
      depth--
      page.close(name)
    },
    ontext: (text) => page.text(text),
  })
  try {
    parser.end(html)
  } catch (error) {
    if (error !== stop) throw error
  }
  const { title } = page
  // Ignore a main element with almost no text.
  const content = main.chars > Math.min(500, whole.chars / 4) ? main : whole
  return { title, content: visible(content.toString()) }
}

/** Removes invisible characters that a model still reads: direction marks, tags, zero-width characters. */
const visible = (text: string): string =>
  text.replaceAll(/[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]|(?![\n\t])\p{Cc}/gu, '')

type Attributes = Readonly<Record<string, string>>

/** Elements without readable text, and navigation. */
const SKIPPED: ReadonlySet<string> = new Set([
  'script', 'style', 'noscript', 'template', 'svg', 'math', 'iframe', 'object', 'canvas', 'audio', 'video', 'map',
  'select', 'button', 'input', 'textarea', 'title', 'nav', 'footer', 'aside', 'dialog', 'head',
])
const MAIN: ReadonlySet<string> = new Set(['main', 'article'])
const BLOCKS: ReadonlySet<string> = new Set([
  'p', 'div', 'section', 'article', 'main', 'header', 'figure', 'figcaption', 'address', 'details', 'summary', 'dl',
  'dt', 'dd', 'form', 'fieldset', 'body', 'html', 'center', 'hgroup', 'search',
])
const MARKS: ReadonlyMap<string, string> = new Map([
  ['b', '**'], ['strong', '**'], ['i', '*'], ['em', '*'], ['del', '~~'], ['s', '~~'],
])
const URL_CHARS = 2_000

interface PageParts {
  /** Receives the whole page. `main` receives the main element only. */
  readonly whole: MarkdownWriter
  readonly main: MarkdownWriter
  readonly url: string
}

/** Converts parser events to Markdown. */
class PageElements {
  readonly #parts: PageParts
  readonly #links: (string | undefined)[] = []
  readonly #lists: { readonly ordered: boolean; items: number }[] = []
  readonly #tables: TableWriter[] = []
  /** The number of open elements in a skipped one, including itself. */
  #skipped = 0
  /** For each open element that is not skipped: whether it is a main element. */
  readonly #opened: boolean[] = []
  #mainDepth = 0
  #preDepth = 0
  #inTitle = false
  #title = ''

  constructor(parts: PageParts) {
    this.#parts = parts
  }

  get title(): string | undefined {
    return this.#title.replaceAll(/\s+/g, ' ').trim() || undefined
  }

  open(name: string, attributes: Attributes): void {
    // The title is in the head, which is skipped.
    if (name === 'title' && this.#title === '') this.#inTitle = true
    const isSkipped = SKIPPED.has(name) || (name === 'header' && this.#mainDepth === 0) || isHidden(attributes)
    if (this.#skipped > 0 || isSkipped) {
      this.#skipped++
      return
    }
    const isMain = MAIN.has(name) || attributes['role'] === 'main'
    this.#opened.push(isMain)
    if (isMain) this.#mainDepth++
    this.#begin(name, attributes)
  }

  close(name: string): void {
    if (name === 'title') this.#inTitle = false
    if (this.#skipped > 0) {
      this.#skipped--
      return
    }
    this.#finish(name)
    if (this.#opened.pop() === true) this.#mainDepth--
  }

  text(text: string): void {
    if (this.#inTitle && this.#title.length < URL_CHARS) this.#title += text
    if (this.#skipped > 0) return
    const table = this.#tables.at(-1)
    if (table !== undefined) table.text(text)
    else this.#write((writer) => (this.#preDepth > 0 ? writer.raw(text) : writer.text(text)))
  }

  #begin(name: string, attributes: Attributes): void {
    const heading = /^h([1-6])$/.exec(name)?.[1]
    const mark = MARKS.get(name)
    if (heading !== undefined) this.#block((writer) => writer.mark(`${'#'.repeat(Number(heading))} `))
    else if (mark !== undefined) this.#inline(mark)
    else if (BLOCKS.has(name)) this.#block()
    else if (name === 'a') this.#openLink(attributes['href'])
    else if (name === 'code' && this.#preDepth === 0) this.#inline('`')
    else if (name === 'br') this.#write((writer) => writer.raw('\n'))
    else if (name === 'hr') this.#block((writer) => writer.mark('---'))
    else if (name === 'img') this.#image(attributes)
    else if (name === 'pre') this.#openCode(attributes)
    else if (name === 'blockquote') this.#enter('> ')
    else if (name === 'ul' || name === 'ol') this.#openList(name === 'ol')
    else if (name === 'li') this.#openItem()
    else if (name === 'table') this.#openTable()
    else if (name === 'tr') this.#tables.at(-1)?.row()
    else if (name === 'td' || name === 'th') this.#tables.at(-1)?.cell()
  }

  #finish(name: string): void {
    const mark = MARKS.get(name)
    if (mark !== undefined) this.#inline(mark)
    else if (/^h[1-6]$/.test(name) || BLOCKS.has(name) || name === 'hr') this.#block()
    else if (name === 'a') this.#closeLink()
    else if (name === 'code' && this.#preDepth === 0) this.#inline('`')
    else if (name === 'pre') this.#closeCode()
    else if (name === 'blockquote') this.#leave()
    else if (name === 'ul' || name === 'ol') this.#closeList()
    else if (name === 'li' && this.#lists.length > 0) this.#leave(true)
    else if (name === 'table') this.#closeTable()
  }

  #write(work: (writer: MarkdownWriter) => void): void {
    work(this.#parts.whole)
    if (this.#mainDepth > 0) work(this.#parts.main)
  }

  #inline(mark: string): void {
    if (this.#tables.length === 0 && this.#preDepth === 0) this.#write((writer) => writer.mark(mark))
  }

  #block(start?: (writer: MarkdownWriter) => void): void {
    if (this.#tables.length > 0) return
    this.#write((writer) => {
      writer.end(this.#lists.length > 0)
      start?.(writer)
    })
  }

  #enter(prefix: string, marker?: string, tight = false): void {
    if (this.#tables.length > 0) return
    this.#write((writer) => {
      writer.end(tight)
      writer.enter(prefix, marker)
    })
  }

  #leave(tight = false): void {
    if (this.#tables.length > 0) return
    this.#write((writer) => {
      writer.end(tight)
      writer.leave()
    })
  }

  #openLink(href: string | undefined): void {
    const url = this.#tables.length > 0 ? undefined : linkTo(href, this.#parts.url)
    this.#links.push(url)
    if (url !== undefined) this.#inline('[')
  }

  #closeLink(): void {
    const url = this.#links.pop()
    if (url !== undefined) this.#inline(`](${url})`)
  }

  #image({ alt = '', src }: Attributes): void {
    const url = linkTo(src, this.#parts.url)
    if (alt.trim() === '' || url === undefined || this.#tables.length > 0) return
    this.#write((writer) => {
      writer.mark('![')
      writer.text(alt)
      writer.mark(`](${url})`)
    })
  }

  #openCode(attributes: Attributes): void {
    this.#preDepth++
    const language = /\blang(?:uage)?-([\w+#-]{1,30})/.exec(attributes['class'] ?? '')?.[1] ?? ''
    this.#block((writer) => writer.mark(`\`\`\`${language}\n`))
  }

  #closeCode(): void {
    this.#preDepth = Math.max(0, this.#preDepth - 1)
    this.#write((writer) => writer.mark('\n```'))
    this.#block()
  }

  #openList(ordered: boolean): void {
    this.#block()
    this.#lists.push({ ordered, items: 0 })
  }

  #closeList(): void {
    this.#lists.pop()
    if (this.#tables.length === 0) this.#write((writer) => writer.end(this.#lists.length > 0))
  }

  #openItem(): void {
    const list = this.#lists.at(-1)
    if (list === undefined) return this.#block()
    const follows = list.items++ > 0 || this.#lists.length > 1
    const marker = list.ordered ? `${list.items}. ` : '- '
    this.#enter(' '.repeat(marker.length), marker, follows)
  }

  #openTable(): void {
    this.#block()
    this.#tables.push(new TableWriter())
  }

  #closeTable(): void {
    const table = this.#tables.pop()
    if (table === undefined) return
    const outer = this.#tables.at(-1)
    const text = table.toString(this.#parts.whole.plain)
    if (outer !== undefined) outer.text(text)
    else if (text !== '') this.#write((writer) => writer.raw(text))
    this.#block()
  }
}

const isHidden = ({ hidden, style = '', 'aria-hidden': ariaHidden }: Attributes): boolean =>
  hidden !== undefined || ariaHidden === 'true' || /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style)

function linkTo(href: string | undefined, base: string): string | undefined {
  const url = href === undefined || href.length > URL_CHARS || href.startsWith('#') ? null : URL.parse(href, base)
  return url !== null && /^(?:https?|mailto):$/.test(url.protocol)
    ? url.href.replaceAll('(', '%28').replaceAll(')', '%29')
    : undefined
}
