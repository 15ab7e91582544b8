import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { BundledFiles } from '../../loader/src/pack/bundled-files.ts'
import type { Bundle } from '@bulkhead/loader'
import { bundleModule } from '../src/facade/bundling/bundle.ts'

/** A tool with these files, as a bundle. Packages in `node_modules` have an entry each. */
async function bundle(files: Readonly<Record<string, string>>): Promise<Bundle> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'bundle-')))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [path, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return bundleModule(Object.keys(files)[0]!, new BundledFiles(folder, undefined))
}
const messageOf = (files: Readonly<Record<string, string>>): Promise<string> =>
  bundle(files).then(() => 'bundled', (error: Error & { code: string }) => `${error.code}: ${error.message}`)

it('a bundle says by which packages it imports a module of Node', async () => {
  const { origins } = await bundle({
    'index.js': "import 'a'; import fs from 'node:fs'; import './own.js'; export default fs",
    'own.js': "import 'node:os'",
    'node_modules/a/index.js': "const { net } = require('@b/c'); module.exports = { net, q: require('node:sqlite') }",
    'node_modules/@b/c/index.js': "exports.net = require('net'); require('./deep.js')",
    'node_modules/@b/c/deep.js': "require('fs')",
  })
  const chains = ['net', 'sqlite', 'os', 'tls'].map((name) => origins.chainTo(`node:${name}`).join(' \u2192 '))
  expect(chains).toEqual([
    'index.js \u2192 a \u2192 @b/c \u2192 node:net', 'index.js \u2192 a \u2192 node:sqlite',
    'index.js \u2192 own.js \u2192 node:os', '',
  ])
  expect(origins.importOf('node:net')).toEqual({ file: 'node_modules/@b/c/index.js', line: 1 })
})

it('native code, WebAssembly and decorators are refused with the package and what to do', async () => {
  const library = (code: string): Readonly<Record<string, string>> => ({
    'index.js': "import x from 'lib'; export default x", 'node_modules/lib/index.js': code,
    'node_modules/lib/x.node': '\u007fELF', 'node_modules/lib/x.wasm': '\0asm',
  })
  expect(await messageOf(library("module.exports = require('./x.node')"))).toBe(
    'ModuleNotFound: lib imports "./x.node", which is native code, which no compartment runs. '
      + 'Use a package in JavaScript instead, or a service over HTTP.',
  )
  expect(await messageOf(library("module.exports = require('./x.wasm')")))
    .toMatch(/^ModuleNotFound: lib imports "\.\/x\.wasm", which is WebAssembly, which a bundle cannot contain\. Import/)
  const decorated = 'function d(v: unknown) { return v }\nclass A { @d m() {} }\nexport default A'
  expect(await messageOf({ 'index.ts': decorated }))
    .toMatch(/^CompartmentStartFailed: index\.ts or a package that it imports uses decorators, which Node does not/)
  const tsconfig = '{"compilerOptions":{"experimentalDecorators":true}}'
  expect(await messageOf({ 'index.ts': decorated, 'tsconfig.json': tsconfig })).toBe('bundled')
  expect(await messageOf({ 'index.js': 'export default `\n@media (x) {}\n`' })).toBe('bundled')
})
