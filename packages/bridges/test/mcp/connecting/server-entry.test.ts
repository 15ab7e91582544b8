import type { ConfigFile, LayerConfig, McpServerConfig } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { serverEntries } from '../../../src/mcp/connecting/server-entry.ts'

type Servers = NonNullable<ConfigFile['mcp']>

const local = (more: Partial<Extract<McpServerConfig, { type: 'local' }>> = {}): McpServerConfig =>
  ({ type: 'local', command: ['ship', '--serve'], ...more })
const remote = (url: string, headers: Record<string, { secret: string }> = {}): McpServerConfig =>
  ({ type: 'remote', url, headers })

function entriesOf(layers: Partial<Record<LayerConfig['layer'], Servers>>) {
  return serverEntries({ layers: Object.entries(layers).map(([layer, mcp]) => ({ layer: layer as LayerConfig['layer'], location: `${layer}.json`, config: { mcp } })) })
}

it('reads layer, location and identity of a server', () => {
  const { entries, diagnostics } = entriesOf({
    global: { my_Ship: local() }, project: { harbour: remote('https://example.com/mcp?key=123') },
    embedder: { tug: local() },
  })
  expect(diagnostics).toEqual([])
  expect(entries).toMatchObject([
    { name: 'my_Ship', layer: 'global', location: 'global.json', extensionId: 'mcp-my-ship', address: 'ship --serve' },
    { name: 'harbour', layer: 'project', location: 'project.json', extensionId: 'mcp-harbour', address: 'https://example.com/mcp?…' },
    { name: 'tug', layer: 'global', location: 'embedder.json' },
  ])
})

it('changes the identity with command, variables, URL and secrets', () => {
  const identityOf = (config: McpServerConfig) => entriesOf({ global: { ship: config } }).entries[0]!.identity
  expect(identityOf(local({ timeoutMs: 5 }))).toBe(identityOf(local()))
  expect(identityOf(local({ env: ['B', 'A'] }))).toBe(identityOf(local({ env: ['A', 'B'] })))
  const others = [
    local(), local({ command: ['ship', '--serve', '--all'] }), local({ env: ['A'] }),
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
  expect(entriesOf({ global: { ship: local({ enabled: false }) }, project: { ship: local({ enabled: true }) } }).entries).toMatchObject([{ config: { enabled: false } }])
})

it('lets options override configuration files', () => {
  expect(entriesOf({ embedder: { ship: local({ command: ['mine'] }) }, global: { ship: local({ enabled: false }) } }).entries)
    .toMatchObject([{ address: 'mine', location: 'embedder.json' }])
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
