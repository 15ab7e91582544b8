import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { compileGlob, globContains, matchGlob, matchRow, matchSegment, pathSegments } from '../src/glob.ts'

/** An independent implementation: one regular expression over segments that each begin with a slash. */
function oracle(pattern: string, path: string, below = '(?:/[^/]*)*'): boolean {
  const slashed = (text: string) => text.split('/').filter((part, index) => index === 0 || part !== '')
    .map((part) => '/' + part)
  const literal = (text: string) => text.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
  const segment = (part: string) => part === '/**' ? '(?:/[^/]*)*' : part.split('*').map(literal).join('[^/]*')
  const source = slashed(pattern).map(segment).join('')
  return new RegExp(`^${source}${below}$`, 's').test(slashed(path).join(''))
}

const join = (parts: readonly string[]) => parts.join('/')
const anyPattern = fc.array(fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom('a', 'b', '*', '.'), maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constant('**') },
), { maxLength: 5 }).map(join)
const anyPath = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 4 }), { maxLength: 6 }).map(join)

describe('path patterns', () => {
  it.each<[string, string, boolean]>([
    ['src/a.ts', 'src/a.ts', true],
    ['src', 'src/deep/a.ts', true],
    ['src/', 'src', true],
    ['src', 'srcs', false],
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/a.ts', false],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'src/deep/a.ts', true],
    ['src/**', 'src', true],
    ['src/**/a', 'src/a', true],
    ['src/**/a', 'src/x/y/a', true],
    ['src/*/a', 'src/a', false],
    ['a//b', 'a/b', true],
    ['/a', 'a', false],
    ['a', '/a', false],
    ['/', '/anything', true],
    ['**', '', true],
    ['a.c', 'abc', false],
    ['[a]', 'a', false],
    ['a?', 'ab', false],
    ['{a,b}', 'a', false],
    ['a*b*c', 'a/b/c', false],
    ['a*b*c', 'aXbYc', true],
    ['A', 'a', false],
    ['a\nb', 'a\nb', true],
  ])('%j on %j: %s', (pattern, path, matches) => {
    expect(matchGlob(pattern, path)).toBe(matches)
    expect(oracle(pattern, path)).toBe(matches)
  })

  it('agree with an independent implementation', () => {
    fc.assert(fc.property(anyPattern, anyPath, (pattern, path) => {
      expect(matchGlob(pattern, path)).toBe(oracle(pattern, path))
    }), { numRuns: thoroughly(400, 2_000) })
  })

  it('lead to every path that they cover', () => {
    expect(compileGlob('/a/b/**')(pathSegments('/a'))).toEqual({ covers: false, leads: true })
    expect(compileGlob('/a/*.ts')(pathSegments('/a'))).toEqual({ covers: false, leads: true })
    expect(compileGlob('/a/*.ts')(pathSegments('/b'))).toEqual({ covers: false, leads: false })
    expect(compileGlob('/a/*.ts')(pathSegments('/a/b.ts'))).toEqual({ covers: true, leads: true })
    fc.assert(fc.property(anyPattern, anyPath, (pattern, path) => {
      fc.pre(matchGlob(pattern, path))
      const segments = pathSegments(path)
      for (let length = 1; length < segments.length; length++) {
        expect(compileGlob(pattern)(segments.slice(0, length)).leads).toBe(true)
      }
    }), { numRuns: thoroughly(400, 2_000) })
  })

  it('can match without covering everything below', () => {
    const only = (pattern: string, path: string) => compileGlob(pattern, { below: false })(pathSegments(path))
    expect(only('src', 'src')).toEqual({ covers: true, leads: false })
    expect(only('src', 'src/a')).toEqual({ covers: false, leads: false })
    expect(only('src/**', 'src')).toEqual({ covers: true, leads: true })
    expect(only('src/**', 'src/a/b')).toEqual({ covers: true, leads: true })
    expect(only('**/*.ts', 'src/a.ts')).toEqual({ covers: true, leads: true })
    expect(only('*/a', 'src')).toEqual({ covers: false, leads: true })
    fc.assert(fc.property(anyPattern, anyPath, (pattern, path) => {
      expect(only(pattern, path).covers).toBe(oracle(pattern, path, ''))
    }), { numRuns: thoroughly(400, 2_000) })
  })

  it('take bounded time where a regular expression would not', () => {
    expect(matchGlob('*a'.repeat(500) + 'b', 'a'.repeat(5_000))).toBe(false)
    expect(matchGlob('**/'.repeat(200) + 'x', 'a/'.repeat(1_000))).toBe(false)
  })
})

describe('a pattern of one string', () => {
  it('matches any characters, including slashes', () => {
    expect(matchSegment('git *', 'git log a/b')).toBe(true)
    expect(matchSegment('*', '')).toBe(true)
    expect(matchSegment('', 'a')).toBe(false)
    expect(matchSegment('a**b', 'ab')).toBe(true)
  })

  it('agrees with a regular expression that uses .*', () => {
    const text = (units: readonly string[]) => fc.string({ unit: fc.constantFrom(...units), maxLength: 8 })
    fc.assert(fc.property(text(['a', 'b', '*']), text(['a', 'b', '/']), (pattern, subject) => {
      expect(matchSegment(pattern, subject)).toBe(new RegExp(`^${pattern.replaceAll('*', '.*')}$`, 's').test(subject))
    }), { numRuns: thoroughly(400, 2_000) })
  })
})

describe('matchRow', () => {
  it('matches one item per part, and any number per star', () => {
    const within = (parts: readonly (number | null)[], items: readonly number[]) => matchRow(
      parts, items, null, (most, item) => item <= most!,
    )
    expect(within([1, 2], [1, 2])).toBe(true)
    expect(within([1, 2], [1, 3])).toBe(false)
    expect(within([1], [1, 1])).toBe(false)
    expect(within([1, 1], [1])).toBe(false)
    expect(within([null, 5, null], [9, 9, 4, 9])).toBe(true)
    expect(within([null, 5, 6, null], [9, 5, 9, 5, 6])).toBe(true)
    expect(within([null, 5, null, 1], [9, 5, 9])).toBe(false)
    expect(within([null], [])).toBe(true)
    expect(within([], [])).toBe(true)
  })
})

describe('globContains', () => {
  it.each<[string, string, boolean]>([
    ['src/**', 'src/a/b', true],
    ['src', 'src/**', true],
    ['src/**', 'src', true],
    ['**', 'a/**/b', true],
    ['src/*', 'src/*.ts', true],
    ['src/*.ts', 'src/a.ts', true],
    ['*.ts', '*.ts', true],
    ['src/a', 'src', false],
    ['src/*', 'src/**', false],
    ['src/*', 'src', false],
    ['src', 'srcs', false],
    ['**/a', 'b/a', true],
    ['**/a', 'a/**', true],
    ['**/*', '**', false],
    ['a/*/**', 'a/**', false],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/**/b/c', true],
    ['**/b/**/c', '**/b/c', true],
    ['**/b/c', '**/b/**/c', false],
    ['/ws/**/.env', '/ws/a*/.env', true],
    ['*a*', '*ba', true],
    ['*ba', '*a*', false],
  ])('%j over %j: %s', (wide, narrow, covers) => {
    expect(globContains(wide, narrow)).toBe(covers)
  })

  it('is never wrongly true', () => {
    fc.assert(fc.property(anyPattern, anyPattern, anyPath, (wide, narrow, path) => {
      fc.pre(globContains(wide, narrow) === true)
      if (matchGlob(narrow, path)) expect(matchGlob(wide, path)).toBe(true)
    }), { numRuns: thoroughly(400, 2_000) })
  })

  it('is never wrongly false', () => {
    // A name that no pattern has stands for all others.
    const sample = (pattern: string) =>
      [`zz`, `zz/zz`, ''].map((fill) =>
        pattern
          .split('/')
          .flatMap((part) => (part === '**' ? fill.split('/').filter(Boolean) : [part.replaceAll('*', 'zz')]))
          .join('/'),
      )
    fc.assert(fc.property(anyPattern, anyPattern, (wide, narrow) => {
      // `**` alone matches no names too, which no path has.
      fc.pre(
        globContains(wide, narrow) === false && narrow.split('**').length < 3 && pathSegments(narrow).join() !== '**',
      )
      const paths = sample(narrow).flatMap((path) => [path, `${path}/zz`, `${path}/zz/zz`])
      expect(paths.some((path) => matchGlob(narrow, path) && !matchGlob(wide, path))).toBe(true)
    }), { numRuns: thoroughly(400, 2_000) })
  })

  it('gives up on a comparison that would take too long', () => {
    const long = (end: string) => `${'**/*/a/'.repeat(40)}${end}`
    expect(globContains(long('b'), long('c'))).not.toBe(true)
    expect(globContains(`**/x${'/*'.repeat(12)}`, `${'**/x/'.repeat(30)}b`)).toBeUndefined()
  })

  it('is never wrongly true for paths that match the narrow pattern', () => {
    const fill = (pattern: string, fills: string[]) => pattern.replaceAll('**', () => fills.pop() ?? 'a')
      .replaceAll('*', () => fills.pop()?.replaceAll('/', '') ?? 'a')
    const filled = fc.tuple(anyPattern, fc.array(fc.constantFrom('a', 'b', '.', 'a/b'), { minLength: 8, maxLength: 8 }))
      .map(([narrow, fills]) => ({ narrow, path: fill(narrow, [...fills]) }))
    fc.assert(fc.property(anyPattern, filled, (wide, { narrow, path }) => {
      if (globContains(wide, narrow) && matchGlob(narrow, path)) expect(matchGlob(wide, path)).toBe(true)
    }), { numRuns: thoroughly(1_000, 5_000) })
  })
})
