import type { CompartmentSession } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { codeOf, invocation, newSandbox, refusal, requestOf, REMOTE, running } from './fixture.ts'
import type { RequestOptions } from './fixture.ts'

// (module (func (export "answer") (result i32) i32.const 42))
const WASM = Uint8Array.from([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7f, 3, 2, 1, 0, 7, 10, 1, 6, 0x61, 0x6e, 0x73, 0x77, 0x65,
  0x72, 0, 0,
  10, 6, 1, 4, 0, 0x41, 0x2a, 0x0b,
])

describe.each(REMOTE)('imports in a %s', (placement) => {
  const open = (source: RequestOptions['source']): Promise<CompartmentSession> =>
    newSandbox().open(requestOf({ placement, source }))

  it('load verified files: from folders, as JSON and as WebAssembly', async () => {
    const session = await open({
      'index.js': `
        import { double } from './lib/math.mjs'
        import table from './data/table.json' with { type: 'json' }
        import { answer } from './answer.wasm'
        import { defineExtension, ToolError } from '@bulkhead/contract'
        export default defineExtension({ tools: { run: { async execute() {
          const late = await import('./lib/late.js')
          const { url } = import.meta
          return { double: double(4), table, answer: answer(), late: late.default, url, author: typeof ToolError }
        } } } })`,
      'lib/math.mjs': 'import { two } from "../lib/two.js"; export const double = (n) => n * two',
      'lib/two.js': 'export const two = 2',
      'lib/late.js': 'export default "late"',
      'data/table.json': '{"a":[1]}',
      'answer.wasm': WASM,
      'README.md': '# not code',
    })
    expect(await session.call(invocation())).toEqual({
      double: 8, table: { a: [1] }, answer: 42, late: 'late', url: 'tool://example/index.js', author: 'function',
    })
  })

  it('load files with any name', async () => {
    const names = [
      'vendor/@scope/x.js', 'a+b.js', '[id].js', '$a,b;c=d&e.js', "it's a (b)!~*.js", '{a}^`|b.js',
      'gr\u00fc\u00dfe.js', 'a:b.js', '..c.js',
    ]
    const escaped = [['100%.js', './100%25.js'], ['a#b?c.js', './a%23b%3Fc.js'], ['d e.js', './d%20e.js']] as const
    const asked = [...names.map((name) => `./${name}`), ...escaped.map(([, specifier]) => specifier)]
    const all = [...names, ...escaped.map(([name]) => name)]
    const session = await open({
      'index.js': running('return Promise.all(args.asked.map(async (specifier) => (await import(specifier)).default))'),
      ...Object.fromEntries(all.map((name) => [name, `export default ${JSON.stringify(name)}`])),
    })
    expect(await session.call(invocation({ asked }))).toEqual(all)
  })

  it('of a builtin outside the allow list are refused, and the error names the capability to declare', async () => {
    expect(await refusal(open(`import fs from 'fs'; ${running('')}`))).toMatchObject({
      code: 'BuiltinDenied',
      message: 'The module node:fs exists only in an extension that declares `fs`. '
        + 'Declare it in the manifest, for example "requires": { "fs": { "read": ["{workspace}/**"] } } '
        + '(imported in index.js).',
      data: { module: 'fs', importer: 'index.js' },
    })
    expect(await refusal(open(`import 'node:https'; ${running('')}`))).toMatchObject({
      code: 'BuiltinDenied', message: expect.stringContaining('`net`') as string,
    })
    expect(await refusal(open(`import 'child_process'; ${running('')}`))).toMatchObject({
      code: 'BuiltinDenied', message: expect.stringContaining('`shell`') as string,
    })
    expect(await refusal(open(`import 'node:vm'; ${running('')}`))).toMatchObject({
      code: 'BuiltinDenied', message: expect.stringContaining('No capability') as string,
    })
  })

  it('of anything else are refused, in every form', async () => {
    const session = await open({
      'index.js': running(`
        const kind = (module) => 'readFileSync' in module ? 'imported' : 'harmless'
        const outcome = (importing) => importing.then(kind, (error) => error.code)
        const tried = {}
        for (const specifier of args.specifiers) tried[specifier] = await outcome(import(specifier))
        tried.function = await outcome(new Function('return import("node:fs")')())
        tried.eval = await outcome((0, eval)('import("node:fs")'))
        let flips = 0
        tried.flip = await outcome(import({ toString: () => flips++ === 0 ? './index.js' : 'node:fs' }))
        return tried
      `),
      'old.cjs': 'module.exports = 1',
      'text.txt': 'x',
    })
    const denied = [
      'node:fs', 'fs', 'node:fs/promises', 'node:worker_threads', 'node:module',
      'node:sqlite',
      'node:test', 'node:%66s', 'node:FS',
    ]
    const missing = [
      './gone.js', '../index.js/..', 'tool://other/index.js', 'bulkhead:0/main.ts', 'file:///etc/passwd',
      'https://example.com/x.js', 'data:text/javascript,export default 1', 'left-pad', '#internal', '/etc/passwd',
      './index.js?x=1', './old.cjs', './text.txt', ' fs', 'FS',
    ]
    const tried = await session.call(invocation({ specifiers: [...denied, ...missing] }))
    expect(tried).toEqual({
      ...Object.fromEntries(denied.map((specifier) => [specifier, 'BuiltinDenied'])),
      ...Object.fromEntries(missing.map((specifier) => [specifier, 'ModuleNotFound'])),
      function: 'BuiltinDenied', eval: 'BuiltinDenied', flip: 'harmless',
    })
  })

  it('cannot load CommonJS', async () => {
    expect(await codeOf(open('module.exports = { tools: {} }'))).toBe('CompartmentStartFailed')
    expect(await codeOf(open('const fs = require("fs"); export default {}'))).toBe('CompartmentStartFailed')
  })
})
