import { Parser } from 'htmlparser2'
import { MarkdownWriter } from './markdown-writer.ts'
import { PageElements } from './page-elements.ts'

/** The parser's own time grows with the depth of a page; what is deeper than any page is not read on. */
const MAX_DEPTH = 1_000

export interface ReadablePage {
  readonly title: string | undefined
  readonly content: string
}

/**
 * What a person would read of a page: its main part where it has one, without menus, scripts and what is hidden. Linear in
 * the length of the page, whatever is in it.
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
  // A main part with next to nothing in it is not what the page is about.
  const content = main.chars > Math.min(500, whole.chars / 4) ? main : whole
  return { title, content: visible(content.toString()) }
}

/** Invisible characters that a model still reads: direction marks, tags, zero-width characters. */
const visible = (text: string): string =>
  text.replaceAll(/[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]|(?![\n\t])\p{Cc}/gu, '')
