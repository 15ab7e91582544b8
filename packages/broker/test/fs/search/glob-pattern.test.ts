import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { compileGlobPattern, expandBraces } from '../../../src/fs/search/file-pattern.ts'

const covers = (pattern: string, path: string): boolean => compileGlobPattern(pattern)(path.split('/')).covers

describe('a glob pattern', () => {
  it.each<[string, string, boolean]>([
    ['*.ts', 'a.ts', true], ['*.ts', 'src/a.ts', false], ['**/*.ts', 'a.ts', true], ['**/*.ts', 'src/deep/a.ts', true],
    ['src', 'src', true], ['src', 'src/a', false], ['src/**', 'src/a/b', true], ['./src/*', 'src/a', true],
    ['src//*', 'src/a', true],
    ['src/', 'src', true], ['*.{ts,tsx}', 'a.tsx', true], ['*.{ts,tsx}', 'a.js', false],
    ['{src,test}/**/*.ts', 'test/x/a.ts', true],
    ['{a,b/{c,d}}', 'b/d', true], ['{a,b/{c,d}}', 'b', false], ['{a}', '{a}', true], ['{a', '{a', true],
    ['a}', 'a}', true],
    ['[id].tsx', '[id].tsx', true], ['[id].tsx', 'i.tsx', false], ['a?', 'a?', true], ['a?', 'ab', false],
    ['*', '.hidden', true],
    ['{,a}b', 'b', true], ['{,a}b', 'ab', true], ['x{1,2}{3,4}', 'x14', true], ['A*', 'ab', false],
    ['{a,b', '{a,b', true],
  ])('%j on %j: %s', (pattern, path, expected) => {
    expect(covers(pattern, path)).toBe(expected)
  })

  it.each([
    '', '/abs', '../up', 'a/../b', 'a\0b', 'x'.repeat(1_025), '{a,/b}', '{a,..}/b', '{a,b}'.repeat(7),
  ])('%j is rejected', (pattern) => {
    expect(() => compileGlobPattern(pattern)).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
  })

  it('expands braces like an expansion from the inside out', () => {
    /** Replaces the innermost braces first, repeatedly. undefined: more alternatives than allowed. */
    const oracle = (text: string): Set<string> | undefined => {
      const waiting = [text]
      const whole: string[] = []
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [, before = '', choices, after = ''] = /^(.*)\{([^{}]*,[^{}]*)\}(.*)$/.exec(next) ?? []
        if (choices === undefined) whole.push(next)
        else waiting.push(...choices.split(',').map((choice) => before + choice + after))
        if (whole.length + waiting.length > 32) return undefined
      }
      return new Set(whole)
    }
    const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
      pattern: fc.array(tie('piece'), { maxLength: 3 }).map((pieces) => pieces.join('')),
      piece: fc.oneof(
        { maxDepth: 2 },
        fc.constantFrom('a', 'b', '*', '/'),
        fc.array(tie('pattern'), { minLength: 2, maxLength: 3 }).map((choices) => `{${choices.join(',')}}`),
      ),
    }))
    fc.assert(fc.property(pattern, (text) => {
      const expected = oracle(text)
      fc.pre(expected !== undefined)
      expect(new Set(expandBraces(text))).toEqual(expected)
    }), { numRuns: thoroughly(100, 500) })
  })

  it('reports which folders lead to matches', () => {
    const match = compileGlobPattern('src/*.ts')
    expect(match(['src'])).toEqual({ covers: false, leads: true })
    expect(match(['lib'])).toEqual({ covers: false, leads: false })
    expect(match(['src', 'a.ts'])).toEqual({ covers: true, leads: false })
  })
})
