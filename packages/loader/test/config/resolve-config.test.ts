import { join } from 'node:path'
import { ceilingsOf } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { HomeFixture } from '../home-fixture.ts'

const configOf = (root: string) => join(root, 'config.json')

describe('merging', () => {
  async function merged(layers: { defaults?: object; global?: object; project?: object; overrides?: object }) {
    using home = new HomeFixture()
    if (layers.global) home.write(configOf(home.globalRoot), layers.global)
    if (layers.project) home.write(configOf(home.projectRoot), layers.project)
    const options = { ...(layers.defaults && { defaults: layers.defaults }) }
    return (await home.load(options, 'trusted', layers.overrides)).config.merged
  }

  test('a later layer overrides an earlier one', async () => {
    expect(await merged({ defaults: { mode: 'ask' } })).toEqual({ mode: 'ask' })
    expect(await merged({ defaults: { mode: 'ask' }, global: { mode: 'yolo' } })).toEqual({ mode: 'yolo' })
    expect(await merged({ global: { mode: 'yolo' }, project: { mode: 'ask' } })).toEqual({ mode: 'ask' })
    expect(
      await merged({ global: { mode: 'yolo' }, project: { mode: 'ask' }, overrides: { mode: 'allowlist' } }),
    ).toEqual({ mode: 'allowlist' })
  })

  test('concatenates rules and allowlists in layer order', async () => {
    const rule = (permission: string) => ({ permission, pattern: '*', action: 'deny' })
    expect(await merged({
      global: { rules: [rule('a')], allowlist: ['x'], packages: ['p'] },
      project: { rules: [rule('b')], packages: ['q'] },
      overrides: { rules: [rule('c')], allowlist: ['y'] },
    })).toEqual({ rules: [rule('a'), rule('b'), rule('c')], allowlist: ['x', 'y'], packages: ['q'] })
  })

  test('reports the pointers of omitted list entries', async () => {
    using home = new HomeFixture()
    home.write(configOf(home.globalRoot), {
      rules: [{ permission: 'a', action: 'allow', role: 'x' }, { permission: 'b', action: 'deny' }],
      allowlist: ['a', 7],
    })
    const { config: { layers } } = await home.load()
    expect(layers.find(({ layer }) => layer === 'global')?.omitted?.toSorted()).toEqual(['/allowlist/1', '/rules/0'])
    expect(layers.find(({ layer }) => layer === 'bundled')).not.toHaveProperty('omitted')
  })

  test('merges maps key by key', async () => {
    expect(
      await merged({
        global: {
          roles: { allow_a: true, allow_b: true }, tools: { t: { timeoutMs: 1, unit: 'c' } },
          isolation: { global: 'thread' }, limits: { heapMb: 1, phaseMs: 1 },
          extensions: { e: { isolation: 'process', config: { a: 1, b: { deep: 1 } }, limits: { heapMb: 1 } } },
          policy: { integrity: { global: 'warn' } }, approvals: { projectDays: 9, sessionMinutes: 9 },
        },
        project: {
          roles: { allow_b: false }, tools: { t: { enabled: false, city: 'f' }, u: {} },
          isolation: { project: 'process' }, limits: { heapMb: 2 },
          extensions: { e: { config: { b: { other: 2 }, c: 3 }, limits: { phaseMs: 3 } } },
          policy: { integrity: { project: 'require' } }, approvals: { projectDays: 3 },
        },
      }),
    ).toEqual({
      roles: { allow_a: true, allow_b: false },
      tools: { t: { timeoutMs: 1, unit: 'c', city: 'f', enabled: false }, u: {} },
      isolation: { global: 'thread', project: 'process' }, limits: { heapMb: 1, phaseMs: 1 },
      extensions: {
        e: { isolation: 'process', config: { a: 1, b: { deep: 1 }, c: 3 }, limits: { heapMb: 1, phaseMs: 3 } },
      },
      policy: { integrity: { global: 'warn', project: 'require' } }, approvals: { projectDays: 3, sessionMinutes: 9 },
    })
  })

  test('a variable that commands never get is left out alone, and the reason is reported', async () => {
    using home = new HomeFixture()
    home.write(configOf(home.globalRoot), {
      commands: { env: { pass: ['A', 'LD_PRELOAD'], set: { PATH: '/evil', B: '1' } } },
    })
    const { config: { merged: { commands } }, diagnostics } = await home.load()
    expect(commands).toEqual({ env: { pass: ['A'], set: { B: '1' } } })
    expect(diagnostics.map(({ severity, path, message }) => [severity, path, message])).toEqual([
      [
        'error', '/commands/env/pass/1',
        '/commands/env/pass/1 is wrong: LD_PRELOAD makes programs load or run other code, so commands never get it.',
      ],
      [
        'error', '/commands/env/set/PATH',
        '/commands/env/set/PATH is not a valid key: the host sets PATH for commands, and no configuration can change '
          + 'it.',
      ],
    ])
  })

  const key = { host: 'api.example', methods: ['GET' as const], paths: ['/v1/**'] }

  test('a project cannot name a key of commands', async () => {
    using home = new HomeFixture()
    home.write(configOf(home.globalRoot), { commands: { keys: { A: key } } })
    home.write(configOf(home.projectRoot), { commands: { keys: { A: { ...key, host: 'evil.example' }, B: key } } })
    const { config: { merged: { commands } } } = await home.load({}, 'trusted', { commands: { keys: { C: key } } })
    expect(commands).toEqual({ keys: { A: key, C: key } })
  })

  test('a name that is a key and a variable of commands is refused, and so is a key that cannot be one', async () => {
    using home = new HomeFixture()
    const keys = {
      A: key, B: key, C: key, LD_X: key, HTTPS_PROXY: key, D: { ...key, header: 'Host' },
      E: { ...key, host: '*.example' }, F: { host: 'a.example' }, G: key,
    }
    home.write(configOf(home.globalRoot), { commands: { env: { pass: ['A', 'X'], set: { B: '1', Y: '1' } }, keys } })
    const {
      config: {
        merged: { commands },
      },
      diagnostics,
    } = await home.load({}, 'trusted', { commands: { env: { pass: ['G', 'X'] } } })
    expect(commands).toEqual({ env: { pass: ['G', 'X'], set: { Y: '1' } }, keys: { C: key, G: key } })
    const paths = [
      'keys/A', 'env/pass/0', 'keys/B', 'env/set/B', 'keys/LD_X', 'keys/HTTPS_PROXY', 'keys/D/header', 'keys/E/host',
      'keys/F/methods', 'keys/F/paths', 'keys/G',
    ]
    expect(diagnostics.map(({ path }) => path).toSorted()).toEqual(paths.map((path) => `/commands/${path}`).toSorted())
    expect(diagnostics.find(({ path }) => path === '/commands/keys/A')?.message).toContain(
      'a variable is in env or in keys, not in both',
    )
    expect(diagnostics.find(({ path }) => path === '/commands/keys/G')?.message).toContain(
      'G is a key here, and in commands.env of another layer.',
    )
  })

  test('concatenates command patterns, and keeps the order of guards of the user', async () => {
    const pattern = (id: string) =>
      ({ id, label: 'l', description: 'd', pattern: 'x', category: 'c', severity: 'warning', platform: 'all' })
    expect(await merged({
      global: {
        watchdogs: { commandSafety: { patterns: [pattern('a')], severity: { shutdown: 'warning' } } },
        guards: { pre: ['a'], post: ['a'] },
      },
      project: {
        watchdogs: { commandSafety: { patterns: [pattern('b')], severity: { mkfs: 'critical' } } },
        guards: { pre: ['b'] },
      },
    })).toEqual({
      watchdogs: {
        commandSafety: { patterns: [pattern('a'), pattern('b')], severity: { shutdown: 'warning', mkfs: 'critical' } },
      },
      guards: { pre: ['a'], post: ['a'] },
    })
  })

  test('replaces servers as a whole', async () => {
    expect(
      await merged({
        global: {
          mcp: { s: { type: 'remote', url: 'https://mine.example', headers: { Authorization: { secret: 'TOKEN' } } } },
        },
        project: { mcp: { s: { type: 'remote', url: 'https://theirs.example' } } },
      }),
    ).toEqual({ mcp: { s: { type: 'remote', url: 'https://theirs.example' } } })
  })

  test('keeps every ceiling, because they apply together', async () => {
    using home = new HomeFixture()
    const ceilings = [{ net: { hosts: ['a.example'] } }, { fs: { read: ['**'] } }, { fs: { read: ['src/**'] } }]
    const files = [home.globalRoot, home.projectRoot].map((root, index) =>
      home.write(configOf(root), { policy: { ceiling: ceilings[index]! } }))
    const { config } = await home.load({}, 'trusted', { policy: { ceiling: ceilings[2]! } })
    expect(ceilingsOf(config)).toEqual(
      [...files, 'overrides'].map((location, index) => ({ location, ceiling: ceilings[index]! })),
    )
  })

  test('keeps a required OS sandbox and audit in later layers', async () => {
    expect(await merged({
      global: { sandbox: { os: 'require', idleMs: 1 } }, project: { sandbox: { os: 'auto', idleMs: 2 } },
    }))
      .toEqual({ sandbox: { os: 'require', idleMs: 1 } })
  })

  test('accepts names of inherited properties', async () => {
    const config = await merged(
      { global: { tools: { constructor: { timeoutMs: 1 } } }, project: { tools: { constructor: { enabled: false } } } },
    )
    expect(config.tools!['constructor']).toEqual({ timeoutMs: 1, enabled: false })
    expect(config.tools!['toString']).toBeUndefined()
  })
})

describe('faults and warnings', () => {
  test('warns about an allowlist without the allowlist mode', async () => {
    using home = new HomeFixture()
    const location = home.write(configOf(home.globalRoot), { allowlist: ['read'] })
    expect((await home.load()).diagnostics).toMatchObject([
      {
        severity: 'warning', stage: 'configSchema', code: 'AllowlistWithoutMode', layer: 'global', location,
        path: '/allowlist',
      },
    ])
    expect((await home.load({}, 'trusted', { mode: 'allowlist' })).diagnostics).toEqual([])
  })

  test('rejects a document URL, and an API key without a header', async () => {
    using home = new HomeFixture()
    const location = home.write(configOf(home.globalRoot), { openapi: {
      far: { document: 'https://harbour.example/openapi.json' }, near: { document: 'harbour.json' },
      keyed: { document: 'harbour.json', auth: { type: 'apiKey', secret: 'HARBOUR_KEY' } },
    } })
    const { diagnostics, config } = await home.load()
    expect(diagnostics).toMatchObject([
      {
        severity: 'error', code: 'ConfigInvalid', layer: 'global', location, path: '/openapi/far/document',
        message: expect.stringContaining('give the path of the file'),
      },
      { severity: 'error', code: 'ConfigInvalid', path: '/openapi/keyed/auth/header' },
    ])
    expect(Object.keys(config.merged.openapi ?? {})).toEqual(['near'])
  })

  test('rejects an unknown setting for signing in', async () => {
    using home = new HomeFixture()
    const harbour = { type: 'remote', url: 'https://harbour.example/mcp', oauth: { deviceFlow: true } }
    home.write(configOf(home.globalRoot), { mcp: { harbour } })
    const { diagnostics, config } = await home.load()
    expect(diagnostics).toMatchObject([
      { severity: 'error', code: 'ConfigInvalid', path: '/mcp/harbour/oauth/deviceFlow' },
    ])
    expect(config.merged.mcp ?? {}).toEqual({})
  })
})
