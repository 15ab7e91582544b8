import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigFile, ErrorCode } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { HomeFixture, manifestOf, toolOf } from './home-fixture.ts'

const configOf = (root: string) => join(root, 'config.json')

interface Malformed {
  readonly name: string
  readonly config: string | object
  readonly path: string
  readonly message: RegExp
  readonly kept: ConfigFile
  readonly code?: ErrorCode
}

const malformed: readonly Malformed[] = [
  { name: 'not JSON', config: '{ "mode": ', path: '', message: /is not JSON/, kept: {} },
  { name: 'not an object', config: '[]', path: '', message: /must hold an object/, kept: {} },
  { name: 'a key twice', config: '{"mode":"ask","mode":"yolo"}', path: '/mode', message: /twice/, kept: {}, code: 'DuplicateJsonKey' },
  { name: 'a prototype', config: '{"tools":{"__proto__":{}}}', path: '/tools/__proto__', message: /__proto__/, kept: {} },
  { name: 'an unknown key', config: { mode: 'ask', moode: 'yolo' }, path: '/moode', message: /not a known key/, kept: { mode: 'ask' } },
  { name: 'a mode that is none', config: { mode: 'sudo', toolsEnabled: false }, path: '/mode', message: /expected one of/, kept: { toolsEnabled: false } },
  { name: 'a wrong flag', config: { toolsEnabled: 'no', mode: 'ask' }, path: '/toolsEnabled', message: /boolean/, kept: { mode: 'ask' } },
  {
    name: 'one wrong rule of two', path: '/rules/0/action', message: /expected one of/,
    config: { rules: [{ permission: 'bash', action: 'denny' }, { permission: 'read', action: 'allow' }] },
    kept: { rules: [{ permission: 'read', pattern: '*', action: 'allow' }] },
  },
  {
    name: 'a rule with a wrong pattern goes as a whole, since without it it would allow more', path: '/rules/0/pattern', message: /string/,
    config: { rules: [{ permission: 'bash', pattern: 5, action: 'allow' }] }, kept: { rules: [] },
  },
  { name: 'an unknown key in a rule', config: { rules: [{ permission: 'bash', action: 'ask', role: 'x' }] }, path: '/rules/0/role', message: /not a known key/, kept: { rules: [] } },
  { name: 'one wrong entry of an allowlist', config: { mode: 'allowlist', allowlist: ['read', 7] }, path: '/allowlist/1', message: /string/, kept: { mode: 'allowlist', allowlist: ['read'] } },
  { name: 'a role flag that is none', config: { roles: { bash: true, allow_bash: false } }, path: '/roles/bash', message: /a flag such as/, kept: { roles: { allow_bash: false } } },
  {
    name: 'a wrong timeout beside a switch', config: { tools: { bash: { enabled: false, timeoutMs: '5s' }, read: { timeoutMs: 5 } } },
    path: '/tools/bash/timeoutMs', message: /number/, kept: { tools: { bash: { enabled: false }, read: { timeoutMs: 5 } } },
  },
  { name: 'a tool name that is none', config: { tools: { 'a b': {}, read: {} } }, path: '/tools/a b', message: /key/, kept: { tools: { read: {} } } },
  {
    name: 'a stranger inline', config: { extensions: { weather: { isolation: 'inline', enabled: false } } },
    path: '/extensions/weather/isolation', message: /expected one of/, kept: { extensions: { weather: { enabled: false } } },
  },
  {
    name: 'one wrong limit of two', config: { extensions: { weather: { limits: { heapMb: -1, memoryMb: 64 } } } },
    path: '/extensions/weather/limits/heapMb', message: /Too small/, kept: { extensions: { weather: { limits: { memoryMb: 64 } } } },
  },
  { name: 'an unknown limit', config: { limits: { heapGb: 1, heapMb: 64 } }, path: '/limits/heapGb', message: /not a known key/, kept: { limits: { heapMb: 64 } } },
  { name: 'a layer that is none', config: { isolation: { project: 'process', system: 'thread' } }, path: '/isolation/system', message: /not a known key/, kept: { isolation: { project: 'process' } } },
  {
    name: 'a policy that cannot be read is taken at its strictest', config: { policy: { integrity: { global: 'requier', project: 'warn' } } },
    path: '/policy/integrity/global', message: /expected one of/, kept: { policy: { integrity: { global: 'require', project: 'warn' } } },
  },
  {
    name: 'a ceiling that cannot be read allows nothing', config: { policy: { ceiling: { fs: { read: ['**'] }, net: { hosts: [5] } } } },
    path: '/policy/ceiling/net/hosts/0', message: /string/, kept: { policy: { ceiling: {} } },
  },
  {
    name: 'one wrong server of two', config: { mcp: { a: { type: 'pigeon' }, b: { type: 'local', command: ['x'] } } },
    path: '/mcp/a/type', message: /none of the allowed forms/, kept: { mcp: { b: { type: 'local', command: ['x'] } } },
  },
  {
    name: 'a secret written down', config: { mcp: { a: { type: 'remote', url: 'https://a.example', headers: { Authorization: 'Bearer abc' } } } },
    path: '/mcp/a/headers/Authorization', message: /object/, kept: { mcp: {} },
  },
  { name: 'a budget of nothing', config: { budget: { tokens: 0, calls: 5 } }, path: '/budget/tokens', message: /Too small/, kept: { budget: { calls: 5 } } },
]

describe('a configuration that is partly wrong', () => {
  test.each(malformed)('$name', async ({ config, path, message, kept, code = 'ConfigInvalid' }) => {
    using home = new HomeFixture()
    const location = home.write(configOf(home.projectRoot), config)
    const report = await home.load()
    expect(report.diagnostics).toHaveLength(1)
    expect(report.diagnostics[0]).toMatchObject({ severity: 'error', stage: 'configSchema', code, path, layer: 'project', extensionId: null, location })
    expect(report.diagnostics[0]!.message).toMatch(message)
    expect(report.config.merged).toEqual(kept)
  })

  test('says everything that is wrong at once', async () => {
    using home = new HomeFixture()
    home.write(configOf(home.globalRoot), { mode: 1, x: 1, rules: [{}, { permission: 'a', action: 'ask' }, 5], tools: { a: { enabled: 1 } } })
    const { diagnostics, config } = await home.load()
    expect(diagnostics.map(({ path }) => path).toSorted()).toEqual(['/mode', '/rules/0/action', '/rules/0/permission', '/rules/2', '/tools/a/enabled', '/x'])
    expect(config.merged).toEqual({ rules: [{ permission: 'a', pattern: '*', action: 'ask' }], tools: { a: {} } })
  })

  test('a file that cannot be read', async () => {
    using home = new HomeFixture()
    execFileSync('mkdir', ['-p', home.projectRoot])
    execFileSync('mkfifo', [configOf(home.projectRoot)])
    home.write(configOf(home.globalRoot), ' '.repeat(300_000))
    const { diagnostics } = await home.load()
    expect(diagnostics.map(({ code, message }) => [code, message])).toEqual([
      ['ConfigInvalid', 'config.json has 300000 bytes; 262144 are allowed.'], ['ConfigInvalid', 'config.json is not a plain file.'],
    ])
  })

  test('a person may link to their own settings, a project may not', async () => {
    using home = new HomeFixture()
    const dotfiles = home.write(join(home.base, 'dotfiles.json'), { mode: 'yolo' })
    symlinkSync(dotfiles, configOf(home.globalRoot))
    home.write(configOf(home.projectRoot), '')
    rmSync(configOf(home.projectRoot))
    symlinkSync(dotfiles, configOf(home.projectRoot))
    const { config, diagnostics } = await home.load()
    expect(config.layers.map(({ layer, config: own }) => [layer, own])).toEqual([['bundled', {}], ['global', { mode: 'yolo' }], ['project', {}]])
    expect(diagnostics).toMatchObject([{ code: 'ConfigInvalid', layer: 'project', message: 'config.json is a link.' }])
  })

  test('what the embedder passes is checked too; undefined is not passed', async () => {
    using home = new HomeFixture()
    const { config, diagnostics } = await home.load({}, 'trusted', { mode: undefined, toolsEnabled: false, surprise: 1 } as never)
    expect(config.merged).toEqual({ toolsEnabled: false })
    expect(diagnostics).toMatchObject([{ code: 'ConfigInvalid', path: '/surprise', location: 'overrides' }])
    const cyclic: Record<string, unknown> = {}
    cyclic['tools'] = cyclic
    expect((await home.load({}, 'trusted', cyclic)).diagnostics).toMatchObject([{ code: 'ConfigInvalid', path: '/tools/tools' }])
  })
})

describe('merging', () => {
  async function merged(layers: { defaults?: object; global?: object; project?: object; overrides?: object }) {
    using home = new HomeFixture()
    if (layers.global) home.write(configOf(home.globalRoot), layers.global)
    if (layers.project) home.write(configOf(home.projectRoot), layers.project)
    return (await home.load({ ...(layers.defaults && { defaults: layers.defaults }) }, 'trusted', layers.overrides)).config.merged
  }

  test('the later layer has the say', async () => {
    expect(await merged({ defaults: { mode: 'ask' } })).toEqual({ mode: 'ask' })
    expect(await merged({ defaults: { mode: 'ask' }, global: { mode: 'yolo' } })).toEqual({ mode: 'yolo' })
    expect(await merged({ global: { mode: 'yolo' }, project: { mode: 'ask' } })).toEqual({ mode: 'ask' })
    expect(await merged({ global: { mode: 'yolo' }, project: { mode: 'ask' }, overrides: { mode: 'allowlist' } })).toEqual({ mode: 'allowlist' })
  })

  test('rules and allowlists of all layers count, in their order', async () => {
    const rule = (permission: string) => ({ permission, pattern: '*', action: 'deny' })
    expect(await merged({
      global: { rules: [rule('a')], allowlist: ['x'], packages: ['p'] }, project: { rules: [rule('b')], packages: ['q'] }, overrides: { rules: [rule('c')], allowlist: ['y'] },
    })).toEqual({ rules: [rule('a'), rule('b'), rule('c')], allowlist: ['x', 'y'], packages: ['q'] })
  })

  test('maps are merged key by key', async () => {
    expect(await merged({
      global: {
        roles: { allow_a: true, allow_b: true }, tools: { t: { timeoutMs: 1, unit: 'c' } }, isolation: { global: 'thread' }, limits: { heapMb: 1, phaseMs: 1 },
        extensions: { e: { isolation: 'process', config: { a: 1, b: { deep: 1 } }, limits: { heapMb: 1 } } }, policy: { integrity: { global: 'warn' } },
      },
      project: {
        roles: { allow_b: false }, tools: { t: { enabled: false, unit: 'f' }, u: {} }, isolation: { project: 'process' }, limits: { heapMb: 2 },
        extensions: { e: { config: { b: { other: 2 } }, limits: { phaseMs: 3 } } }, policy: { integrity: { project: 'require' } },
      },
    })).toEqual({
      roles: { allow_a: true, allow_b: false }, tools: { t: { timeoutMs: 1, unit: 'f', enabled: false }, u: {} },
      isolation: { global: 'thread', project: 'process' }, limits: { heapMb: 2, phaseMs: 1 },
      extensions: { e: { isolation: 'process', config: { a: 1, b: { other: 2 } }, limits: { heapMb: 1, phaseMs: 3 } } },
      policy: { integrity: { global: 'warn', project: 'require' } },
    })
  })

  test('a server and a ceiling are replaced as a whole', async () => {
    expect(await merged({
      global: { mcp: { s: { type: 'remote', url: 'https://mine.example', headers: { Authorization: { secret: 'TOKEN' } } } }, policy: { ceiling: { net: { hosts: ['a.example'] } } } },
      project: { mcp: { s: { type: 'remote', url: 'https://theirs.example' } }, policy: { ceiling: { fs: { read: ['**'] } } } },
    })).toEqual({ mcp: { s: { type: 'remote', url: 'https://theirs.example' } }, policy: { ceiling: { fs: { read: ['**'] } } } })
  })

  test('a name that every object has is a name like any other', async () => {
    const config = await merged({ global: { tools: { constructor: { timeoutMs: 1 } } }, project: { tools: { constructor: { enabled: false } } } })
    expect(config.tools!['constructor']).toEqual({ timeoutMs: 1, enabled: false })
    expect(config.tools!['toString']).toBeUndefined()
  })
})

describe('what deserves a look', () => {
  test('an allowlist that no mode consults', async () => {
    using home = new HomeFixture()
    const location = home.write(configOf(home.globalRoot), { allowlist: ['read'] })
    expect((await home.load()).diagnostics).toMatchObject([
      { severity: 'warning', stage: 'configSchema', code: 'AllowlistWithoutMode', layer: 'global', location, path: '/allowlist' },
    ])
    expect((await home.load({}, 'trusted', { mode: 'allowlist' })).diagnostics).toEqual([])
  })

  test('keys that nothing acts on', async () => {
    using home = new HomeFixture()
    home.write(configOf(home.globalRoot), { packages: ['some-package'], policy: { update: { widening: 'refuse' } } })
    expect((await home.load()).diagnostics.map(({ severity, path }) => [severity, path])).toEqual([['warning', '/packages'], ['warning', '/policy/update/widening']])
  })
})

describe('the configuration of an extension', () => {
  const configSchema = {
    type: 'object', additionalProperties: false, required: ['base'],
    properties: { base: { type: 'string', format: 'uri' }, days: { type: 'integer', maximum: 10 }, code: { type: 'string', pattern: '^(a+)+$' } },
  }
  const manifest = manifestOf({ configSchema, tools: [toolOf()] })
  const base = 'https://api.example'

  test.each([
    ['fits', { extensions: { weather: { config: { base, days: 3 } } } }, undefined],
    ['is not there and must be', {}, '/extensions/weather/config/base'],
    ['is of another type', { extensions: { weather: { config: { base, days: '3' } } } }, '/extensions/weather/config/days'],
    ['has an unknown key', { extensions: { weather: { config: { base, dayz: 3 } } } }, '/extensions/weather/config/dayz'],
    ['breaks a format', { extensions: { weather: { config: { base: 'nowhere at all' } } } }, '/extensions/weather/config/base'],
    ['fits for a tool, over that of the extension', { extensions: { weather: { config: { base } } }, tools: { forecast: { days: 3, timeoutMs: 5, enabled: true } } }, undefined],
    ['is wrong for a tool', { extensions: { weather: { config: { base } } }, tools: { forecast: { days: 30 } } }, '/tools/forecast/days'],
    ['is unknown for a tool', { extensions: { weather: { config: { base } } }, tools: { forecast: { dayz: 3 } } }, '/tools/forecast/dayz'],
    ['is of another tool', { extensions: { weather: { config: { base } } }, tools: { other: { dayz: 3 } } }, undefined],
  ])('%s', async (_, config, path) => {
    using home = new HomeFixture()
    const folder = home.extension(home.globalRoot, 'weather', manifest)
    const location = home.write(configOf(home.projectRoot), config)
    const { extensions, diagnostics } = await home.load()
    expect(extensions).toHaveLength(path === undefined ? 1 : 0)
    expect(diagnostics).toMatchObject(path === undefined ? [] : [{
      stage: 'configSchema', code: 'ConfigSchemaViolation', extensionId: 'weather', path,
      location: Object.keys(config).length === 0 ? folder : location,
    }])
  })

  test('a pattern that would take for ever takes no time', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather', manifest)
    const { diagnostics } = await home.load({}, 'trusted', { extensions: { weather: { config: { base, code: `${'a'.repeat(100_000)}!` } } } })
    expect(diagnostics).toMatchObject([{ code: 'ConfigSchemaViolation', path: '/extensions/weather/config/code', location: 'overrides' }])
  })
})
