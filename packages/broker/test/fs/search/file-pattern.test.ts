import fc from 'fast-check'
import picomatch from 'picomatch'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { compileFilePattern } from '../../../src/fs/search/file-pattern.ts'

const matches = (pattern: string, path: string): boolean => compileFilePattern(pattern).matches(path)

describe('a pattern over paths', () => {
  it.each([
    ['*.ts', 'a.ts', true], ['*.ts', 'src/a.ts', false], ['**/*.ts', 'a.ts', true], ['**/*.ts', 'src/deep/a.ts', true],
    ['src/**', 'src/a/b', true], ['src/**', 'srcx/a', false], ['src/**', 'src', false],
    ['./src/*.ts', 'src/a.ts', true], ['**', 'a/b/c', true],
    ['src/*/x', 'src/a/b/x', false], ['a?c', 'abc', true], ['a?c', 'a😀c', true], ['a?c', 'a/c', false],
    ['*.[jt]s', 'a.js', true], ['*.[jt]s', 'a.cs', false], ['*.[!j]s', 'a.ts', true], ['v[0-9]', 'v7', true],
    ['app/[id]/page.tsx', 'app/[id]/page.tsx', true], ['app/[id]/page.tsx', 'app/i/page.tsx', true],
    ['*.{ts,tsx}', 'a.tsx', true], ['{a,b}/**/c', 'b/x/y/c', true], ['.*', '.env', true], ['*', '.env', true],
    ['a(b)+$^|.txt', 'a(b)+$^|.txt', true], ['a\\*b', 'a\\xb', true],
  ])('%s and %s: %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected)
  })

  it('reports the folder of all matches', () => {
    expect(compileFilePattern('src/deep/**/*.ts').folder).toEqual(['src', 'deep'])
    expect(compileFilePattern('src/a.ts').folder).toEqual(['src'])
    expect(compileFilePattern('**/a').folder).toEqual([])
    expect(compileFilePattern('{a,b}/c').folder).toEqual([])
  })

  it.each([
    '', 'a\0b', '/etc/*', '../*', 'a/../../b', 'x'.repeat(2_000), '{a,b}'.repeat(20),
  ])('rejects %j', (pattern) => {
    expect(() => compileFilePattern(pattern)).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
  })

  it('matches in bounded time where regular expressions do not', () => {
    expect(matches(`${'*a'.repeat(40)}*b`, 'a'.repeat(250))).toBe(false)
    expect(matches(`${'**/a/'.repeat(40)}b`, Array(500).fill('a').join('/'))).toBe(false)
  })

  it('agrees with picomatch over random patterns and paths', () => {
    const name = fc.stringMatching(/^[ab.]{1,3}$/).filter((text) => !/^\.+$/.test(text))
    const part = fc.oneof(name, fc.constantFrom('*', '**', '*a', 'a*', '*.b', '?', 'a?', '[ab]', '[^a]b', '{a,b*}'))
    fc.assert(fc.property(
      fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/')),
      fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/')),
      (pattern, path) => {
        // picomatch matches some folders as their own children.
        const below = pattern.replace(/(?<=\/)\*\*$/, '**/*')
        expect(matches(pattern, path), `${pattern} ~ ${path}`).toBe(picomatch.isMatch(path, below, { dot: true }))
      },
    ), { numRuns: thoroughly(600, 3_000) })
  })
})
