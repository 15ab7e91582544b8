import { describe, expect, test } from 'vitest'
import { parseModules } from '../../src/pack/parse-modules.ts'

const parse = (files: Readonly<Record<string, string>>) =>
  parseModules('index.js', new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])))

describe('accepts', () => {
  test.each<[string, Record<string, string>]>([
    ['a single module', { 'index.js': 'export default await 1' }],
    [
      'provided modules',
      {
        'index.js': 'import "@bulkhead/contract"; import "@bulkhead/contract/author"; import "node:path"; '
          + 'import "util/types"',
      },
    ],
    [
      'files by path, with a cycle',
      {
        'index.js': 'import "./lib/a.mjs"',
        'lib/a.mjs': 'import "../index.js"; import "/lib/b.js"; export * from "./b.js"', 'lib/b.js': '',
      },
    ],
    ['names that a URL escapes', { 'index.js': 'import "./%C3%BC%20%23.js"', 'ü #.js': '' }],
    [
      'names that a URL does not escape',
      { 'index.js': 'import "./vendor/@scope/[a]+$b.js"', 'vendor/@scope/[a]+$b.js': '' },
    ],
    [
      'JSON and WebAssembly',
      {
        'index.js': 'import a from "./a.json" with { type: "json" }; import source b from "./b.wasm"',
        'a.json': '\u{feff}null', 'b.wasm': '',
      },
    ],
    ['a byte order mark and a hashbang', { 'index.js': '\u{feff}export {}', 'lib/a.js': '#!/usr/bin/env node\n' }],
    ['a dynamic import', { 'index.js': 'export const later = () => import("left-pad")' }],
    [
      'invalid files that are not imported',
      { 'index.js': '', 'page/script.js': 'return {{', 'old.cjs': 'with (a) {}' },
    ],
    [
      'a module that is nested too deep for the parser',
      { 'index.js': `export default ${'['.repeat(100_000)}${']'.repeat(100_000)}` },
    ],
  ])('accepts %s', async (_, files) => {
    await expect(parse(files)).resolves.toBeUndefined()
  })
})

describe('refuses', () => {
  test.each<[string, Record<string, string>, string, string]>([
    [
      'a syntax error, with its line', { 'index.js': 'let a\nexport default {{' }, 'CompartmentStartFailed',
      'index.js, line 2, cannot be parsed: Unexpected token \'{\'.',
    ],
    [
      'a syntax error in an imported file', { 'index.js': 'import "./lib/a.js"', 'lib/a.js': '\n\nlet a; let a' },
      'CompartmentStartFailed', 'lib/a.js, line 3, cannot be parsed: Identifier \'a\' has already',
    ],
    [
      'type annotations', { 'index.js': 'const a: string = ""' }, 'CompartmentStartFailed',
      'index.js, line 1, cannot be parsed: Missing initializer',
    ],
    [
      'a return outside of a function', { 'index.js': 'return 1' }, 'CompartmentStartFailed',
      'index.js, line 1, cannot be parsed: Illegal return',
    ],
    [
      'a missing file', { 'index.js': 'import "./a.js"' }, 'ModuleNotFound',
      'index.js imports "./a.js", which is neither in the package',
    ],
    [
      'a file without its extension', { 'index.js': 'import "./a"', 'a.js': '' }, 'ModuleNotFound',
      'index.js imports "./a",',
    ],
    [
      'a dependency that is not installed', { 'index.js': 'import "./a.js"', 'a.js': 'export * from "left-pad"' },
      'ModuleNotFound', 'a.js imports "left-pad",',
    ],
    [
      'TypeScript', { 'index.js': 'import "./lib/a.ts"', 'lib/a.ts': 'export const a = 1' }, 'ModuleNotFound',
      'index.js imports "./lib/a.ts", which is neither an ES module',
    ],
    [
      'a .cjs file',
      { 'index.js': 'import "./lib/b.js"', 'lib/b.js': 'import a from "./a.cjs"', 'lib/a.cjs': 'module.exports = {{{' },
      'ModuleNotFound', 'lib/b.js imports "./a.cjs", which is neither',
    ],
    [
      'invalid JSON', { 'index.js': 'import a from "./a.json" with { type: "json" }', 'a.json': '{"a": 1,}' },
      'CompartmentStartFailed', 'a.json cannot be parsed: Expected double-quoted property name in JSON',
    ],
    [
      'a file URL', { 'index.js': 'import "file:///etc/passwd"' }, 'ModuleNotFound',
      'index.js imports "file:///etc/passwd",',
    ],
  ])('refuses %s', async (_, files, code, begins) => {
    await expect(parse(files)).rejects.toMatchObject({ code, message: expect.stringContaining(begins) })
  })

  test('runs no code', async () => {
    await expect(parse({ 'index.js': 'throw new Error("it ran")', 'a.js': 'process.exit(7)' })).resolves.toBeUndefined()
  })
})
