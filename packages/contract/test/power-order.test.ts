import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchGlob } from '@bulkhead/kit/glob'
import { hostCovers, hostMatches } from '@bulkhead/kit/hosts'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import {
  compileCeiling, compileGrant, declaredCeiling, declaredPower, NO_GRANT, type ExtensionPower, type Power,
} from '../src/policy/power.ts'
import type { ArgPattern, Ceiling, RequirementSet, ShellRequirement } from '../src/validation/requirements.ts'
import { allowedPatterns, beyond, narrowPower, powerItems } from '../src/policy/power-order.ts'
import { commandText, matchArguments } from '../src/policy/requirements.ts'

const lines = (items: ReturnType<typeof beyond>) => items.map(({ kind, subject }) => `${kind}: ${subject}`)
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
  fs: fc.record({ read: list(anyGlob), write: list(anyGlob) }), net: fc.record({ hosts: list(anyHost) }),
  shell: list(anyShell),
  capabilities: fc.subarray(['interact' as const, 'tools.call' as const]),
})
const NAMES = ['A', 'B'] as const
const anyExtension: fc.Arbitrary<ExtensionPower> = fc.record({
  env: fc.subarray([...NAMES]), state: fc.subarray(['one', 'two']),
  secrets: fc.subarray([...NAMES]).chain((names) => fc.tuple(...names.map((name) =>
    fc.record({ name: fc.constant(name), hosts: list(anyHost), commands: fc.subarray(['git', 'ls']) })))),
})
const VALUES = { workspace: ['/ws'] }
const anyGrant = fc.tuple(anySet, anyExtension).map(([set, extension]) => compileGrant(set, VALUES, extension))
const anyCeiling: fc.Arbitrary<Ceiling> = fc.tuple(
  anySet, fc.subarray([...NAMES]), fc.subarray([...NAMES]), fc.boolean(),
)
  .map(([set, env, secrets, state]) => ({ ...set, env, secrets, state }))

const anyUse = fc.record({
  path: fc.array(fc.constantFrom('a', 'b', 'ab', 'c'), { maxLength: 4 }).map((parts) => ['/ws', ...parts].join('/')),
  host: fc.constantFrom('x.test', 'a.x.test', 'b.a.x.test', 'x.test:80', 'a.x.test:80', 'a.x.test:81', 'y.test'),
  cmd: fc.constantFrom('git', 'ls'),
  args: fc.array(fc.constantFrom('a', 'ab', 'abc', 'b'), { maxLength: 2 }),
  capability: fc.constantFrom('interact' as const, 'tools.call' as const, 'subagents' as const),
  name: fc.constantFrom(...NAMES),
  owner: fc.constantFrom('one', 'two'),
})
type Use = typeof anyUse extends fc.Arbitrary<infer T> ? T : never

const runs = (shell: readonly ShellRequirement[], { cmd, args }: Use) =>
  shell.some((command) => (command.cmd === cmd || command.cmd === '*') && matchArguments(command.args, args))

/** Whether a power allows one use, as the broker checks it: by the power and each of its ceilings. */
function given(power: Power, use: Use) {
  const layers = [power, ...power.ceilings ?? []]
  const hosts = layers.every(({ net }) => hostMatches(net.hosts, use.host))
  const shell = layers.every((layer) => runs(layer.shell, use))
  const secret = power.secrets.find(({ name }) => name === use.name)
  return {
    read: layers.every(({ fs }) => fs.read.some((pattern) => matchGlob(pattern, use.path))),
    write: layers.every(({ fs }) => fs.write.some((pattern) => matchGlob(pattern, use.path))),
    host: hosts,
    shell,
    capability: power.capabilities.includes(use.capability),
    env: power.env.includes(use.name),
    sent: hosts && hostMatches(secret?.hosts ?? [], use.host),
    handed: shell && (secret?.commands ?? []).some((command) => command === use.cmd || command === '*'),
    state: power.state.includes(use.owner) || power.state.includes('*'),
  }
}
type Given = ReturnType<typeof given>
const within = (narrow: Given, wide: Given) => (Object.keys(narrow) as (keyof Given)[])
  .filter((power) => narrow[power] && !wide[power])

describe('a power under a ceiling', () => {
  it('allows exactly what both allow', () => {
    fc.assert(fc.property(anyGrant, anyCeiling, anyUse, (power, ceiling, use) => {
      const limit = compileCeiling(ceiling, VALUES)
      const [own, most] = [given(power, use), given(limit, use)]
      const both = Object.fromEntries(
        (Object.keys(own) as (keyof Given)[]).map((name) => [name, own[name] && most[name]]),
      )
      expect(given(narrowPower(power, limit), use)).toEqual(both)
    }), { numRuns: thoroughly(100, 3_000) })
  })

  it('lists entries, and a use must match all patterns of one entry', () => {
    fc.assert(fc.property(anyGrant, anyCeiling, anyCeiling, anyUse, (power, one, other, use) => {
      const narrowed = narrowPower(narrowPower(power, compileCeiling(one, VALUES)), compileCeiling(other, VALUES))
      const byText = new Map([narrowed, ...narrowed.ceilings ?? []].flatMap((layer) => layer.shell)
        .map((command) => [commandText(command), command]))
      const { read, write, hosts, shell } = allowedPatterns(narrowed)
      expect({
        read: read.some((all) => all.every((pattern) => matchGlob(pattern, use.path))),
        write: write.some((all) => all.every((pattern) => matchGlob(pattern, use.path))),
        host: hosts.some((all) => all.every((pattern) => hostCovers(pattern, use.host))),
        shell: shell.some((all) => all.every((text) => runs([byText.get(text)!], use))),
      }).toEqual(
        (({ read: reads, write: writes, host, shell: ran }) => ({ read: reads, write: writes, host, shell: ran }))(
          given(narrowed, use),
        ),
      )
    }), { numRuns: thoroughly(100, 3_000) })
  })

  it('allows nothing under an empty ceiling', () => {
    fc.assert(fc.property(anyGrant, (power) => {
      expect(powerItems(narrowPower(power, NO_GRANT))).toEqual([])
      expect(powerItems(narrowPower(NO_GRANT, power))).toEqual([])
    }))
  })

  it.each<[string, RequirementSet, Ceiling, readonly string[]]>([
    [
      'every host under one', { net: { hosts: ['*'] } }, { net: { hosts: ['docs.example.com'] } },
      ['net: docs.example.com'],
    ],
    [
      'one host under every', { net: { hosts: ['docs.example.com'] } }, { net: { hosts: ['*'] } },
      ['net: docs.example.com'],
    ],
    [
      'every command under one', { shell: [{ cmd: '*', args: [{ rest: true }] }] },
      { shell: [{ cmd: 'git', args: [{ rest: true }] }] }, ['shell: git …'],
    ],
    ['a folder under a folder in it', { fs: { read: ['**'] } }, { fs: { read: ['src/**'] } }, ['fs.read: src/**']],
    [
      'patterns of which neither covers the other', { fs: { read: ['**/*.ts'] } }, { fs: { read: ['src/**'] } },
      ['fs.read: **/*.ts within src/**'],
    ],
    [
      'arguments', { shell: [{ cmd: 'git', args: ['log', { rest: true }] }] },
      { shell: [{ cmd: '*', args: [{ wildcard: true }, '-1'] }] }, ['shell: git log … within * * -1'],
    ],
    [
      'patterns that cannot match both', { net: { hosts: ['a.example'] }, fs: { write: ['a'] } },
      { net: { hosts: ['b.example'] }, fs: { write: ['b'] } }, [],
    ],
  ])('is narrowed: %s', (_, requires, ceiling, left) => {
    expect(lines(powerItems(narrowPower(declaredPower(requires), declaredCeiling(ceiling))))).toEqual(left)
  })

  it('keeps the variables, secrets and state that the ceiling names', () => {
    const power = declaredPower({ net: { hosts: ['x.test'] } }, {
      env: ['A', 'B'], secrets: [{ name: 'S', hosts: ['x.test'] }, { name: 'T', hosts: ['x.test'] }], state: ['own'],
    })
    const under = (ceiling: Ceiling) => lines(powerItems(narrowPower(power, declaredCeiling(ceiling))))
    expect(under({ net: { hosts: ['*'] } })).toEqual(['net: x.test'])
    expect(under({ net: { hosts: ['*'] }, env: ['B'], secrets: ['T'], state: true })).toEqual([
      'net: x.test', 'env: B', 'secret: T to x.test', 'state: own',
    ])
    expect(under({ secrets: ['S'] })).toEqual([])
  })
})

describe('one power within another', () => {
  it('allows only what the other allows', () => {
    fc.assert(fc.property(anyGrant, anyGrant, anyCeiling, anyUse, (asked, allowed, ceiling, use) => {
      const limit = compileCeiling(ceiling, VALUES)
      const [less, least] = [narrowPower(asked, limit), narrowPower(allowed, limit)]
      for (const [one, other] of [[asked, allowed], [less, allowed], [less, least]] as const) {
        if (beyond(one, other).length === 0) expect(within(given(one, use), given(other, use))).toEqual([])
      }
    }), { numRuns: thoroughly(50, 1_500) })
  })

  it('is within itself, and under a ceiling is within itself and the ceiling', () => {
    fc.assert(fc.property(anyGrant, anyCeiling, (power, ceiling) => {
      const limit = compileCeiling(ceiling, VALUES)
      const narrowed = narrowPower(power, limit)
      expect(beyond(power, power)).toEqual([])
      expect(beyond(narrowed, narrowed)).toEqual([])
      expect(beyond(narrowed, power)).toEqual([])
    }))
  })

  it('lists what is outside', () => {
    const asked = declaredPower({
      fs: { read: ['a', 'b'], write: ['a'] }, net: { hosts: ['x.test'] }, shell: [{ cmd: 'git' }, { cmd: 'ls' }],
      capabilities: ['interact'],
    }, { env: ['A', 'B'], secrets: [{ name: 'S', hosts: ['x.test', 'y.test'], commands: ['git'] }], state: ['own'] })
    const allowed = declaredPower(
      { fs: { read: ['a'] }, shell: [{ cmd: 'ls' }] }, { env: ['A'], secrets: [{ name: 'S', hosts: ['*'] }] },
    )
    expect(lines(beyond(asked, allowed))).toEqual([
      'fs.read: b', 'fs.write: a', 'net: x.test', 'shell: git', 'capability: interact', 'env: B', 'secret: S to git',
      'state: own',
    ])
  })

  it('does not cover writing a protected place unless it names the place', () => {
    const writing = (...write: string[]) => declaredPower({ fs: { write } })
    expect(lines(beyond(writing('.git/config', 'a/.VSCode/**'), writing('**')))).toEqual([
      'fs.write: .git/config', 'fs.write: a/.VSCode/**',
    ])
    expect(beyond(writing('.git/hooks/x', 'src/**'), writing('.git/**', '**'))).toEqual([])
    expect(beyond(declaredPower({ fs: { read: ['.git/config'] } }), declaredPower({ fs: { read: ['**'] } })))
      .toEqual([])
  })

  it('compares patterns in any spelling', () => {
    const reading = (...read: string[]) => declaredPower({ fs: { read } })
    expect(beyond(reading('src/a', './src//b', '{workspace}/src/c'), reading('{workspace}/src/**'))).toEqual([])
    expect(lines(beyond(reading('src/a'), reading('{user-data}/**', '{ad-hoc}')))).toEqual(['fs.read: src/a'])
    expect(beyond(reading('{workspace}/**'), reading('.'))).toEqual([])
    expect(lines(beyond(reading('../up'), reading('**', '../up')))).toEqual(['fs.read: ../up'])
    expect(lines(beyond(reading('a'), reading('{typo}/**')))).toEqual(['fs.read: a'])
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
  ])('%s covers %s: %s', (wide, narrow, covers) => {
    expect(hostCovers(wide, narrow)).toBe(covers)
    expect(hostMatches(['nothing.test', wide], narrow)).toBe(covers)
  })
})
