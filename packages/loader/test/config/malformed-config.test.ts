import { join } from 'node:path'
import type { ConfigFile, ErrorCode } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { HomeFixture } from '../home-fixture.ts'

const configOf = (root: string) => join(root, 'config.json')

interface Malformed {
  readonly name: string
  readonly config: string | object
  readonly path: string
  readonly message: RegExp
  readonly kept: ConfigFile
  readonly code?: ErrorCode
  /** A second path that is reported. */
  readonly also?: string
}

const DEPLOY = {
  id: 'deploy', label: 'Deploy', description: 'Goes live.', pattern: 'make deploy', category: 'work',
  severity: 'warning', platform: 'all',
} as const

const malformed: readonly Malformed[] = [
  { name: 'not JSON', config: '{ "mode": ', path: '', message: /is not JSON.*disabled/, kept: { toolsEnabled: false } },
  { name: 'not an object', config: '[]', path: '', message: /must contain an object/, kept: { toolsEnabled: false } },
  {
    name: 'a duplicate key', config: '{"mode":"ask","mode":"yolo"}', path: '/mode', message: /duplicate key/,
    kept: { toolsEnabled: false },
    code: 'DuplicateJsonKey',
  },
  {
    name: 'a __proto__ key', config: '{"tools":{"__proto__":{}}}', path: '/tools/__proto__', message: /__proto__/,
    kept: { toolsEnabled: false },
  },
  {
    name: 'an unknown key', config: { mode: 'ask', moode: 'yolo' }, path: '/moode',
    message: /not a known key; perhaps it is "mode"\.$/,
    kept: { mode: 'ask' },
  },
  {
    name: 'an unknown severity becomes critical',
    config: { watchdogs: { commandSafety: { severity: { mkfs: 'fine', shutdown: 'warning' } } } },
    path: '/watchdogs/commandSafety/severity/mkfs', message: /expected one of.*is "critical"\.$/,
    kept: { watchdogs: { commandSafety: { severity: { mkfs: 'critical', shutdown: 'warning' } } } },
  },
  {
    name: 'a command pattern without a severity becomes critical',
    config: { watchdogs: { commandSafety: { patterns: [{ ...DEPLOY, severity: 'fatal' }, DEPLOY] } } },
    path: '/watchdogs/commandSafety/patterns/0/severity',
    message: /expected one of.*patterns\/0 is \{"id":"deploy".*"severity":"critical"/,
    kept: { watchdogs: { commandSafety: { patterns: [{ ...DEPLOY, severity: 'critical' }, DEPLOY] } } },
  },
  {
    name: 'a command pattern with an unknown key matches all commands',
    config: { watchdogs: { commandSafety: { patterns: [{ ...DEPLOY, flags: 'i' }] } } },
    path: '/watchdogs/commandSafety/patterns/0/flags',
    message: /not a known key/,
    kept: { watchdogs: { commandSafety: { patterns: [{ ...DEPLOY, pattern: '^' }] } } },
  },
  {
    name: 'an unreadable command pattern matches all commands',
    config: { watchdogs: { commandSafety: { patterns: ['make deploy'] } } },
    path: '/watchdogs/commandSafety/patterns/0', message: /object/,
    kept: {
      watchdogs: {
        commandSafety: { patterns: [expect.objectContaining({ pattern: '^', severity: 'critical', platform: 'all' })] },
      },
    },
  },
  {
    name: 'command patterns that are not a list match all commands',
    config: { watchdogs: { commandSafety: { patterns: DEPLOY } } },
    path: '/watchdogs/commandSafety/patterns', message: /array/,
    kept: {
      watchdogs: { commandSafety: { patterns: [expect.objectContaining({ pattern: '^', severity: 'critical' })] } },
    },
  },
  {
    name: 'an unknown mode', config: { mode: 'sudo', toolsEnabled: false }, path: '/mode',
    message: /expected one of/,
    kept: { mode: 'ask', toolsEnabled: false },
  },
  {
    name: 'an invalid toolsEnabled disables all tools', config: { toolsEnabled: 'no', mode: 'ask' },
    path: '/toolsEnabled', message: /boolean.*all tools are disabled\.$/,
    kept: { mode: 'ask', toolsEnabled: false },
  },
  {
    name: 'a tool with an invalid `enabled` is disabled',
    config: { tools: { bash: { enabled: 'no', timeoutMs: 5 }, read: false } },
    path: '/tools/bash/enabled', also: '/tools/read', message: /boolean.*is false\.$/,
    kept: { tools: { bash: { enabled: false, timeoutMs: 5 }, read: { enabled: false } } },
  },
  {
    name: 'an extension with an invalid `enabled` is disabled', config: { extensions: { weather: { enabled: 'no' } } },
    path: '/extensions/weather/enabled', message: /boolean/, kept: { extensions: { weather: { enabled: false } } },
  },
  {
    name: 'an invalid role flag is false', config: { roles: { allow_bash: 'no', allow_read: true } },
    path: '/roles/allow_bash', message: /boolean/,
    kept: { roles: { allow_bash: false, allow_read: true } },
  },
  {
    name: 'an unknown value for the OS layer', config: { sandbox: { os: 'required' } }, path: '/sandbox/os',
    message: /expected one of/,
    kept: { sandbox: { os: 'require' } },
  },
  {
    name: 'unreadable rules', config: { rules: { bash: 'deny' } }, path: '/rules',
    message: /array.*all tools are disabled\.$/,
    kept: { toolsEnabled: false },
  },
  {
    name: 'an unreadable policy', config: { mode: 'ask', policy: 'require' }, path: '/policy',
    message: /object.*all tools are disabled\.$/,
    kept: { mode: 'ask', toolsEnabled: false },
  },
  {
    name: 'one invalid rule of two', path: '/rules/0/action',
    message: /expected one of/,
    config: {
      rules: [
        { permission: 'bash', action: 'denny' }, { permission: 'read', action: 'allow' },
      ],
    },
    kept: {
      rules: [
        { permission: 'bash', pattern: '*', action: 'deny' }, { permission: 'read', pattern: '*', action: 'allow' },
      ],
    },
  },
  {
    name: 'an allow rule with an invalid pattern is left out',
    config: { rules: [{ permission: 'bash', pattern: 5, action: 'allow' }] },
    path: '/rules/0/pattern', message: /string/, kept: { rules: [] },
  },
  {
    name: 'an unknown key in a rule', config: { rules: [{ permission: 'bash', action: 'ask', role: 'x' }] },
    path: '/rules/0/role', message: /not a known key.*\/rules\/0 is \{"permission":"bash","action":"ask"\}\.$/,
    kept: { rules: [{ permission: 'bash', pattern: '*', action: 'ask' }] },
  },
  {
    name: 'a deny rule for an unknown permission',
    config: { rules: [{ permision: 'bash', permission: 7, action: 'deny' }] },
    path: '/rules/0/permission', also: '/rules/0/permision', message: /string/,
    kept: { rules: [{ permission: '*', pattern: '*', action: 'deny' }] },
  },
  {
    name: 'one invalid entry of an allowlist', config: { mode: 'allowlist', allowlist: ['read', 7] },
    path: '/allowlist/1',
    message: /string/, kept: { mode: 'allowlist', allowlist: ['read'] },
  },
  {
    name: 'an unknown role flag', config: { roles: { bash: true, allow_bash: false } }, path: '/roles/bash',
    message: /a flag such as/, kept: { roles: { allow_bash: false } },
  },
  {
    name: 'an invalid timeout next to `enabled`',
    config: { tools: { bash: { enabled: false, timeoutMs: '5s' }, read: { timeoutMs: 5 } } },
    path: '/tools/bash/timeoutMs', message: /number/,
    kept: { tools: { bash: { enabled: false }, read: { timeoutMs: 5 } } },
  },
  {
    name: 'an invalid tool name', config: { tools: { 'a b': {}, 'read': {} } }, path: '/tools/a b', message: /key/,
    kept: { tools: { read: {} } },
  },
  {
    name: 'inline isolation for an extension',
    config: { extensions: { weather: { isolation: 'inline', enabled: false } } },
    path: '/extensions/weather/isolation',
    message: /expected one of/,
    kept: { extensions: { weather: { isolation: 'process', enabled: false } } },
  },
  {
    name: 'one invalid limit of two', config: { extensions: { weather: { limits: { heapMb: -1, memoryMb: 64 } } } },
    path: '/extensions/weather/limits/heapMb', message: /Too small/,
    kept: { extensions: { weather: { limits: { memoryMb: 64 } } } },
  },
  {
    name: 'an unknown limit', config: { limits: { heapGb: 1, heapMb: 64 } }, path: '/limits/heapGb',
    message: /not a known key/,
    kept: { limits: { heapMb: 64 } },
  },
  {
    name: 'an unknown layer', config: { isolation: { project: 'process', system: 'thread' } },
    path: '/isolation/system',
    message: /not a known key/,
    kept: { isolation: { project: 'process' } },
  },
  {
    name: 'an unreadable policy value becomes the strictest',
    config: { policy: { integrity: { global: 'requier', project: 'warn' } } }, path: '/policy/integrity/global',
    message: /expected one of/,
    kept: { policy: { integrity: { global: 'require', project: 'warn' } } },
  },
  {
    name: 'an unreadable ceiling allows nothing',
    config: { policy: { ceiling: { fs: { read: ['**'] }, net: { hosts: [5] } } } }, path: '/policy/ceiling/net/hosts/0',
    message: /string/, kept: { policy: { ceiling: {} } },
  },
  {
    name: 'a ceiling with an unknown variable allows nothing',
    config: { mode: 'ask', policy: { ceiling: { fs: { read: ['{home}/**'] } } } }, path: '/policy/ceiling',
    message: /unknown variable \{home\}/, kept: { mode: 'ask', policy: { ceiling: {} } },
  },
  {
    name: 'an unreadable signer pin matches no signer',
    config: { policy: { identities: { weather: { issuer: 5, ref: 'x' } } } },
    path: '/policy/identities/weather/issuer', message: /string/, kept: { policy: { identities: { weather: {} } } },
  },
  {
    name: 'a policy of the wrong type becomes the strictest', config: { policy: { signature: 'require' } },
    path: '/policy/signature', message: /object/,
    kept: { policy: { signature: { global: 'require', project: 'require' } } },
  },
  {
    name: 'one invalid server of two', config: { mcp: { a: { type: 'pigeon' }, b: { type: 'local', command: ['x'] } } },
    path: '/mcp/a/type', message: /must be "local" or "remote"\.$/,
    kept: { mcp: { b: { type: 'local', command: ['x'] } } },
  },
  {
    name: 'a secret in plain text',
    config: { mcp: { a: { type: 'remote', url: 'https://a.example', headers: { Authorization: 'Bearer abc' } } } },
    path: '/mcp/a/headers/Authorization', message: /object/, kept: { mcp: {} },
  },
  {
    name: 'approvals of zero days', config: { approvals: { projectDays: 0, sessionMinutes: 5 } },
    path: '/approvals/projectDays', message: /Too small/,
    kept: { approvals: { projectDays: 1, sessionMinutes: 5 } },
  },
  {
    name: 'a budget of zero', config: { budget: { tokens: 0, calls: 5 } }, path: '/budget/tokens', message: /Too small/,
    kept: { budget: { tokens: 1, calls: 5 } },
  },
  {
    name: 'a budget below zero', config: { budget: { tokens: 5, calls: -1 } }, path: '/budget/calls',
    message: /Too small/,
    kept: { budget: { tokens: 5, calls: 1 } },
  },
  {
    name: 'a deadline of years', config: { tools: { read: { timeoutMs: 1e12 }, grep: { timeoutMs: 5 } } },
    path: '/tools/read/timeoutMs', message: /Too big/, kept: { tools: { read: {}, grep: { timeoutMs: 5 } } },
  },
  {
    name: 'a thousand million spares', config: { sandbox: { spares: { process: 1e9, thread: 1 } } },
    path: '/sandbox/spares/process', message: /Too big/, kept: { sandbox: { spares: { thread: 1 } } },
  },
]

describe('a configuration with an invalid part', () => {
  test.each(malformed)('reports $name', async ({ config, path, message, kept, code = 'ConfigInvalid', also }) => {
    using home = new HomeFixture()
    const location = home.write(configOf(home.projectRoot), config)
    const report = await home.load()
    const errors = report.diagnostics.filter(({ severity }) => severity === 'error')
    expect(errors.map((error) => error.path)).toEqual(also === undefined ? [path] : [path, also])
    expect(errors[0]).toMatchObject(
      { severity: 'error', stage: 'configSchema', code, path, layer: 'project', extensionId: null, location },
    )
    expect(report.diagnostics[0]!.message).toMatch(message)
    expect(report.config.merged).toEqual(kept)
  })

  test('reports all faults at once', async () => {
    using home = new HomeFixture()
    home.write(
      configOf(home.globalRoot),
      { mode: 1, x: 1, rules: [{}, { permission: 'a', action: 'ask' }, 5], tools: { a: { enabled: 1 } } },
    )
    const { diagnostics, config } = await home.load()
    expect(diagnostics.map(({ path }) => path).toSorted()).toEqual(
      ['/mode', '/rules/0/action', '/rules/0/permission', '/rules/2', '/tools/a/enabled', '/x'],
    )
    const unread = { permission: '*', pattern: '*', action: 'deny' }
    expect(config.merged).toEqual({
      mode: 'ask', rules: [unread, { permission: 'a', pattern: '*', action: 'ask' }, unread],
      tools: { a: { enabled: false } },
    })
  })
})
