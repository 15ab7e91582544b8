// Plays the demo and draws what it prints as docs/demo.svg: `pnpm record`. Look at the picture before you commit it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const COLUMNS = 104
const ROWS = 26
const [CHAR, LINE, MARGIN] = [7.83, 19, 16]
/** How long a line is shown alone, and the pause before a title and at the end. */
const [LINE_S, TITLE_S, END_S] = [0.45, 1.2, 6]

const ESCAPE = '\u001b'
const STYLED = new RegExp(`${ESCAPE}\\[(\\d+)m([^${ESCAPE}]*)`, 'g')
const TITLE = new RegExp(`^${ESCAPE}\\[1m\\d`)
const COLOURS: Readonly<Record<string, string>> = {
  1: 'b', 2: 'd', 31: 'r', 32: 'g', 33: 'y', 34: 'l', 35: 'm', 36: 'c',
}
const STYLE = `text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6dbe4;white-space:pre}
.b{font-weight:700;fill:#fff}.d{fill:#8b93a3}.r{fill:#ff7b85}.g{fill:#7fd88f}.y{fill:#e7c36a}.l{fill:#7db4ff}.m{fill:#d99bff}.c{fill:#6fd3e0}`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** One line of a terminal, with its colours. */
function drawn(line: string, row: number): string {
  let style = ''
  let parts = ''
  for (const [, code, text = ''] of `${ESCAPE}[0m${line}`.matchAll(STYLED)) {
    style = COLOURS[code!] ?? ''
    if (text !== '') parts += style === '' ? escaped(text) : `<tspan class="${style}">${escaped(text)}</tspan>`
  }
  return parts === '' ? '' : `<text xml:space="preserve" x="${MARGIN}" y="${(row + 1) * LINE}">${parts}</text>\n`
}

/** Each line in turn is the last one that can be seen. */
function frames(lines: readonly string[]): { readonly css: string; readonly seconds: number } {
  const waits = lines.map((line) => line === '' ? 0 : TITLE.test(line) ? TITLE_S : LINE_S)
  const seconds = waits.reduce((sum, wait) => sum + wait, END_S)
  let at = 0
  const steps = lines.flatMap((line, row) => {
    if (line === '') return []
    const step = `${(at / seconds * 100).toFixed(2)}%{transform:translateY(${(ROWS - row - 1) * LINE}px)}`
    at += waits[row]!
    return [step]
  })
  return { css: `@keyframes play{${steps.join('')}}`, seconds }
}

/** What a terminal of this width shows, as a picture that moves. Without motion: the beginning. */
export function picture(output: string): string {
  const lines = output.trimEnd().split('\n')
  const { css, seconds } = frames(lines)
  const [width, height] = [Math.round(COLUMNS * CHAR + 2 * MARGIN), ROWS * LINE + 2 * MARGIN]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img"
  aria-label="The demo in a terminal">
<style>${STYLE}
${css}
@media (prefers-reduced-motion:no-preference){#screen{animation:play ${seconds.toFixed(1)}s step-end infinite}}</style>
<rect width="${width}" height="${height}" rx="10" fill="#11151c"/>
<clipPath id="view"><rect x="0" y="${MARGIN / 2}" width="${width}" height="${ROWS * LINE + MARGIN}"/></clipPath>
<g clip-path="url(#view)"><g id="screen">
${lines.map(drawn).join('')}</g></g>
</svg>
`
}

async function demoOutput(): Promise<string> {
  const demo = spawn(process.execPath, [join(ROOT, 'apps/demo/src/main.ts'), '--exit', `--columns=${COLUMNS}`], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], FORCE_COLOR: '1' }, stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  demo.stdout.setEncoding('utf8').on('data', (text: string) => { output += text })
  const [code] = await once(demo, 'close')
  if (code !== 0) throw new Error(`The demo ended with code ${code}.\n${output}`)
  // Names of temporary folders and ports differ in each run.
  return output.replace(/\/\S*bulkhead-demo-\w+/g, '/tmp/demo').replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:8080')
}

if (import.meta.main) {
  const file = join(ROOT, 'docs/demo.svg')
  writeFileSync(file, picture(await demoOutput()))
  process.stdout.write(`${file}\n`)
}
