import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { EXACT, type NameFolding } from '../../src/fs/disk.ts'
import { POSIX_PATHS, WINDOWS_PATHS } from '../../src/fs/paths.ts'
import { rootPatterns, PathPatterns } from '../../src/fs/path-patterns.ts'

describe('the root of a pattern', () => {
  it('is the longest configured folder that contains it', () => {
    const patterns = ['/ws/docs/**', '/ws/sub/x', '/ws', '/wsx/a', '/data']
    expect(rootPatterns(patterns, ['/ws', '/ws/sub', '/data'], POSIX_PATHS)).toEqual([
      { root: '/ws', rest: 'docs/**' }, { root: '/ws/sub', rest: 'x' }, { root: '/ws', rest: '' },
      { root: '/wsx/a', rest: '' }, { root: '/data', rest: '' },
    ])
    expect(rootPatterns(['/a/*/c', '/*'], [], POSIX_PATHS))
      .toEqual([{ root: '/a', rest: '*/c' }, { root: '/', rest: '*' }])
    expect(rootPatterns(['/docs/**'], ['/'], POSIX_PATHS)).toEqual([{ root: '/', rest: 'docs/**' }])
  })

  it('covers nothing if it is invalid', () => {
    const patterns = ['\\\\.\\C:\\ws/a', 'C:\\ws/docs/**']
    expect(rootPatterns(patterns, ['\\\\.\\C:\\ws', 'C:\\ws'], WINDOWS_PATHS))
      .toEqual([{ root: 'C:/ws', rest: 'docs/**' }])
  })
})

describe('a union of patterns', () => {
  it('covers all of a folder unless something in it is excluded', () => {
    const patterns = new PathPatterns(
      [{ root: '/ws', rest: '', folding: EXACT }], { special: ['/ws/own/kept', '/proc'] },
    )
    expect(['/ws', '/ws/own', '/ws/own/kept', '/ws/own/kept/a', '/'].filter((folder) => patterns.coversAll(folder)))
      .toEqual([])
    expect(['/ws/a', '/ws/own/keptnot'].filter((folder) => patterns.coversAll(folder))).toHaveLength(2)
  })

  const scope = (...patterns: string[]): PathPatterns => {
    const rooted = rootPatterns(patterns, ['/ws'], POSIX_PATHS)
    return new PathPatterns(rooted.map((pattern) => ({ ...pattern, folding: EXACT })), { special: POSIX_PATHS.special })
  }

  it('covers and leads wherever one of its patterns does', () => {
    const patterns = scope('/ws/docs/**', '/ws/src/*.ts')
    const match = (path: string) => patterns.match(path)
    expect(match('/ws/docs/a')).toEqual({ covers: true, leads: true })
    expect(match('/ws/src/a.ts')).toMatchObject({ covers: true })
    expect(match('/ws/src')).toEqual({ covers: false, leads: true })
    expect(match('/ws')).toEqual({ covers: false, leads: true })
    expect(match('/ws/other')).toEqual({ covers: false, leads: false })
    expect(match('/ws-evil/docs/a')).toEqual({ covers: false, leads: false })
  })

  it('excludes pseudo file systems unless a root is inside them', () => {
    const everything = new PathPatterns([{ root: '/', rest: '**', folding: EXACT }], { special: POSIX_PATHS.special })
    for (const path of ['/proc', '/proc/self/mem', '/dev/null', '/sys']) {
      expect(everything.match(path)).toEqual({ covers: false, leads: false })
    }
    expect(everything.match('/processes').covers).toBe(true)
    const shared = new PathPatterns(
      [{ root: '/dev/shm/ws', rest: '**', folding: EXACT }], { special: POSIX_PATHS.special },
    )
    expect(shared.match('/dev/shm/ws/a').covers).toBe(true)
    expect(shared.match('/dev/null').covers).toBe(false)
  })

  it('excludes folders of the host, in every spelling, unless a root is inside them', () => {
    const home = (folding: NameFolding) =>
      new PathPatterns([{ root: '/home/me', rest: '**', folding }], { special: ['/home/me/.bulkhead'] })
    expect(home(EXACT).match('/home/me/.bulkhead/config.json').covers).toBe(false)
    expect(home(EXACT).match('/home/me/.bulkheads').covers).toBe(true)
    expect(home({ case: true, normal: true }).match('/home/me/.BulkHead/config.json').covers).toBe(false)
    const own = new PathPatterns(
      [{ root: '/home/me/.bulkhead/data', rest: '**', folding: EXACT }], { special: ['/home/me/.bulkhead'] },
    )
    expect(own.match('/home/me/.bulkhead/data/mine').covers).toBe(true)
  })

  it('agrees with an independent oracle', () => {
    /** Plain backtracking over names. */
    const oracle = (pattern: readonly string[], path: readonly string[]): boolean => {
      const [part, ...rest] = pattern
      if (part === undefined) return true
      if (part === '**') return oracle(rest, path) || (path.length > 0 && oracle(pattern, path.slice(1)))
      const [name, ...below] = path
      return name !== undefined && fits(part, name) && oracle(rest, below)
    }
    const fits = (part: string, name: string): boolean => {
      if (part === '') return name === ''
      if (part[0] === '*') return fits(part.slice(1), name) || (name !== '' && fits(part, name.slice(1)))
      return part[0] === name[0] && fits(part.slice(1), name.slice(1))
    }
    const name = (units: readonly string[]) =>
      fc.string({ unit: fc.constantFrom(...units), minLength: 1, maxLength: 3 })
    const part = fc.oneof({ weight: 4, arbitrary: name(['a', 'b', '*']) }, { weight: 1, arbitrary: fc.constant('**') })
    const patterns = fc.array(fc.array(part, { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    fc.assert(fc.property(patterns, fc.array(name(['a', 'b']), { maxLength: 5 }), (given, path) => {
      const match = scope(...given.map((parts) => ['/ws', ...parts].join('/'))).match(['/ws', ...path].join('/'))
      expect(match.covers).toBe(given.some((parts) => oracle(parts, path)))
      if (match.covers) expect(match.leads).toBe(true)
    }), { numRuns: thoroughly(1_000, 5_000) })
  })
})
