import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { symlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { splitPattern } from '../glob.ts'
import { toolSession } from '../../../test/tool-session.ts'

describe('glob', () => {
  const tool = toolSession('glob')
  const paths = async (pattern: string, path?: string) =>
    (await tool.call({ pattern, ...(path !== undefined && { path }) }))['paths'] as string[]

  it('finds files, newest first', async () => {
    await tool.put('g/old.ts')
    await tool.put('g/new.ts')
    await tool.put('g/deep/x.tsx')
    await tool.put('g/node_modules/y.ts')
    await tool.put('g/.gitignore', 'node_modules\n')
    await utimes(join(tool.workspace, 'g/old.ts'), 1, 1)
    await utimes(join(tool.workspace, 'g/new.ts'), 2, 2)
    expect(await tool.call({ pattern: '*.ts', path: 'g' })).toEqual({ paths: ['g/new.ts', 'g/old.ts'], total: 2 })
    expect(await paths('g/**/*.{ts,tsx}')).toEqual(['g/deep/x.tsx', 'g/new.ts', 'g/old.ts'])
    expect(await paths(join(tool.workspace, 'g/*.tsx'))).toEqual([])
    expect(await paths(`${tool.workspace}/g/**/*.tsx`)).toEqual([join(tool.workspace, 'g/deep/x.tsx')])
    expect(await paths('*', 'g/node_modules')).toEqual(['g/node_modules/y.ts'])
  })

  it('does not follow cyclic links', async () => {
    await tool.put('loop/a')
    await symlink('.', join(tool.workspace, 'loop/self')).catch(() => undefined)
    await symlink('/', join(tool.workspace, 'loop/top')).catch(() => undefined)
    expect(await paths('**', 'loop')).toEqual(['loop/a'])
  })

  it.each([
    ['a pattern that leaves the workspace', { pattern: '../*' }, 'InputInvalid'],
    ['a folder outside', { pattern: '*', path: '..' }, 'CapabilityDenied'],
    ['a pattern outside', { pattern: '/etc/*' }, 'CapabilityDenied'],
    ['a missing folder', { pattern: '*', path: 'none' }, 'NotFound'],
    ['an exponential brace pattern', { pattern: '{a,b}'.repeat(30) }, 'InputInvalid'],
    ['a file', { pattern: '*', path: 'plain' }, 'NotFound'],
  ])('refuses %s', async (_, args, code) => {
    await tool.put('plain')
    expect((await tool.refusal(args)).code).toBe(code)
  })

  it('finds the same files as a walk over random trees', async () => {
    const name = fc.constantFrom('a', 'b.ts', 'c', '.d', 'e.js')
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
    const pattern = fc.constantFrom(
      '**', '*', '**/*.ts', 'a/**', '*/*', '**/a/*', '**/{c,.d}', 'a/**/e.js', '?', '**/[ac]', 'a/*.??',
    )
    const root = join(tool.workspace, 'random')
    await fc.assert(fc.asyncProperty(fc.uniqueArray(path, { maxLength: 15 }), pattern, async (wanted, text) => {
      rmSync(root, { recursive: true, force: true })
      mkdirSync(root)
      const files = wanted.filter((one) => !wanted.some((other) => other.startsWith(`${one}/`)))
      for (const file of files) await tool.put(`random/${file}`)
      const walked = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      const expected = walked.filter((file) => reference(text).test(file)).map((file) => `random/${file}`)
      const found = await tool.call({ pattern: text, path: 'random' })
      expect((found['paths'] as string[]).toSorted(), text).toEqual(expected.toSorted())
      expect(found['total']).toBe(expected.length)
    }), { numRuns: thoroughly(6, 60) })
  })

  it('stops when the call is cancelled', async () => {
    const cancel = new AbortController()
    const finding = tool.call({ pattern: '**' }, cancel.signal)
    cancel.abort(new Error('enough'))
    await expect(finding).rejects.toThrow('enough')
  })

  it('uses the searched folder as its approval key', async () => {
    expect(await tool.key({ pattern: '*' })).toBe('.')
    expect(await tool.key({ pattern: '*', path: 'src' })).toBe('src')
    expect(await tool.key({ pattern: '/etc/ssh/*_key' })).toBe('/etc/ssh')
  })

  it.each([
    ['/*', '/', '*'], ['/a/b', '/a', 'b'], ['/', '/', '*'], ['a', '.', 'a'],
  ])('splits the pattern %s', (given, path, pattern) => {
    expect(splitPattern(given)).toEqual({ path, pattern })
  })
})

/** Converts the patterns of this test to regular expressions. */
const reference = (pattern: string): RegExp => {
  const source = pattern
    .replace(/\/\*\*$/, '/**/*')
    .replaceAll('.', '\\.')
    .replaceAll('**/', '\u0001')
    .replace(/^\*\*$/, '.*')
    .replaceAll(/(?<!\.)\*/g, '[^/]*')
    .replaceAll('?', '[^/]')
    .replaceAll(/\{(.*),(.*)\}/g, '(?:$1|$2)')
    .replaceAll('\u0001', '(?:.*/)?')
  return new RegExp(`^${source}$`)
}
