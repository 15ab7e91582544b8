import { describe, expect, it } from 'vitest'
import { namedTools, readCodeModeArguments } from '../named-tools.ts'

describe('the tools that a program names', () => {
  it.each([
    ['return 1', []],
    ['await tools.read({ path: other.write }); await tools["my-tool"](); tools?.bash?.()', ['bash', 'my-tool', 'read']],
    ['const { read, write: w = 1, "my-tool": m } = tools', ['my-tool', 'read', 'write']],
    [
      '// tools\nconst text = "tools[x]"; const { tools: other } = { tools: 1 }; x.tools = 2; class A { tools() {} }',
      [],
    ],
    ['const f = (list) => list.map(async (path) => (await tools.read({ path })).tools)', ['read']],
    ['/"/.test(tools.grep) / 2', ['grep']],
  ])('of %j are %j', (code, tools) => {
    expect(namedTools(code)).toEqual(tools)
  })

  it.each([
    'tools[name]()', 'const { [name]: f } = tools', 'const { read, ...rest } = tools', 'use(tools)',
    'const all = tools', 'with_(() => tools)', 'const o = { tools }', 'tools`read`', '[tools][0]', 'eval("to" + "ols")',
    '\\u0074ools', 'tools.read = 1; x = tools', 'tools["re" + "ad"]', 'for (const x in tools);', 'return )',
    '} ; evil(tools); ({', '('.repeat(100_000), 'import("./index.js"); y[tools]', '({ [tools]: 1 })',
    'let read; ({ read } = tools)',
  ])('of %j are all', (code) => {
    expect(namedTools(code)).toBe('all')
  })

  it('are what a call touches, and the key covers this program only', () => {
    const read = (code: string) => readCodeModeArguments({ code }, { workspace: '/w' })
    expect(read('tools.read()')).toMatchObject({ touches: ['calls read'], tools: ['read'], asks: [], denies: [] })
    expect(read('f(tools)')).toMatchObject({ touches: ['calls any tool of the session'], tools: 'all' })
    expect(read('a').key).toMatch(/^program sha256:[0-9a-f]{64}$/)
    expect(read('a').key).not.toBe(read('b').key)
  })
})
