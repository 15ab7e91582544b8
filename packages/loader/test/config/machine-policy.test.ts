import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigFile, LayerConfig } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { mergeLayers } from '../../src/config/merge-layers.ts'
import { settingOrigins } from '../../src/config/setting-origins.ts'
import { HomeFixture } from '../home-fixture.ts'

const layer = (name: LayerConfig['layer'], config: ConfigFile): LayerConfig => ({ layer: name, location: name, config })
const merged = (user: ConfigFile, machine: ConfigFile) =>
  mergeLayers([layer('global', user), layer('embedder', user), layer('machine', machine)])

const KEY = { host: 'a.example', methods: ['GET' as const], paths: ['/v1/x'] }

describe('the stricter value wins', () => {
  test.each<[string, ConfigFile, ConfigFile, ConfigFile]>([
    ['a mode', { mode: 'yolo' }, { mode: 'allowlist' }, { mode: 'allowlist' }],
    ['a stricter mode of the user', { mode: 'ask' }, { mode: 'allowlist' }, { mode: 'ask' }],
    ['a mode that learns, for one that asks nothing', { mode: 'yolo' }, { mode: 'learn' }, { mode: 'learn' }],
    ['a mode that asks, where others may learn', { mode: 'ask' }, { mode: 'learn' }, { mode: 'ask' }],
    ['the default mode', {}, { mode: 'allowlist' }, {}],
    [
      'a disabled tool', { tools: { bash: { enabled: true, timeoutMs: 5 } } }, { tools: { bash: { enabled: false } } },
      { tools: { bash: { enabled: false, timeoutMs: 5 } } },
    ],
    [
      'approvals', { approvals: { projectDays: 90, sessionMinutes: 5 } },
      { approvals: { projectDays: 60, sessionMinutes: 9 } }, { approvals: { projectDays: 60, sessionMinutes: 5 } },
    ],
    [
      'approvals for projects', { approvals: { project: true } }, { approvals: { project: false } },
      { approvals: { project: false } },
    ],
    [
      'an update', { policy: { update: { widening: 'consent' } } }, { policy: { update: { widening: 'major' } } },
      { policy: { update: { widening: 'major' } } },
    ],
    [
      'a scope', { policy: { scopes: { a: { signature: 'require', widening: 'refuse' } } } },
      { policy: { scopes: { a: { lock: 'require', widening: 'major' } } } },
      { policy: { scopes: { a: { signature: 'require', lock: 'require', widening: 'refuse' } } } },
    ],
    [
      'proof of conformance', { policy: { conformance: { require: false, signers: [] } } },
      { policy: { conformance: { require: true } } },
      { policy: { conformance: { require: true, signers: [] } } },
    ],
    [
      'what commands see and get',
      { commands: { read: ['~/.pyenv/versions', '/srv'], env: { pass: ['A', 'B'], set: { C: 'user', D: 'user' } } } },
      { commands: { read: ['~/.pyenv'], env: { pass: ['B', 'E'], set: { C: 'machine' } } } },
      { commands: { read: ['~/.pyenv/versions'], env: { pass: ['B'], set: { C: 'machine', D: 'user' } } } },
    ],
    [
      'names for commands that no one asks for', {}, { commands: { read: ['/srv'], env: { pass: ['A'] } } },
      { commands: { env: {} } },
    ],
    [
      'keys of commands',
      {
        commands: {
          keys: {
            A: KEY, B: { ...KEY, methods: ['GET', 'PUT'] }, C: { ...KEY, host: 'b.example' }, D: KEY,
            E: { ...KEY, paths: ['/v2/x'] },
          },
        },
      },
      {
        commands: {
          keys: { A: { ...KEY, paths: ['/v1/**'], header: 'authorization' }, B: KEY, C: KEY, E: KEY, F: KEY },
        },
      },
      { commands: { keys: { A: KEY } } },
    ],
    ['keys that no one asks for', {}, { commands: { keys: { A: KEY } } }, { commands: {} }],
    [
      'the audit', { audit: { enabled: false } }, { audit: { enabled: true, require: true } },
      { audit: { enabled: true, require: true } },
    ],
    [
      'watchdogs', { watchdogs: { commandSafety: { enabled: false, severity: { mkfs: 'critical', sudo: 'off' } } } },
      { watchdogs: { commandSafety: { enabled: true, severity: { mkfs: 'warning', sudo: 'warning' } } } },
      { watchdogs: { commandSafety: { enabled: true, severity: { mkfs: 'critical', sudo: 'warning' } } } },
    ],
  ])('the stricter value applies: %s', (_, user, machine, expected) => expect(merged(user, machine)).toEqual(expected))

  test('a list that it shortened has its origin there', () => {
    const layers = [
      layer('global', { commands: { env: { pass: ['A', 'B'] } } }),
      layer('machine', { commands: { env: { pass: ['A'] } } }),
    ]
    const origins = settingOrigins({ merged: mergeLayers(layers), layers })
    expect(origins.map(({ layer: of, path, value }) => [of, path, value])).toEqual([
      ['machine', '/commands/env/pass', ['A']],
    ])
  })

  test('two ceilings apply together, and both have an origin', () => {
    const layers = [
      layer('global', { policy: { ceiling: { fs: { read: ['**'] } } } }),
      layer('machine', { policy: { ceiling: { net: { hosts: ['a.example'] } } } }),
    ]
    const config = { merged: mergeLayers(layers), layers }
    expect(settingOrigins(config).map(({ layer: of, value }) => [of, value])).toEqual([
      ['global', { fs: { read: ['**'] } }], ['machine', { net: { hosts: ['a.example'] } }],
    ])
  })
})

describe('the file', () => {
  const self = process.getuid?.() ?? 0
  async function load(content: object | string, change: (file: string) => void = () => undefined, owners = [0, self]) {
    using home = new HomeFixture()
    home.write(join(home.globalRoot, 'config.json'), {
      mode: 'yolo', policy: { scopes: { weather: { signature: 'off' } } },
    })
    const file = join(home.globalRoot, '../machine/policy.json')
    home.write(file, content)
    chmodSync(join(file, '..'), 0o755)
    change(file)
    const { globalRoot } = home
    const report = await home.load({ roots: { global: globalRoot, machine: { file, owners } } })
    return { ...report.config.merged, diagnostics: report.diagnostics.filter(({ location }) => location === file) }
  }

  test('restricts the configuration of the user', async () => {
    expect(await load({ mode: 'ask', policy: { signature: { global: 'require' } } })).toMatchObject({
      mode: 'ask', diagnostics: [],
    })
  })

  test('is not needed', async () => {
    using home = new HomeFixture()
    const roots = { global: home.globalRoot, machine: { file: join(home.globalRoot, 'none/policy.json'), owners: [0] } }
    expect((await home.load({ roots })).config.layers.map((one) => one.layer)).not.toContain('machine')
  })

  type Case = [
    name: string, content: object | string, change: ((file: string) => void) | undefined, message: RegExp,
    owners?: number[],
  ]
  test.each<Case>([
    [
      'is not JSON', '{', undefined,
      /^The policy of this machine .*\. All tools are disabled until an administrator fixes this\.$/,
    ],
    [
      'has an unknown key', { mods: 'ask' }, undefined,
      /^\/mods is not a known key; perhaps it is "mode", in the policy of this machine\./,
    ],
    ['has a key that only loosens', { allowlist: ['bash'] }, undefined, /^\/allowlist is not a known key/],
    ['has a value that loosens', { mode: 'yolo' }, undefined, /^\/mode is wrong/],
    [
      'has a rule that allows', { rules: [{ permission: 'bash', action: 'allow' }] }, undefined,
      /^\/rules\/0\/action is wrong/,
    ],
    ['has an invalid ceiling', { policy: { ceiling: { fs: { read: ['/{nope}'] } } } }, undefined, /^\/policy\/ceiling/],
    [
      'is writable by others', {}, (file) => chmodSync(file, 0o666),
      /cannot be trusted: ".*policy\.json" is writable by other users; run chmod go-w on it/,
    ],
    [
      'is in a folder that others can write', {}, (file) => chmodSync(join(file, '..'), 0o777),
      /cannot be trusted: ".*machine" is writable by other users/,
    ],
    ['belongs to another user', {}, undefined, /cannot be trusted: ".*" belongs to another user/, [self + 1]],
  ])('that %s disables all tools', async (_, content, change, message, owners) => {
    expect(await load(content, change, owners)).toMatchObject({
      toolsEnabled: false,
      diagnostics: [{ severity: 'error', code: 'ConfigInvalid', message: expect.stringMatching(message) }],
    })
  })
})
