import { dirname } from 'node:path'
import type { ConfigFile, LayerConfig, McpServerConfig } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { grantHint, missingGrants, withGrantHint } from '../../../src/mcp/connecting/missing-grants.ts'
import { serverEntries, targetOf } from '../../../src/mcp/connecting/server-entry.ts'

type Servers = NonNullable<ConfigFile['mcp']>

const local = (more: Partial<Extract<McpServerConfig, { type: 'local' }>> = {}): McpServerConfig =>
  ({ type: 'local', command: ['ship', '--serve'], ...more })
const remote = (url: string, headers: Record<string, { secret: string }> = {}): McpServerConfig =>
  ({ type: 'remote', url, headers })

function entriesOf(layers: Partial<Record<LayerConfig['layer'], Servers>>) {
  return serverEntries({
    layers: Object.entries(layers).map(([layer, mcp]) => ({
      layer: layer as LayerConfig['layer'], location: `${layer}.json`, config: { mcp },
    })),
  })
}

it('reads layer, location and identity of a server', () => {
  const { entries, diagnostics } = entriesOf({
    global: { my_Ship: local() }, project: { harbour: remote('https://example.com/mcp?key=123') },
    embedder: { tug: local() },
  })
  expect(diagnostics).toEqual([])
  expect(entries).toMatchObject([
    { name: 'my_Ship', layer: 'global', location: 'global.json', extensionId: 'mcp-my-ship', address: 'ship --serve' },
    {
      name: 'harbour', layer: 'project', location: 'project.json', extensionId: 'mcp-harbour',
      address: 'https://example.com/mcp?…',
    },
    { name: 'tug', layer: 'global', location: 'embedder.json' },
  ])
})

it('changes the identity with command, variables, grants, URL and secrets', () => {
  const identityOf = (config: McpServerConfig) => entriesOf({ global: { ship: config } }).entries[0]!.identity
  expect(identityOf(local({ timeoutMs: 5 }))).toBe(identityOf(local()))
  expect(identityOf(local({ requires: { fs: { read: ['{workspace}/**'] } }, jail: true }))).toBe(identityOf(local()))
  expect(identityOf(local({ env: ['B', 'A'] }))).toBe(identityOf(local({ env: ['A', 'B'] })))
  const others = [
    local(), local({ command: ['ship', '--serve', '--all'] }), local({ env: ['A'] }), local({ jail: false }),
    local({ requires: { fs: {} } }), local({ requires: { fs: { read: ['/srv'] } } }),
    local({ requires: { fs: { write: ['/srv'] } } }), local({ requires: { net: { hosts: ['a.test'] } } }),
    remote('https://example.com/a'), remote('https://example.com/b'), remote('https://example.com/b?key=1'),
    remote('https://example.com/a', { 'x-key': { secret: 'KEY' } }),
  ]
  expect(new Set(others.map(identityOf)).size).toBe(others.length)
})

it('lets a project disable a server or shorten its timeout, but not change it', () => {
  const tightened = entriesOf({
    global: { ship: local({ timeoutMs: 100 }), tug: local() },
    project: { ship: local({ timeoutMs: 900 }), tug: local({ enabled: false, timeoutMs: 50 }) },
  })
  expect(tightened.diagnostics).toEqual([])
  expect(tightened.entries).toMatchObject([
    { name: 'ship', layer: 'global', config: { timeoutMs: 100 } },
    { name: 'tug', layer: 'global', config: { enabled: false, timeoutMs: 50 } },
  ])
  const replaced = entriesOf({
    global: { ship: local({ enabled: false }) }, project: { ship: local({ command: ['evil'] }) },
  })
  expect(replaced.entries).toMatchObject([{ layer: 'global', address: 'ship --serve', config: { enabled: false } }])
  expect(replaced.diagnostics).toMatchObject([
    { code: 'RegistrationConflict', layer: 'project', path: '/mcp/ship', location: 'project.json' },
  ])
  expect(
    entriesOf({ global: { ship: local({ enabled: false }) }, project: { ship: local({ enabled: true }) } }).entries,
  ).toMatchObject([{ config: { enabled: false } }])
})

it('lets options override configuration files', () => {
  expect(
    entriesOf({ embedder: { ship: local({ command: ['mine'] }) }, global: { ship: local({ enabled: false }) } })
      .entries,
  ).toMatchObject([{ address: 'mine', location: 'embedder.json' }])
})

it('rejects servers with similar names', () => {
  const { entries, diagnostics } = entriesOf({
    global: { my_ship: local() }, project: { 'my-ship': local({ command: ['evil'] }) },
  })
  expect(entries).toMatchObject([{ name: 'my_ship' }])
  expect(diagnostics).toMatchObject([{ code: 'RegistrationConflict', path: '/mcp/my-ship' }])
})

it.each([
  ['http://example.com/mcp', true], ['http://127.0.0.1.example.com/mcp', true], ['https://example.com/mcp', false],
  ['http://127.0.0.1:80/mcp', false],
  ['http://localhost:8/mcp', false], ['http://[::1]:8/mcp', false], ['https://me:word@example.com/mcp', true],
])('sending a secret to %s is rejected: %s', (url, refused) => {
  const { entries, diagnostics } = entriesOf({ global: { ship: remote(url, { authorization: { secret: 'TOKEN' } }) } })
  expect([entries.length, diagnostics.length]).toEqual(refused ? [0, 1] : [1, 0])
  if (refused) expect(diagnostics).toMatchObject([{ code: 'ConfigInvalid', path: '/mcp/ship' }])
})

it('grants absolute folders to a jail, and rejects folders outside its variables', () => {
  const around = { workspace: '/project', base: {}, env: () => undefined, userData: '/home/data' }
  const jail = { prepare: () => Promise.reject(new Error('not started')), findFault: async () => undefined }
  const grantOf = (more: Parameters<typeof local>[0]) => {
    const target = targetOf(entriesOf({ global: { ship: local(more) } }).entries[0]!, { ...around, jail })
    return target.type === 'local' ? target.jail?.grant : undefined
  }
  expect(grantOf({})).toEqual({ read: ['/project'], write: [], hosts: [] })
  expect(grantOf({ requires: { net: { hosts: ['a.test'] } } })).toEqual({
    read: ['/project'], write: [], hosts: ['a.test'],
  })
  expect(grantOf({ requires: { fs: { read: ['/srv/a/**', 'docs'], write: ['{user-data}/x'] } } }))
    .toEqual({ read: ['/srv/a', '/project/docs', '/home/data/x'], write: ['/home/data/x'], hosts: [] })
  expect(grantOf({ jail: false })).toBeUndefined()
  expect(() => targetOf(entriesOf({ global: { ship: local() } }).entries[0]!, around)).toThrow(/jail/)
  for (const path of ['../x', '{home}', '/srv/../etc']) {
    expect(entriesOf({ global: { ship: local({ requires: { fs: { read: [path] } } }) } }).diagnostics).toMatchObject([
      { code: 'ConfigInvalid' },
    ])
  }
})

it('takes keys from variables, grants their hosts, and refuses what would not keep them out', () => {
  const key = { host: 'api.acme.example', methods: ['GET' as const], paths: ['/v1/**'] }
  const jail = { prepare: () => Promise.reject(new Error('not started')), findFault: async () => undefined }
  const around = {
    workspace: '/project', base: {}, jail, env: (name: string) => (name === 'TOKEN' ? 'value-of-token' : undefined),
  }
  const targetWith = (more: Parameters<typeof local>[0]) =>
    targetOf(entriesOf({ global: { ship: local(more) } }).entries[0]!, around)
  expect(targetWith({ keys: { TOKEN: key } })).toMatchObject({
    env: {},
    jail: {
      grant: { hosts: ['api.acme.example:443'] },
      keys: [{ name: 'TOKEN', value: 'value-of-token', header: 'Authorization', ...key }],
    },
  })
  expect(targetWith({ keys: { TOKEN: key } })).not.toHaveProperty('env.TOKEN')
  expect(targetWith({ keys: { TOKEN: key }, requires: { net: { hosts: ['*.acme.example'] } } })).toMatchObject({
    jail: { grant: { hosts: ['*.acme.example'] } },
  })
  expect(() => targetWith({ keys: { OTHER: key } })).toThrow(/uses the key OTHER, and that variable is not set/)
  const refused = [{ jail: false }, { env: ['TOKEN'] }, { keys: { TOKEN: { ...key, header: 'Host' } } }]
  for (const more of refused) {
    expect(entriesOf({ global: { ship: local({ keys: { TOKEN: key }, ...more }) } }).diagnostics).toMatchObject([
      { code: 'ConfigInvalid' },
    ])
  }
  const identities = [{}, { keys: { TOKEN: key } }, { keys: { TOKEN: { ...key, paths: ['/**'] } } }]
    .map((more) => entriesOf({ global: { ship: local(more) } }).entries[0]!.identity)
  expect(new Set(identities).size).toBe(3)
})

it('names the grants that a command line lacks', () => {
  const found = (command: string[], more = {}) => missingGrants(
    entriesOf({ global: { ship: local({ command, ...more }) } }).entries[0]!,
    { workspace: import.meta.dirname, base: { PATH: '/usr/bin' }, env: () => undefined },
  ).map(({ message, cure, severity, code }) => `${severity} ${code} ${message} ${cure}`)
  const outside = dirname(import.meta.dirname)
  expect(found(['node', 'setup.ts', '/usr/lib', '/does/not/exist', 'https://a.test', '-x', process.execPath])).toEqual(
    [],
  )
  expect(found(['node', '..', `--root=${outside}`])).toEqual([
    `warning CapabilityDenied The MCP server "ship" runs in a jail and may not read "${outside}", which its `
    + 'command names. Add the folder to mcp.ship.requires.fs.read in the configuration.',
  ])
  expect(found(['node', '..'], { jail: false })).toEqual([])
  for (const command of [['npx', '-y', 'x'], ['/usr/bin/uvx', 'x'], ['pnpm', 'dlx', 'x'], ['uv', 'tool', 'run', 'x']]) {
    expect(found(command)).toEqual([expect.stringContaining('bulkhead mcp add ship -- ')])
    expect(found(command, { requires: { net: { hosts: ['*'] } } })).toEqual([])
  }
})

it('hints at the grant that an error of a jailed server suggests, and repeats nothing of it', () => {
  const entryOf = (config: object) => entriesOf({ global: { ship: local(config) } }).entries[0]!
  const hint = (text: string, config = {}) => grantHint(entryOf(config), text)
  expect(hint("ENOENT: open '/secret'")).toMatch(/^(?!.*secret).*mcp\.ship\.requires\.fs\.read/)
  expect(hint('getaddrinfo ENOTFOUND a.test')).toContain('requires.net.hosts')
  expect(hint('EROFS: read-only file system')).toContain('requires.fs.write')
  for (const text of [
    'TypeError: fetch failed', 'connect ECONNREFUSED 127.0.0.1:5432', 'getaddrinfo EAI_AGAIN a.test',
  ]) {
    expect(hint(text), text).toContain('requires.net.hosts')
  }
  // With a network, these have other reasons.
  const online = { requires: { net: { hosts: ['a.test'] } } }
  expect([hint('fetch failed', online), hint('ECONNREFUSED', online)]).toEqual([undefined, undefined])
  expect(hint('getaddrinfo ENOTFOUND b.test', online)).toContain('requires.net.hosts')
  expect([hint('no such ship'), hint('fetch failed', { jail: false })]).toEqual([undefined, undefined])
  const failed = (text: string) => ({ isError: true, content: [{ type: 'text', text }] })
  expect(withGrantHint(failed('EACCES'), hint)['content']).toHaveLength(2)
  expect(
    [failed('other'), { content: [{ type: 'text', text: 'EACCES' }] }].map((result) => withGrantHint(result, hint)),
  ).toEqual([failed('other'), { content: [{ type: 'text', text: 'EACCES' }] }])
})
