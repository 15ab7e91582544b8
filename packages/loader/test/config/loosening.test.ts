import { configFileSchema } from '@bulkhead/contract/validation'
import type { ConfigFile } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { looseningSettings, withinWritten } from '../../src/config/loosening.ts'

const paths = (config: ConfigFile, below: ConfigFile = {}) => looseningSettings(config, below).map(({ path }) => path)

describe('lists a setting that loosens', () => {
  const cases: readonly (readonly [ConfigFile, ConfigFile, string])[] = [
    [{ mode: 'yolo' }, {}, '/mode'],
    [{ mode: 'allowlist' }, { mode: 'ask' }, '/mode'],
    [{ allowlist: ['bash:*'] }, {}, '/allowlist/0'],
    [{ rules: [{ permission: 'bash', pattern: '*', action: 'allow' }] }, {}, '/rules/0'],
    [{ roles: { allow_bash: true } }, {}, '/roles/allow_bash'],
    [{ tools: { bash: { enabled: true } } }, { tools: { bash: { enabled: false } } }, '/tools/bash/enabled'],
    [{ extensions: { weather: { isolation: 'thread' } } }, {}, '/extensions/weather/isolation'],
    [{ extensions: { weather: { config: { url: 'https://evil.example' } } } }, {}, '/extensions/weather/config/url'],
    [{ isolation: { project: 'thread' } }, {}, '/isolation/project'],
    [
      { policy: { signature: { project: 'off' } } }, { policy: { signature: { project: 'require' } } },
      '/policy/signature/project',
    ],
    [{ policy: { update: { widening: 'consent' } } }, {}, '/policy/update/widening'],
    [{ limits: { memoryMb: 4_096 } }, {}, '/limits/memoryMb'],
    [{ budget: { calls: 100 } }, { budget: { calls: 10 } }, '/budget/calls'],
    [{ audit: { enabled: false } }, {}, '/audit/enabled'],
    [{ search: { providers: [{ type: 'json', url: 'https://evil.example/{query}' }] } }, {}, '/search/providers'],
    [
      {
        search: {
          providers: [{ type: 'json', url: 'https://evil.example', query: { k: '{secret}' }, secret: 'BRAVE_KEY' }],
        },
      },
      { search: { providers: [{ type: 'brave', secret: 'BRAVE_KEY' }] } }, '/search/providers',
    ],
    [{ packages: ['evil'] }, {}, '/packages'],
  ]
  test.each(cases)('lists %j over %j', (config, below, path) => expect(paths(config, below)).toEqual([path]))
})

describe('does not list a setting that tightens or has no effect', () => {
  const cases: readonly (readonly [ConfigFile, ConfigFile])[] = [
    [{ mode: 'ask' }, { mode: 'yolo' }],
    [{ mode: 'yolo' }, { mode: 'yolo' }],
    [{ rules: [{ permission: 'bash', pattern: '*', action: 'deny' }] }, {}],
    [{ roles: { allow_bash: false } }, {}],
    [{ toolsEnabled: false, tools: { bash: { enabled: false } } }, {}],
    [{ isolation: { project: 'process' }, limits: { memoryMb: 64 }, budget: { calls: 5 } }, {}],
    [{ policy: { signature: { project: 'require' }, ceiling: { fs: { read: [] } } } }, {}],
    [{ policy: { ceiling: { fs: { read: ['**'] } } } }, { policy: { ceiling: { fs: { read: ['{workspace}/**'] } } } }],
    [{ audit: { enabled: true, require: true } }, {}],
    [{ commands: { read: ['~'], env: { pass: ['TOKEN'], set: { HTTPS_PROXY: 'http://evil.example' } } } }, {}],
    [{ audit: { require: false } }, { audit: { require: true } }],
    [{ policy: { conformance: { require: false, signers: [] } } }, { policy: { conformance: { require: true } } }],
  ]
  test.each(cases)('does not list %j over %j', (config, below) => expect(paths(config, below)).toEqual([]))
})

test('every configuration key is classified or listed', () => {
  const withoutEffect = new Set(['$schema', 'mcp', 'openapi', 'lsp', 'toolsEnabled', 'watchdogs', 'record'])
  const keys = Object.keys(configFileSchema.shape).filter((key) => !withoutEffect.has(key))
  for (const key of keys) expect(paths({ [key]: 'not known' } as never)).toEqual([`/${key}`])
})

describe('beside what the user wrote, a project', () => {
  const scope = (level: 'require' | 'off') => ({ policy: { scopes: { 'acme*': { signature: level } } } })
  test.each<[string, ConfigFile, ConfigFile]>([
    ['a looser mode', { mode: 'ask' }, { mode: 'yolo' }],
    ['entries for the allowlist of a mode', { mode: 'allowlist' }, { allowlist: ['bash'] }],
    ['a flag', { roles: { allow_bash: false } }, { roles: { allow_bash: true } }],
    ['a tool', { tools: { bash: { enabled: false } } }, { tools: { bash: { enabled: true } } }],
    ['an extension', { extensions: { e: { enabled: false } } }, { extensions: { e: { enabled: true } } }],
    ['a budget', { budget: { calls: 5 } }, { budget: { calls: 6 } }],
    ['a limit', { limits: { memoryMb: 64 } }, { limits: { memoryMb: 65 } }],
    ['a placement', { isolation: { global: 'process' } }, { isolation: { global: 'thread' } }],
    ['a policy', scope('require'), scope('off')],
    [
      'a pinned signer', { policy: { identities: { e: { issuer: 'a' } } } },
      { policy: { identities: { e: { issuer: 'b' } } } },
    ],
    ['the audit', { audit: { enabled: true } }, { audit: { enabled: false } }],
    [
      'a value of unknown effect', { extensions: { e: { config: { url: 'a' } } } },
      { extensions: { e: { config: { url: 'b' } } } },
    ],
    [
      'part of a value that is replaced as a whole', { extensions: { e: { config: { a: { b: 1 } } } } },
      { extensions: { e: { config: { a: { c: 1 } } } } },
    ],
  ])('does not set %s', (_, written, project) => {
    const { config, ignored } = withinWritten(project, written)
    expect(looseningSettings(config, written)).toEqual([])
    expect(ignored).toHaveLength(1)
    expect(withinWritten(project, {})).toEqual({ config: project, ignored: [] })
  })

  test.each<[string, ConfigFile, ConfigFile]>([
    ['a stricter mode', { mode: 'yolo' }, { mode: 'allowlist' }],
    ['a lower budget, and another one', { budget: { calls: 5 } }, { budget: { calls: 4, tokens: 9 } }],
    ['a ceiling of its own', { policy: { ceiling: {} } }, { policy: { ceiling: { fs: { read: ['**'] } } } }],
    [
      'rules, which are compared for each call', { rules: [] },
      { rules: [{ permission: '*', pattern: '*', action: 'allow' }] },
    ],
    [
      'its packages, servers and documents', { packages: ['a'], mcp: {} },
      { packages: ['b'], mcp: { s: { type: 'remote', url: 'https://a.example' } } },
    ],
    [
      'a requirement for a scope', { policy: { scopes: { a: { signature: 'require' } } } },
      { policy: { scopes: { a: { lock: 'require' } } } },
    ],
  ])('sets %s', (_, written, project) =>
    expect(withinWritten(project, written)).toEqual({ config: project, ignored: [] }),
  )
})
