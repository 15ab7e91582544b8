import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { SourceModule } from '../src/process/linked-script.ts'
import { exportsOf, linkedScript } from '../src/process/linked-script.ts'

const moduleOf = (path: string, text: string, imports: Readonly<Record<string, string>> = {}): SourceModule =>
  ({ path, text, imports: new Map(Object.entries(imports)) })

const run = (modules: readonly SourceModule[]): unknown => runInNewContext(
  `${linkedScript(modules)}\nm${modules.length - 1}`,
  { require: (name: string) => ({ name, join: (...parts: string[]) => parts.join('/') }) },
)

describe('modules linked to one script', () => {
  it('can use all forms of import and export that our sources have', () => {
    const base = moduleOf('/base.js', [
      'export const one = 1', 'export let two = 2', 'export function three() { return 3 }',
      'export async function four() {}',
      'export function* five() {}', 'export class Six {}', 'const seven = 7', 'export { seven, seven as eight };',
    ].join('\n'))
    const user = moduleOf('/user.js', [
      "import path, { join as glue } from 'node:path'",
      "import * as all from './base.js'",
      'import {\n  one,\n  three as drei,\n} from "./base.js";',
      "import './base.js'",
      "export { two as zwei, eight } from './base.js'",
      "export const seen = [path.name, glue('a', 'b'), Object.keys(all), one, drei()]",
    ].join('\n'), { './base.js': '/base.js' })
    expect(run([base, user])).toEqual({
      seen: ['node:path', 'a/b', ['one', 'two', 'three', 'four', 'five', 'Six', 'seven', 'eight'], 1, 3], zwei: 2,
      eight: 7,
    })
    expect(new Set(exportsOf(user.text))).toEqual(new Set(['seen', 'zwei', 'eight']))
  })

  it('are strict, so a function cannot find its caller', () => {
    const text = 'const found = new Function("return arguments.callee.caller")\nexport const seen = found()'
    expect(run([moduleOf('/caller.js', text)])).toEqual({ seen: null })
  })

  it('contain only ASCII characters, and the same strings', () => {
    const odd = moduleOf('/odd.js', "// … comments\nexport const text = 'grüße … 😀'")
    expect(linkedScript([odd])).toMatch(/^[\0-\x7f]*$/)
    expect(run([odd])).toEqual({ text: 'grüße … 😀' })
  })

  it('do not share their top-level names', () => {
    const modules = ['a', 'b'].map(
      (name) => moduleOf(`/${name}.js`, `const own = '${name}'\nexport const ${name} = own`),
    )
    expect(run(modules)).toEqual({ b: 'b' })
  })

  it('keep dynamic imports, and keywords in the middle of a line', () => {
    const text = "const load = () => import('node:fs')\nconst text = 'export default 1'"
    expect(linkedScript([moduleOf('/a.js', text)])).toContain(text)
  })

  it.each([
    'export default 1', 'export * from "./b.js"', 'export const { a } = {}', 'import a from "c" with { type: "json" }',
  ])(
    'are refused in a form that is not known: %s',
    (text) => {
      expect(() => linkedScript([moduleOf('/odd.js', text)]))
        .toThrow(/odd\.js has an import or export that cannot be linked/)
    },
  )
})
