import type { Rule } from '@bulkhead/contract'
import { describe, expect, it, test } from 'vitest'
import { unknownNames } from '../../src/model/unknown-names.ts'
import { createWorld, sketchExtension, type ExtensionSketch } from '../twin/world.ts'

const TOOLS = { read: { mode: 'read' as const, gated: false }, search: {}, ship_track: {} }

test('a name that other products use for a tool is reported wherever the configuration uses it', () => {
  const { host } = createWorld({
    extensions: [{ layer: 'bundled', tools: TOOLS }],
    config: {
      mode: 'allowlist',
      rules: [
        { permission: 'read_file', pattern: '*', action: 'deny' },
        { permission: 'mcp:ship.track', pattern: '*', action: 'deny' },
      ],
      tools: { read_file: { enabled: false } }, allowlist: ['read_file:docs/*'], roles: { allow_read_file: false },
    },
  })
  expect(host.diagnostics.map(({ severity, code, path, cure }) => `${severity} ${code} ${path} ${cure}`)).toEqual([
    'warning ConfigInvalid /rules/0/permission Name "read".',
    'warning ConfigInvalid /rules/1/permission Name "ship_track".',
    'warning ConfigInvalid /tools/read_file Name "read".',
    'warning ConfigInvalid /allowlist/0 Name "read".',
    'warning ConfigInvalid /roles/allow_read_file Name "read".',
  ])
})

test('the path is the written one, also after invalid entries', () => {
  const config = {
    rules: [{ permission: 'read_file', pattern: '*', action: 'deny' as const }], allowlist: ['read_file'],
  }
  const nothing = new Set<string>()
  const known = {
    offered: new Set(['read']), tools: new Set(['read']), extensions: nothing, servers: nothing, sources: nothing,
    roles: nothing,
  }
  const found = unknownNames([{ layer: 'global', location: 'g', config, omitted: ['/rules/0', '/allowlist/0'] }], known)
  expect(found.map(({ path }) => path)).toEqual(['/rules/1/permission', '/allowlist/1'])
})

test('the options of open sessions are checked too', async () => {
  const { host } = createWorld({ extensions: [{ layer: 'bundled', tools: TOOLS }] })
  const session = await host.openSession({
    rules: [{ permission: 'read_file', pattern: '*', action: 'deny' }], roles: { allow_read_file: false },
  })
  const subagent = await session.openSubagent({
    rules: [
      { permission: 'fs.write', pattern: '*', action: 'deny' },
      { permission: 'read_file', pattern: '*', action: 'deny' },
    ],
  })
  expect(
    host.diagnostics.map(({ severity, location, path, cure }) => `${severity} ${location} ${path} ${cure}`),
  ).toEqual([
    `warning session ${session.id} /rules/0/permission Name "read".`,
    `warning session ${session.id} /roles/allow_read_file Name "read".`,
    `warning session ${subagent.id} /rules/1/permission Name "read".`,
  ])
  await session.close()
  expect(host.diagnostics).toEqual([])
})

test('a session that selects an unknown tool is reported, until the tool exists', async () => {
  const { host } = createWorld({ extensions: [{ layer: 'bundled', tools: TOOLS }] })
  const session = await host.openSession({ tools: ['read', 'read_file', 'ship', 're*', 'serach', 'sail*'] })
  const subagent = await session.openSubagent({ tools: ['sail'] })
  expect(
    host.diagnostics.map(
      ({ severity, location, path, message, cure }) => `${severity} ${location} ${path} ${message} ${cure}`,
    ),
  ).toEqual([
    `warning session ${session.id} /tools/4 No tool is called "serach" here, so the session is offered none for it. `
      + `Did you mean "search"?`,
    `warning session ${session.id} /tools/5 No tool is called "sail*" here, so the session is offered none for it. `
      + `Name it as \`host.tools()\` does.`,
    `warning session ${subagent.id} /tools/0 No tool is called "sail" here, so the session is offered none for it. `
      + `Name it as \`host.tools()\` does.`,
  ])
  expect([session, subagent].map((each) => each.tools().map(({ name }) => name))).toEqual([['read', 'ship_track'], []])
  await host.register([sketchExtension({ id: 'ship', tools: { sail: {} } }).descriptor])
  expect(host.diagnostics.map(({ path }) => path)).toEqual(['/tools/4'])
  expect([session, subagent].map((each) => each.tools().map(({ name }) => name))).toEqual([
    ['read', 'sail', 'ship_track'], ['sail'],
  ])
})

test('names of tools, capabilities, servers and disabled tools are not reported', async () => {
  const { host } = createWorld({
    extensions: [
      { layer: 'bundled', tools: TOOLS }, { id: 'hidden', tools: { hidden_tool: {} } },
    ],
    config: {
      rules: [
        'read', 'search', 're*', 'fs.write', '*', 'ship_sail', 'mcp:ship:sail', 'mcp:ship:*', 'mcp:quiet:anything',
        'quiet_tool', 'hidden_tool', 'web_search',
      ].map((permission) => ({ permission, pattern: '*', action: 'ask' as const })),
      mcp: { ship: { type: 'local', command: ['x'] }, quiet: { type: 'local', command: ['x'] } },
      tools: { search: { timeoutMs: 1_000 }, hidden_tool: { enabled: false }, quiet_tool: {} },
      extensions: { 'hidden': {}, 'mcp-quiet': {} },
      roles: {
        allow_read: true, allow_read_agent: true, allow_read_reviewer: false, allow_read_clerk: false,
        allow_ship_track: true,
      },
      policy: { identities: { 'hid*': {}, '@acme': {} }, scopes: { hidden: {} } },
    },
  })
  const session = await host.openSession({ role: 'reviewer' })
  await session.openSubagent({ role: 'clerk' })
  await session.close()
  const { descriptor } = sketchExtension({ id: 'mcp-ship', tools: { ship_sail: {} } })
  await host.register([
    { ...descriptor, server: { kind: 'mcp', name: 'ship', address: 'a', tools: new Map([['ship_sail', 'sail']]) } },
  ])
  expect(host.diagnostics).toEqual([])
})

test('an unknown name is reported with the nearest one', () => {
  const { host } = createWorld({
    extensions: [{ layer: 'bundled', id: 'weather', tools: { ...TOOLS, bash: {}, write: {} } }],
    config: {
      mode: 'allowlist',
      rules: ['wrtie', 'net', 'fs.wrtie', 'nothing-like-it', 'mcp:shp:sail', 'x_*'].map((permission) => ({
        permission, pattern: '*', action: 'deny' as const,
      })),
      tools: { bsh: { enabled: false } }, extensions: { wether: { enabled: false } }, allowlist: ['raed:docs'],
      roles: { allow_bsh: false, allow_bsh_reviewer: false },
      mcp: { ship: { type: 'local', command: ['x'] } },
      policy: { identities: { wether: {} }, scopes: { 'wether*': { lock: 'require' } } },
    },
  })
  expect(host.diagnostics.map(({ severity, code, path, cure }) => `${severity} ${code} ${path} ${cure}`)).toEqual([
    'warning ConfigInvalid /rules/0/permission Did you mean "write"?',
    'warning ConfigInvalid /rules/1/permission Did you mean "net.fetch"?',
    'warning ConfigInvalid /rules/2/permission Did you mean "fs.write"?',
    'warning ConfigInvalid /rules/3/permission Name it as `bulkhead tools` lists it, or remove the entry.',
    'warning ConfigInvalid /rules/4/permission Did you mean "mcp:ship"?',
    'warning ConfigInvalid /rules/5/permission Name it as `bulkhead tools` lists it, or remove the entry.',
    'warning ConfigInvalid /tools/bsh Did you mean "bash"?',
    'warning ConfigInvalid /allowlist/0 Did you mean "read"?',
    'warning ConfigInvalid /roles/allow_bsh Did you mean "bash"?',
    'warning ConfigInvalid /roles/allow_bsh_reviewer Did you mean "bash"?',
    'warning ConfigInvalid /extensions/wether Did you mean "weather"?',
    'warning ConfigInvalid /policy/identities/wether Did you mean "weather"?',
    'warning ConfigInvalid /policy/scopes/wether* Did you mean "weather"?',
  ])
})

test('a name of a tool that is not installed stays in force, and is not reported once it is installed', async () => {
  const { host, sandbox } = createWorld({ config: { rules: [{ permission: 'later', pattern: '*', action: 'deny' }] } })
  expect(host.diagnostics.map(({ path, message }) => `${path} ${message}`)).toEqual([
    '/rules/0/permission No tool is called "later" here, so this applies to nothing now. It stays in force for one '
      + 'that is installed later.',
  ])
  const { descriptor, module } = sketchExtension({ id: 'later', tools: { later: {} } })
  sandbox.add('global/later/1.0.0', module)
  await host.register([descriptor])
  expect(host.diagnostics).toEqual([])
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call({ id: 'c', name: 'later', arguments: {} })).toMatchObject({ error: { code: 'RuleDenied' } })
})

test('an unknown role is reported with the nearest one', async () => {
  const { host } = createWorld({
    extensions: [{ layer: 'bundled', tools: TOOLS }],
    config: { roles: { allow_read_agnet: false, allow_ship_track_guest: false } },
  })
  expect(host.diagnostics.map(({ path, message, cure }) => `${path} ${message} ${cure}`)).toEqual([
    '/roles/allow_read_agnet No session has the role "agnet", so this flag applies to none now. It stays in force '
      + 'for sessions that are opened with it later. '
      + 'Did you mean "allow_read_agent"?',
    expect.stringContaining('/roles/allow_ship_track_guest No session has the role "guest"'),
  ])
  await host.openSession({ role: 'guest' })
  expect(host.diagnostics.map(({ path }) => path)).toEqual(['/roles/allow_read_agnet'])
})

test('a pattern that is not one of hosts is reported', () => {
  const of = (permission: string, pattern: string) => ({ permission, pattern, action: 'deny' as const })
  const { host } = createWorld({
    extensions: [{ layer: 'bundled', tools: TOOLS }],
    config: {
      rules: [
        ...['api.*', 'https://api.example.com/v1', 'API.example.com', 'net.fetch.'].map((pattern) =>
          of('net.fetch', pattern),
        ),
        of('net', 'api.*'),
        ...['*', '**', 'api.example.com', '*.example.com', 'localhost:8080', '[::1]'].map((pattern) =>
          of('net.fetch', pattern),
        ),
        of('read', 'api.*'), of('fs.read', 'api.*'),
      ],
    },
  })
  const cure = 'Write api.example.com, *.example.com for every subdomain, localhost:8080 for a port, or *.'
  expect(
    host.diagnostics
      .filter(({ path }) => path.endsWith('pattern'))
      .map((found) => `${found.path} ${found.message} ${found.cure}`),
  ).toEqual([
    `/rules/0/pattern "api.*" is not a pattern of hosts, so this rule may not apply where it should. ${cure}`,
    `/rules/1/pattern "https://api.example.com/v1" is not a pattern of hosts, so this rule may not apply where it `
      + `should. Did you mean "api.example.com"? ${cure}`,
    `/rules/2/pattern "API.example.com" is not a pattern of hosts, so this rule may not apply where it should. Did `
      + `you mean "api.example.com"? ${cure}`,
    `/rules/3/pattern "net.fetch." is not a pattern of hosts, so this rule may not apply where it should. ${cure}`,
    `/rules/4/pattern "api.*" is not a pattern of hosts, so this rule may not apply where it should. ${cure}`,
  ])
})

describe('a rule for an unknown capability', () => {
  const NET = { fetcher: { requires: { net: { hosts: ['api.example.com', 'evil.example.com'] } } } }
  const FILES = { scribe: { requires: { fs: { read: ['docs/**'], write: ['docs/**'] } } } }
  const decide = async (rule: Rule, tools: NonNullable<ExtensionSketch['tools']>, name: string): Promise<unknown> => {
    const { host } = createWorld({ extensions: [{ tools }], config: { rules: [rule] } })
    const session = await host.openSession({ mode: 'yolo' })
    const { decision, chain } = await session.explain({ id: 'c', name, arguments: {} })
    const outcome = await session.call({ id: 'c', name, arguments: {} })
    return [
      decision, chain.find(({ stage }) => stage === 'rules')?.source,
      outcome.type === 'error' ? outcome.error.code : 'done',
    ]
  }
  const PLACE = '(/layers/global/config.json#/rules/0)'

  it.each([
    ['net', NET, 'fetcher'], ['net.ftech', NET, 'fetcher'], ['NET.fetch', NET, 'fetcher'], ['fs', FILES, 'scribe'],
    ['fs.wrtie', FILES, 'scribe'], ['fs.*', FILES, 'scribe'],
  ])('denies each use of all capabilities with its prefix: %s', async (permission, tools, name) => {
    expect(await decide({ permission, pattern: '*', action: 'deny' }, tools, name)).toEqual([
      'allow', `the rule "${permission} *" of ${PLACE.slice(1, -1)}`, 'done',
    ])
  })

  it('may have its own pattern', async () => {
    expect(await decide({ permission: 'net', pattern: 'other.example.com', action: 'deny' }, NET, 'fetcher')).toEqual([
      'allow', undefined, 'done',
    ])
    expect(await decide({ permission: 'net', pattern: 'evil.example.com', action: 'deny' }, NET, 'fetcher'))
      .toEqual(['allow', `the rule "net evil.example.com" of ${PLACE.slice(1, -1)}`, 'done'])
  })

  it('does not affect another family, and allows nothing', async () => {
    expect(await decide({ permission: 'shell', pattern: '*', action: 'deny' }, NET, 'fetcher')).toEqual([
      'allow', undefined, 'done',
    ])
    expect(await decide({ permission: 'net', pattern: '*', action: 'allow' }, NET, 'fetcher')).toEqual([
      'allow', undefined, 'done',
    ])
  })

  it('is a rule for a tool if one has the name', async () => {
    expect(await decide({ permission: 'net', pattern: '*', action: 'deny' }, { ...NET, net: {} }, 'fetcher')).toEqual([
      'allow', undefined, 'done',
    ])
    expect(await decide({ permission: 'net', pattern: '*', action: 'deny' }, { ...NET, net: {} }, 'net'))
      .toEqual(['deny', `user rule net * ${PLACE}`, 'RuleDenied'])
  })
})
