import { describe, expect, it } from 'vitest'
import { canonicalPattern, checkRequirements, hasEffects, matchArguments } from '../src/policy/requirements.ts'
import { REQUIREMENT_VARIABLES } from '../src/model/names.ts'
import { requirementSet, type RequirementSet } from '../src/validation/requirements.ts'
import { compileGrant, NO_GRANT } from '../src/policy/power.ts'

const reading = (...read: string[]): RequirementSet => ({ fs: { read } })
const values = { workspace: ['/ws', '/more'], 'ad-hoc': [], 'user-data': ['/'] }

describe('variables of path patterns', () => {
  it('have these names', () => {
    expect(REQUIREMENT_VARIABLES).toEqual(['workspace', 'ad-hoc', 'user-data'])
  })

  it.each<[string, readonly string[]]>([
    ['{workspace}/src/**', ['/ws/src/**', '/more/src/**']],
    ['src/**', ['/ws/src/**', '/more/src/**']],
    ['{workspace}', ['/ws', '/more']],
    ['{workspace}/', ['/ws', '/more']],
    ['.', ['/ws', '/more']],
    ['./a//b/./c', ['/ws/a/b/c', '/more/a/b/c']],
    ['{user-data}/cache', ['/cache']],
    ['{user-data}', ['/']],
    ['{ad-hoc}/**', []],
  ])('expand %s', (pattern, paths) => {
    expect(compileGrant(reading(pattern), values).fs.read).toEqual(paths)
  })

  it('without a value expand to nothing', () => {
    expect(compileGrant({ fs: { read: ['{user-data}/**'], write: ['a'] } }, {}).fs).toEqual({ read: [], write: [] })
  })

  it('with a pattern as their value expand to nothing', () => {
    expect(compileGrant(reading('src'), { workspace: ['/ws*', '/ok'] }).fs).toMatchObject({
      read: ['/ws*/src', '/ok/src'], roots: ['/ws*', '/ok'],
    })
  })

  it.each([
    ['an unknown variable', '{workspce}/a'], ['an inherited name', '{constructor}/a'], ['no name', '{}/a'],
    ['a variable in the middle', 'a/{workspace}'],
    ['a variable followed by a name', '{workspace}a'], ['an absolute path', '/etc/passwd'],
    ['an absolute path after the variable', '{workspace}//etc'],
    ['a parent folder', '../a'], ['a parent folder after the variable', '{workspace}/a/../../b'],
    ['a parent folder at the end', 'a/..'],
    ['a back-slash', 'a\\b'],
    ['a NUL', 'a\0b'], ['a brace', 'a{b,c}'], ['a line break around a variable', '{work\nspace}/a'],
  ])('reject %s when the manifest is read', (_, pattern) => {
    for (const requires of [reading(pattern), { fs: { write: [pattern] } }]) {
      expect(() => checkRequirements(requires))
        .toThrow(expect.objectContaining({ code: 'RequirementInvalid', data: { pattern } }))
      expect(() => compileGrant(requires, values)).toThrow(expect.objectContaining({ code: 'RequirementInvalid' }))
    }
    expect(() => canonicalPattern(pattern)).toThrow(expect.objectContaining({ code: 'RequirementInvalid' }))
  })

  it('have one canonical spelling', () => {
    expect(['src/**', './src/**', '{workspace}/src/**', '{workspace}/src//**'].map(canonicalPattern))
      .toEqual(Array(4).fill('{workspace}/src/**'))
    expect(['.', '{workspace}', '{workspace}/'].map(canonicalPattern)).toEqual(Array(3).fill('{workspace}'))
  })

  it('accept a valid set', () => {
    expect(() => checkRequirements({ fs: { read: ['a..b/.../**', '{ad-hoc}/*'] }, net: { hosts: ['x.example'] } }))
      .not.toThrow()
  })
})

describe('a grant', () => {
  it('of an empty set is empty', () => {
    expect(compileGrant({}, values)).toEqual(NO_GRANT)
  })

  it('has the folders of its variables', () => {
    const requires: RequirementSet = { fs: { read: ['src/**', '{user-data}/x'], write: ['src/**', '{ad-hoc}/**'] } }
    expect(compileGrant(requires, values).fs.roots).toEqual(['/ws', '/more', '/'])
  })

  it('follows links up to the outer of two folders only, and starts commands there', () => {
    const nested = { workspace: ['/ws', '/lib', '/lib/part', '/ws/sub'], 'ad-hoc': ['/ws/notes.txt', '/other'] }
    const { fs } = compileGrant({ fs: { read: ['**', '{ad-hoc}'] } }, nested)
    expect(fs.read).toEqual(['/ws/**', '/lib/**', '/lib/part/**', '/ws/sub/**', '/ws/notes.txt', '/other'])
    expect(fs.roots).toEqual(['/ws', '/lib', '/other'])
    expect(fs.commandRoots).toEqual(['/lib'])
  })

  it('has the folder of {user-data} as it is, also in a workspace that is the home folder', () => {
    const home = { workspace: ['/home/ada'], 'user-data': ['/home/ada/.bulkhead/data'] }
    const { fs } = compileGrant({ fs: { read: ['**', '{user-data}/skills/**'] } }, home)
    expect(fs.roots).toEqual(['/home/ada', '/home/ada/.bulkhead/data'])
  })

  it('has hosts, commands and capabilities unchanged', () => {
    const requires: RequirementSet = { net: { hosts: ['a.example'] }, shell: [{ cmd: 'git', args: ['log'] }],
      capabilities: ['interact'] }
    expect(compileGrant(requires, values)).toEqual({
      ...NO_GRANT, fs: { ...NO_GRANT.fs, commandRoots: ['/more'] }, net: { hosts: ['a.example'] },
      shell: [{ cmd: 'git', args: ['log'] }], capabilities: ['interact'],
    })
  })
})

describe('the schema of a set', () => {
  it.each<[string, unknown]>([
    ['nothing', {}],
    ['everything', {
      fs: { read: ['**'], write: ['out'] },
      net: { hosts: ['api.example.com', '*.example.com', 'localhost:8080', '*', '[::1]:8080'] },
      shell: [
        { cmd: 'git' }, { cmd: 'g++', args: ['x', { wildcard: true }, { prefix: '--' }] },
        { cmd: '*', args: ['x', { rest: true }] },
      ],
      capabilities: ['interact', 'tools.call'],
    }],
  ])('accepts %s', (_, value) => {
    expect(requirementSet.safeParse(value).success).toBe(true)
  })

  it.each<[string, unknown, string]>([
    ['an unknown power', { gpu: true }, ''],
    ['an unknown key of fs', { fs: { delete: ['a'] } }, 'fs'],
    ['an empty pattern', { fs: { read: [''] } }, 'fs.read.0'],
    ['a host in upper case', { net: { hosts: ['API.example'] } }, 'net.hosts.0'],
    ['a URL for a host', { net: { hosts: ['https://a.example'] } }, 'net.hosts.0'],
    ['a star inside a host', { net: { hosts: ['a.*.example'] } }, 'net.hosts.0'],
    ['a command with a path', { shell: [{ cmd: '/bin/sh' }] }, 'shell.0.cmd'],
    ['a command with a space', { shell: [{ cmd: 'git log' }] }, 'shell.0.cmd'],
    ['a rest that is not last', { shell: [{ cmd: 'a', args: [{ rest: true }, 'x'] }] }, 'shell.0.args'],
    ['a wildcard that is false', { shell: [{ cmd: 'a', args: [{ wildcard: false }] }] }, 'shell.0.args.0'],
    ['an unknown capability', { capabilities: ['root'] }, 'capabilities.0'],
  ])('rejects %s', (_, value, path) => {
    const issues = requirementSet.safeParse(value).error?.issues.map((issue) => issue.path.join('.'))
    expect(issues).toEqual([path])
  })
})

describe('arguments of a command', () => {
  it.each<[string, Parameters<typeof matchArguments>[0], readonly string[], boolean]>([
    ['no patterns and no arguments', undefined, [], true],
    ['no patterns and one argument', undefined, ['a'], false],
    ['the same', ['log', '-1'], ['log', '-1'], true],
    ['another', ['log'], ['push'], false],
    ['one too many', ['log'], ['log', '-1'], false],
    ['one too few', ['log', '-1'], ['log'], false],
    ['another order', ['a', 'b'], ['b', 'a'], false],
    ['a wildcard for one', ['log', { wildcard: true }], ['log', 'anything at all'], true],
    ['a wildcard for none', ['log', { wildcard: true }], ['log'], false],
    ['a prefix', [{ prefix: '--format=' }], ['--format=%h'], true],
    ['a prefix alone', [{ prefix: '--a' }], ['--a'], true],
    ['another prefix', [{ prefix: '--a' }], ['-a'], false],
    ['a rest of none', ['log', { rest: true }], ['log'], true],
    ['a rest of several', ['log', { rest: true }], ['log', '-1', '--all'], true],
    ['less than what comes before a rest', ['log', { wildcard: true }, { rest: true }], ['log'], false],
    ['another before a rest', ['log', { rest: true }], ['push', '-1'], false],
    ['nothing but a rest', [{ rest: true }], [], true],
  ])('match as declared: %s', (_, patterns, args, matches) => {
    expect(matchArguments(patterns, args)).toBe(matches)
  })
})

describe('effects', () => {
  it.each<[string, RequirementSet, boolean]>([
    ['nothing', {}, false], ['reading files', reading('**'), false],
    ['questions', { capabilities: ['interact'] }, false],
    ['empty lists', { fs: { write: [] }, net: { hosts: [] }, shell: [] }, false],
    ['writing files', { fs: { write: ['a'] } }, true],
    ['network access', { net: { hosts: ['a.example'] } }, true], ['a command', { shell: [{ cmd: 'ls' }] }, true],
    ['calling tools', { capabilities: ['tools.call'] }, true],
  ])('are counted for %s: %s', (_, requires, effects) => {
    expect(hasEffects(requires)).toBe(effects)
  })

  it('are counted for variables and secrets of the extension', () => {
    expect(hasEffects({}, { env: ['TOKEN'] })).toBe(true)
    expect(hasEffects({}, { secrets: [{ name: 'TOKEN' }] })).toBe(true)
    expect(hasEffects(reading('**'), { env: [], secrets: [] })).toBe(false)
  })

  it.each([
    '{workspace}/.env', '{workspace}/.env.local', '{workspace}/app/.ENV', '**/.env*', '{workspace}/.*',
    '{ad-hoc}/*.local', '{workspace}/.ssh/id_rsa', '{workspace}/**/.aws', '.config/gcloud/**', '{workspace}/.config/**',
    '{workspace}/.config/gh', '{workspace}/.npmrc', '.git-*',
  ])('are counted for reading %s, which names files with credentials', (pattern) => {
    expect(hasEffects(reading(pattern))).toBe(true)
  })

  it.each([
    '**', '{workspace}', '{workspace}/**', '{workspace}/*', '{workspace}/src/**', '**/*.md', '**/*.json',
    '{workspace}/environment', '{workspace}/.config/app.json',
    '{workspace}/.github/**',
  ])('are not counted for reading %s', (pattern) => {
    expect(hasEffects(reading(pattern))).toBe(false)
  })
})
