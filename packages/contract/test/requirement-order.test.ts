import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchGlob } from '../src/glob.ts'
import { beyond, hostCovers, hostMatches, intersectGrant, pathMatches } from '../src/requirement-order.ts'
import {
  compileGrant, matchArguments, NO_GRANT, type ArgPattern, type Grant, type RequirementSet, type ShellRequirement,
} from '../src/requirements.ts'

const anyGlob = fc.array(fc.constantFrom('a', 'b', '*', '**', 'a*'),
  { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))
const anyHost = fc.constantFrom('x.test', 'a.x.test', '*.x.test', '*.a.x.test', 'x.test:80', '*.x.test:80', 'y.test')
const anyArg: fc.Arbitrary<ArgPattern> = fc.constantFrom('a', 'ab', { wildcard: true as const }, { prefix: 'a' },
  { prefix: 'ab' })
const anyShell: fc.Arbitrary<ShellRequirement> = fc.record(
  { cmd: fc.constantFrom('git', 'ls'), args: fc.array(anyArg, { maxLength: 2 }) },
  { requiredKeys: ['cmd'], noNullPrototype: true },
)
const list = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 })
const anySet: fc.Arbitrary<RequirementSet> = fc.record({
  fs: fc.record({ read: list(anyGlob), write: list(anyGlob) }), net: fc.record({ hosts: list(anyHost) }), shell: list(anyShell),
  capabilities: fc.subarray(['interact' as const, 'tools.call' as const]),
})
const anyGrant = anySet.map((set) => compileGrant(set, { workspace: ['/ws'] }))

const anyUse = fc.record({
  path: fc.array(fc.constantFrom('a', 'b', 'ab', 'c'), { maxLength: 4 }).map((parts) => ['/ws', ...parts].join('/')),
  host: fc.constantFrom('x.test', 'a.x.test', 'b.a.x.test', 'x.test:80', 'a.x.test:80', 'a.x.test:81', 'y.test'),
  cmd: fc.constantFrom('git', 'ls'),
  args: fc.array(fc.constantFrom('a', 'ab', 'abc', 'b'), { maxLength: 2 }),
  capability: fc.constantFrom('interact' as const, 'tools.call' as const),
})
type Use = typeof anyUse extends fc.Arbitrary<infer T> ? T : never

/** What of one use a grant gives, as the broker would judge it. */
const given = (grant: Grant, use: Use) => ({
  read: pathMatches(grant.fs.read, use.path),
  write: pathMatches(grant.fs.write, use.path),
  host: hostMatches(grant.net.hosts, use.host),
  shell: grant.shell.some((command) => (command.cmd === use.cmd || command.cmd === '*') && matchArguments(command.args, use.args)),
  capability: grant.capabilities.includes(use.capability),
})
const within = (narrow: ReturnType<typeof given>, wide: ReturnType<typeof given>) =>
  (Object.keys(narrow) as (keyof typeof narrow)[]).filter((power) => narrow[power] && !wide[power])

describe('a grant under a ceiling', () => {
  it('gives nothing that either does not give', () => {
    fc.assert(fc.property(anyGrant, anyGrant, anyUse, (grant, ceiling, use) => {
      const left = given(intersectGrant(grant, ceiling), use)
      expect(within(left, given(grant, use))).toEqual([])
      expect(within(left, given(ceiling, use))).toEqual([])
    }), { numRuns: 2_000 })
  })

  it('is itself under itself, and nothing under nothing', () => {
    fc.assert(fc.property(anyGrant, (grant) => {
      expect(intersectGrant(grant, grant)).toEqual(grant)
      expect(intersectGrant(grant, NO_GRANT)).toEqual(NO_GRANT)
      expect(intersectGrant(NO_GRANT, grant)).toEqual(NO_GRANT)
    }))
  })

  it('loses what the ceiling covers only in part', () => {
    const wide = compileGrant({ fs: { read: ['**'] } }, { workspace: ['/ws'] })
    expect(intersectGrant(wide, wide).fs.roots).toEqual(['/ws'])
    expect(intersectGrant(wide, compileGrant({ fs: { read: ['src/**'] } }, { workspace: ['/ws'] })).fs.read).toEqual([])
  })
})

describe('one requirement set within another', () => {
  it('asks for nothing that the other does not allow', () => {
    fc.assert(fc.property(anySet, anySet, anyUse, (asked, allowed, use) => {
      fc.pre(beyond(asked, allowed).length === 0)
      const grant = (set: RequirementSet) => given(compileGrant(set, { workspace: ['/ws'] }), use)
      expect(within(grant(asked), grant(allowed))).toEqual([])
    }), { numRuns: 500 })
  })

  it('lies within itself', () => {
    fc.assert(fc.property(anySet, (set) => {
      expect(beyond(set, set)).toEqual([])
    }))
  })

  it('says in words what lies outside', () => {
    expect(beyond({
      fs: { read: ['a', 'b'], write: ['a'] }, net: { hosts: ['x.test'] }, shell: [{ cmd: 'git' }, { cmd: 'ls' }],
      capabilities: ['interact'],
    }, { fs: { read: ['a'] }, shell: [{ cmd: 'ls' }] })).toEqual(['fs.read: b', 'fs.write: a', 'net: x.test', 'shell: git',
      'capability: interact'])
  })

  it('takes every spelling of one pattern for the same', () => {
    expect(beyond({ fs: { read: ['src/a', './src//b', '{workspace}/src/c'] } }, { fs: { read: ['{workspace}/src/**'] } }))
      .toEqual([])
    expect(beyond({ fs: { read: ['src/a'] } }, { fs: { read: ['{user-data}/**', '{ad-hoc}'] } })).toEqual(['fs.read: src/a'])
    expect(beyond({ fs: { read: ['{workspace}/**'] } }, { fs: { read: ['.'] } })).toEqual([])
  })

  it('is covered by nothing that cannot be read, and never throws', () => {
    expect(beyond({ fs: { read: ['../up'] } }, { fs: { read: ['**', '../up'] } })).toEqual(['fs.read: ../up'])
    expect(beyond({ fs: { read: ['a'] } }, { fs: { read: ['{typo}/**'] } })).toEqual(['fs.read: a'])
  })
})

describe('hosts', () => {
  it.each<[string, string, boolean]>([
    ['x.test', 'x.test', true],
    ['x.test', 'a.x.test', false],
    ['*.x.test', 'a.x.test', true],
    ['*.x.test', 'b.a.x.test', true],
    ['*.x.test', '*.a.x.test', true],
    ['*.x.test', 'x.test', false],
    ['*.x.test', 'evilx.test', false],
    ['*.x.test', '.x.test', false],
    ['x.test', '*.x.test', false],
    ['x.test', 'x.test:8080', false],
    ['x.test', 'x.test:443', true],
    ['x.test', 'x.test:80', true],
    ['*', 'x.test', true],
    ['*', '*.x.test', true],
    ['*', 'x.test:8080', false],
    ['*:8080', 'x.test:8080', true],
    ['*', '127.0.0.1', false],
    ['*', '127.0.0.1.x.test', true],
    ['*.0.0.1', '127.0.0.1', false],
    ['[::1]:8080', '[::1]:8080', true],
    ['*', '[::1]', false],
    ['x.test:80', 'x.test:80', true],
    ['x.test:80', 'x.test:8080', false],
    ['x.test:80', 'x.test', false],
    ['*.x.test:80', 'a.x.test:80', true],
    ['x.test', 'X.TEST', false],
    ['x.test', 'x.test.', false],
    ['x.test', '[::1]:80', false],
    ['x.test', 'x.test:80:90', false],
    ['x.test', 'x.test:', false],
    ['x.test', 'a:x.test', false],
    ['a:x.test', 'x.test', false],
    ['a:x.test', 'a:x.test', false],
  ])('%s over %s: %s', (wide, narrow, covers) => {
    expect(hostCovers(wide, narrow)).toBe(covers)
    expect(hostMatches(['nothing.test', wide], narrow)).toBe(covers)
  })
})

it('matches a path against every pattern', () => {
  expect(pathMatches(['/a', '/b/**'], '/b/c')).toBe(matchGlob('/b/**', '/b/c'))
  expect(pathMatches([], '/a')).toBe(false)
})
