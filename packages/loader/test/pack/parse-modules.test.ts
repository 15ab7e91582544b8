import { describe, expect, test } from 'vitest'
import { parseModules } from '../../src/pack/parse-modules.ts'

const parse = (files: Readonly<Record<string, string>>) =>
  parseModules('index.js', new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])))

describe('modules that a compartment can import', () => {
  test.each<[string, Record<string, string>]>([
    ['one alone', { 'index.js': 'export default await 1' }],
    ['what every compartment has', { 'index.js': 'import "@bulkhead/contract"; import "@bulkhead/contract/author"; import "node:path"; import "util/types"' }],
    ['files by their paths, in a circle too', { 'index.js': 'import "./lib/a.mjs"', 'lib/a.mjs': 'import "../index.js"; import "/lib/b.js"; export * from "./b.js"', 'lib/b.js': '' }],
    ['names that are written otherwise in an address', { 'index.js': 'import "./%C3%BC%20%23.js"', 'ü #.js': '' }],
    ['names that are written there as they are', { 'index.js': 'import "./vendor/@scope/[a]+$b.js"', 'vendor/@scope/[a]+$b.js': '' }],
    ['what is no module', { 'index.js': 'import a from "./a.json" with { type: "json" }; import source b from "./b.wasm"', 'a.json': '\u{feff}null', 'b.wasm': '' }],
    ['a mark and a line for the shell in front', { 'index.js': '\u{feff}export {}', 'lib/a.js': '#!/usr/bin/env node\n' }],
    ['what is imported when it runs, if ever', { 'index.js': 'export const later = () => import("left-pad")' }],
    ['files that nothing imports, whatever is in them', { 'index.js': '', 'page/script.js': 'return {{', 'old.cjs': 'with (a) {}' }],
    ['more than one thread can parse', { 'index.js': `export default ${'['.repeat(100_000)}${']'.repeat(100_000)}` }],
  ])('%s', async (_, files) => {
    await expect(parse(files)).resolves.toBeUndefined()
  })
})

describe('refuses modules that no host can import', () => {
  test.each<[string, Record<string, string>, string, string]>([
    ['a fault of syntax, with its line', { 'index.js': 'let a\nexport default {{' }, 'CompartmentStartFailed', 'index.js, line 2, cannot be parsed: Unexpected token \'{\'.'],
    ['one in a file that is imported', { 'index.js': 'import "./lib/a.js"', 'lib/a.js': '\n\nlet a; let a' }, 'CompartmentStartFailed', 'lib/a.js, line 3, cannot be parsed: Identifier \'a\' has already'],
    ['types', { 'index.js': 'const a: string = ""' }, 'CompartmentStartFailed', 'index.js, line 1, cannot be parsed: Missing initializer'],
    ['CommonJS that is no module', { 'index.js': 'return 1' }, 'CompartmentStartFailed', 'index.js, line 1, cannot be parsed: Illegal return'],
    ['a file that is not there', { 'index.js': 'import "./a.js"' }, 'ModuleNotFound', 'index.js imports "./a.js", which is neither in the package'],
    ['a file without its ending', { 'index.js': 'import "./a"', 'a.js': '' }, 'ModuleNotFound', 'index.js imports "./a",'],
    ['a dependency that is not installed', { 'index.js': 'import "./a.js"', 'a.js': 'export * from "left-pad"' }, 'ModuleNotFound', 'a.js imports "left-pad",'],
    ['TypeScript', { 'index.js': 'import "./lib/a.ts"', 'lib/a.ts': 'export const a = 1' }, 'ModuleNotFound', 'index.js imports "./lib/a.ts", which is neither an ES module'],
    ['CommonJS by its name', { 'index.js': 'import "./lib/b.js"', 'lib/b.js': 'import a from "./a.cjs"', 'lib/a.cjs': 'module.exports = {{{' }, 'ModuleNotFound', 'lib/b.js imports "./a.cjs", which is neither'],
    ['JSON that is none', { 'index.js': 'import a from "./a.json" with { type: "json" }', 'a.json': '{"a": 1,}' }, 'CompartmentStartFailed', 'a.json cannot be parsed: Expected double-quoted property name in JSON'],
    ['a file of the machine', { 'index.js': 'import "file:///etc/passwd"' }, 'ModuleNotFound', 'index.js imports "file:///etc/passwd",'],
  ])('%s', async (_, files, code, begins) => {
    await expect(parse(files)).rejects.toMatchObject({ code, message: expect.stringContaining(begins) })
  })

  test('runs no code', async () => {
    await expect(parse({ 'index.js': 'throw new Error("it ran")', 'a.js': 'process.exit(7)' })).resolves.toBeUndefined()
  })
})
