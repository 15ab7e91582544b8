import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtCode, type Built } from '@bulkhead/kit/built-code'

// Runs from the sources only. In a published package the build replaces this module by its result.

/** Each file of the page by its path. `index.html` names the others, whose names contain their digests. */
export type PageCode = Readonly<Record<string, string>>

const PAGE = fileURLToPath(new URL('../page', import.meta.url))
const ROLLDOWN = fileURLToPath(import.meta.resolve('rolldown'))
const STYLES = ['base.css', 'parts.css', 'waiting.css', 'calls.css', 'views.css'].map((name) => join(PAGE, 'styles', name))

let built: Promise<PageCode> | undefined

/** Bundled at first use, and kept by later processes while no source changes. */
export function pageCode(): Promise<PageCode> {
  built ??= builtCode<PageCode>('inspector', import.meta.url)
  return built
}

/** Called in a thread. */
export async function build(): Promise<Built<PageCode>> {
  const [scripts, style] = await Promise.all([bundle(), styleSheet()])
  const styleName = `assets/style-${hash('sha256', style).slice(0, 8)}.css`
  const entry = Object.keys(scripts.files).find((file) => file.startsWith('assets/main-'))!
  return {
    code: { 'index.html': html(entry, styleName), ...icons(), [styleName]: style, ...scripts.files },
    sources: [...new Set([...scripts.sources, ...STYLES, fileURLToPath(import.meta.url), ROLLDOWN])],
  }
}

/** A warning of the bundler, such as an unknown import, fails. */
async function bundle(): Promise<{ readonly files: PageCode; readonly sources: readonly string[] }> {
  const { rolldown } = await import('rolldown')
  const building = await rolldown({
    input: { main: join(PAGE, 'main.tsx') },
    cwd: PAGE,
    platform: 'browser',
    tsconfig: false,
    transform: {
      jsx: { runtime: 'automatic', importSource: 'preact' }, define: { 'process.env.NODE_ENV': '"production"' },
    },
    onLog: (_level, log, handle) => handle('error', log),
  })
  const { output } = await building.generate({
    format: 'esm',
    entryFileNames: 'assets/[name]-[hash].js',
    chunkFileNames: 'assets/[name]-[hash].js',
    comments: false,
    minify: true,
  })
  const sources = await building.watchFiles
  await building.close()
  const files = Object.fromEntries(output.flatMap((one) => one.type === 'chunk' ? [[one.fileName, one.code]] : []))
  return { files, sources: sources.filter((path) => path.startsWith('/')) }
}

async function styleSheet(): Promise<string> {
  const texts = await Promise.all(STYLES.map((path) => readFile(path, 'utf8')))
  return texts.join('').replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/\n\s*/g, '\n').trim()
}

// Addresses are relative, because an embedder may serve the page below any path.
const html = (script: string, style: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Bulkhead inspector</title>
<link rel="icon" type="image/svg+xml" href="./assets/icon.svg">
<link rel="stylesheet" href="./${style}">
<script type="module" src="./${script}"></script>
<body><noscript>The inspector needs JavaScript.</noscript></body>
</html>
`

/** The icon of the tab, and one for each number of waiting questions. Files: the policy of the page forbids `data:`. */
function icons(): PageCode {
  const names = ['', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'more']
  return Object.fromEntries(names.map((name) => [`assets/icon${name && `-${name}`}.svg`, icon(name)]))
}

function icon(count: string): string {
  const hull = '<path d="M4 5h24v13c0 6-5 10-12 12C9 28 4 24 4 18z" fill="#2f6f8f"/>'
    + '<path d="M16 5v25M4 16h24" stroke="#fff" stroke-width="2.5"/>'
  const [label, size] = count === 'more' ? ['9+', 13] : [count, 16]
  const badge = `<circle cx="21" cy="11" r="11" fill="#d97706"/><text x="21" y="16.5" font-family="sans-serif"`
    + ` font-size="${size}" font-weight="700" text-anchor="middle" fill="#fff">${label}</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${hull}${count && badge}</svg>`
}
