import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inspectContents } from '../../../scripts/release/contents.mjs'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-contents-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A valid package with some files replaced. */
function problemsWith(files: Readonly<Record<string, string>> = {}, manifest: object = {}): readonly string[] {
  const good = {
    name: 'one',
    version: '1.0.0',
    bin: { one: './dist/bin.js' },
    exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' }, './schema/*': './schema/*' },
    dependencies: { two: '1.0.0' },
  }
  const contents = {
    'package.json': JSON.stringify({ ...good, ...manifest }),
    'schema/one.json': '{}',
    'dist/index.d.ts': 'export {}',
    'dist/index.js': "new URL('./bin.js', import.meta.url)",
    'dist/bin.js': '#!/usr/bin/env node\n',
    ...files,
  }
  for (const [path, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return inspectContents(folder).problems
}

it('accepts a valid package', () => {
  expect(problemsWith()).toEqual([])
})

it('accepts data beside the sources', () => {
  expect(problemsWith({ 'src/one/guidance.yaml': '' }, { files: ['dist', 'src/*/guidance.yaml'] })).toEqual([])
})

it.each([
  ['a source', { 'src/index.js': '' }, 'src/index.js is packed although it belongs to the workspace only'],
  ['TypeScript', { 'dist/a.ts': '' }, 'dist/a.ts is a TypeScript source, which Node refuses to run from node_modules'],
  ['a test', { 'dist/a.test.js': '' }, 'dist/a.test.js is a test and is packed'],
  [
    'a URL of a source',
    { 'dist/a.js': 'new URL(`./b.ts`, import.meta.url)' },
    'dist/a.js refers to a source file by URL: `./b.ts`, import.meta.url',
  ],
  [
    'a page that links outside the package',
    { 'README.md': '[a](https://x.example) [b](./schema/one.json#x) [c](../../docs/x.md)' },
    'README.md links to ../../docs/x.md, which is not in the package',
  ],
  [
    'an index with a broken link', { 'llms.txt': '[b](docs/b.md)' },
    'llms.txt links to docs/b.md, which is not in the package',
  ],
  [
    'a page with a broken link', { 'docs/a.md': '[b](b.md) [c](../schema/one.json)' },
    'docs/a.md links to b.md, which is not in the package',
  ],
  [
    'a bin without an interpreter', { 'dist/bin.js': '' },
    './dist/bin.js is a bin and does not begin with #!/usr/bin/env node',
  ],
])('finds %s', (_, files, problem) => {
  expect(problemsWith(files)).toEqual([problem])
})

it.each([
  ['an export', { exports: { '.': './dist/none.js' } }, 'exports names ./dist/none.js'],
  ['a pattern', { exports: { './*': './none/*' } }, 'exports names ./none/*'],
  ['a bin', { bin: './dist/none.js' }, 'bin names ./dist/none.js'],
  ['a file', { files: ['dist', 'docs'] }, 'files names docs'],
])('reports %s that does not exist', (_, manifest, problem) => {
  expect(problemsWith({}, manifest)).toEqual([`${problem}, which is not in the package (was it built?)`])
})

it.each(['workspace:*', 'catalog:'])('refuses a dependency left as %s', (version) => {
  expect(problemsWith({}, { dependencies: { two: version } })).toEqual([
    `the dependency two is left as ${version}, which means nothing outside the workspace`,
  ])
})
