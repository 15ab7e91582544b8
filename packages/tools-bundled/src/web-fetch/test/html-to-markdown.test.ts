import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { htmlToMarkdown } from '../html/html-to-markdown.ts'

/** Pages of a small part of the size. `pnpm soak` uses the whole ones. */
const PART = thoroughly(20, 1)
const URL_OF_PAGE = 'https://site.example/dir/page'
const markdown = (html: string): string => htmlToMarkdown(html, URL_OF_PAGE, false).content
/** CPU time of this thread, which does not depend on the load of the machine. */
function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
const plain = (html: string): string => htmlToMarkdown(html, URL_OF_PAGE, true).content

const PAGE = `<!doctype html><html><head><title> The
 title </title><style>p{}</style></head><body><header>logo</header><nav><a href="/">menu</a></nav><main>
<h1>Head &amp; <em>shoulders</em></h1>
<p>One <b>bold</b> word, a <a href="../x?a=1&amp;b=(2)">link</a> and <code>code()</code>.<br>Next line.</p>
<ul><li>first<li>second <ul><li>inner</ul></li></ul><ol><li><p>one</p></li><li>two</li></ol>
<blockquote><p>quoted</p><p>twice</p></blockquote><pre class="language-js">if (a &lt; b) {
  go()
}</pre><table><tr><th>k<th>v|w<tr><td>a</td><td>1</td></tr></table><hr>
<img src="pic.png" alt="a picture"><img src="x.png"><script>alert(1)</script>
</main><aside>ads</aside><footer>foot</footer></body></html>`

describe('htmlToMarkdown', () => {
  it('converts the readable part of a page', () => {
    expect(htmlToMarkdown(PAGE, URL_OF_PAGE, false)).toEqual({
      title: 'The title',
      content: [
        '# Head & *shoulders*', '',
        'One **bold** word, a [link](https://site.example/x?a=1&b=%282%29) and `code()`.', 'Next line.', '',
        '- first', '- second', '  - inner', '', '1. one', '2. two', '', '> quoted', '', '> twice', '',
        '```js', 'if (a < b) {', '  go()', '}', '```', '',
        '| k | v\\|w |', '| --- | --- |', '| a | 1 |', '', '---', '', '![a picture](https://site.example/dir/pic.png)',
      ].join('\n'),
    })
  })

  it('returns plain text on request', () => {
    expect(plain(PAGE)).toContain('Head & shoulders\n\nOne bold word, a link and code().\nNext line.')
    expect(plain(PAGE)).not.toMatch(/[*`#[]/)
  })

  it('converts the whole page if the main element is missing or empty', () => {
    expect(markdown('<p>a</p><div>b</div>')).toBe('a\n\nb')
    expect(markdown(`<main></main><p>${'long '.repeat(200)}</p>`)).toContain('long')
    expect(markdown(`<div role="main"><p>${'main '.repeat(200)}</p></div><p>rest</p>`)).not.toContain('rest')
  })

  it('removes invisible content', () => {
    expect(markdown('<p hidden>a</p><p style="display: none">b</p>'
      + '<p aria-hidden="true">c</p><p>d\u200b\u202e\u{e0041}e\u0007</p><!-- f --><template>g</template>')).toBe('de')
  })

  it('removes links that are not http, https or mailto', () => {
    expect(
      markdown('<a href="javascript:alert(1)">a</a> <a href="data:text/html,x">b</a> <a href="#c">c</a> <a>d</a>'),
    ).toBe('a b c d')
  })

  it('reads elements to a depth of 1000, tables to 20 000 cells, and 4 MB of text', LONG, () => {
    expect(markdown(`${'<div>'.repeat(900)}deep`)).toBe('deep')
    expect(markdown(`${'<div>'.repeat(1_100)}deep`)).not.toContain('deep')
    expect(markdown(`<table>${'<tr><td>x'.repeat(20_100)}</table>`).match(/x/g)).toHaveLength(20_001)
    expect(markdown(`<p>${'x'.repeat(1_000_000)}</p>`.repeat(7)).length).toBeLessThan(5_500_000)
    expect(markdown(`<a href="https://a.example/${'x'.repeat(2_000)}">a</a>`)).toBe('a')
  })

  const ordinary = '<p>A paragraph with <a href="/x">a link</a> and <b>bold</b> text.</p>\n'.repeat(20_000 / PART)

  it.each([
    ['nested elements', '<div>x'.repeat(200_000 / PART)], ['nested quotes', '<blockquote>x'.repeat(100_000 / PART)],
    ['nested lists', '<ul><li>x'.repeat(100_000 / PART)], ['nested tables', '<table><tr><td>x'.repeat(50_000 / PART)],
    ['many cells', `<table><tr>${'<td>x'.repeat(300_000 / PART)}`], ['many open tags', '<'.repeat(500_000 / PART)],
    ['many attributes', `<p ${'a=1 '.repeat(300_000 / PART)}>x`],
    ['many closing tags', '</div>'.repeat(300_000 / PART)], ['many entities', '&amp'.repeat(300_000 / PART)],
    ['many open comments', '<!--'.repeat(300_000 / PART)], ['many bold elements', '<b>x</b>'.repeat(200_000 / PART)],
    ['nested hidden elements', '<p hidden>x'.repeat(200_000 / PART)],
    ['many links', '<a href="/a">x</a>'.repeat(50_000 / PART)],
    ['much white space', `<p>${' '.repeat(1_000_000 / PART)}x`],
  ])('returns a result of bounded size, without quadratic time, for %s', (_, html) => {
    let content = ''
    const ms = cpuMs(() => {
      content = markdown(html)
    })
    expect(content.length).toBeLessThan((6 * 1024 * 1024) / PART)
    // Quadratic time would be thousands of times that of an ordinary page. A small part says nothing about it.
    if (thoroughly(false, true)) expect(ms).toBeLessThan(100 * cpuMs(() => markdown(ordinary)))
  })
})
