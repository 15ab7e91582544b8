import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const FOLDERS = 'packages|apps|bench|docs|scripts'

/** Repository paths in a page. `<name>` and `*` match anything. */
const pathsIn = (text: string): readonly string[] =>
  [...new Set(text.match(new RegExp(String.raw`(?<![\w./-])(?:${FOLDERS})/[\w./<>*{},-]*[\w/>*}]`, 'g')) ?? [])]

const missing = (text: string): readonly string[] =>
  pathsIn(text).filter((path) =>
    /[<*{]/.test(path)
      ? globSync(path.replaceAll(/<[^>]+>/g, '*'), { cwd: ROOT }).length === 0
      : !existsSync(join(ROOT, path)),
  )

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('every path that %s names exists', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')
  expect(pathsIn(text).length).toBeGreaterThan(5)
  expect(missing(text)).toEqual([])
})

it('a path that does not exist is found', () => {
  expect(missing('Edit `packages/contract/src/index.ts`, `packages/nowhere/src/x.ts` and packages/<name>/src/none.ts.'))
    .toEqual(['packages/nowhere/src/x.ts', 'packages/<name>/src/none.ts'])
})

it('the glossary has at most 25 entries', () => {
  const [, glossary = ''] = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8').split('\n## Glossary\n')
  const entries = glossary.split('\n').filter((line) => line.startsWith('| ')).slice(1)
  expect(entries.length).toBeGreaterThan(10)
  expect(entries.length).toBeLessThanOrEqual(25)
})
