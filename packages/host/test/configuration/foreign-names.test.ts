import { expect, test } from 'vitest'
import { foreignNames } from '../../src/configuration/foreign-names.ts'
import { createWorld, sketchExtension } from '../twin/world.ts'

const TOOLS = { read: { mode: 'read' as const, gated: false }, search: {}, ship_track: {} }

test('a name that others have for a tool is pointed out wherever the configuration uses it', () => {
  const { host } = createWorld({
    extensions: [{ layer: 'bundled', tools: TOOLS }],
    config: {
      mode: 'allowlist',
      rules: [{ permission: 'read_file', pattern: '*', action: 'deny' }, { permission: 'mcp:ship.track', pattern: '*', action: 'deny' }],
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

test('the place is the one that was written, also after entries that could not be read', () => {
  const config = { rules: [{ permission: 'read_file', pattern: '*', action: 'deny' as const }], allowlist: ['read_file'] }
  const found = foreignNames([{ layer: 'global', location: 'g', config, omitted: ['/rules/0', '/allowlist/0'] }], (name) => name === 'read')
  expect(found.map(({ path }) => path)).toEqual(['/rules/1/permission', '/allowlist/1'])
})

test('what a session is opened with is looked at too, for as long as it is open', async () => {
  const { host } = createWorld({ extensions: [{ layer: 'bundled', tools: TOOLS }] })
  const session = await host.openSession({ rules: [{ permission: 'read_file', pattern: '*', action: 'deny' }], roles: { allow_read_file: false } })
  const subagent = await session.openSubagent({ rules: [{ permission: 'fs.write', pattern: '*', action: 'deny' }, { permission: 'read_file', pattern: '*', action: 'deny' }] })
  expect(host.diagnostics.map(({ severity, location, path, cure }) => `${severity} ${location} ${path} ${cure}`)).toEqual([
    `warning session ${session.id} /rules/0/permission Name "read".`,
    `warning session ${session.id} /roles/allow_read_file Name "read".`,
    `warning session ${subagent.id} /rules/1/permission Name "read".`,
  ])
  await session.close()
  expect(host.diagnostics).toEqual([])
})

test('a session that is to be offered what is not there is told, until it is', async () => {
  const { host } = createWorld({ extensions: [{ layer: 'bundled', tools: TOOLS }] })
  const session = await host.openSession({ tools: ['read', 'read_file', 'ship'] })
  const subagent = await session.openSubagent({ tools: ['ship'] })
  expect(host.diagnostics.map(({ severity, location, path, message, cure }) => `${severity} ${location} ${path} ${message} ${cure}`)).toEqual([
    `warning session ${session.id} /tools/1 No tool is called "read_file" here, so the session is offered none for it. Name "read".`,
    `warning session ${session.id} /tools/2 No tool is called "ship" here, so the session is offered none for it. Name it as \`host.tools()\` does.`,
    `warning session ${subagent.id} /tools/0 No tool is called "ship" here, so the session is offered none for it. Name it as \`host.tools()\` does.`,
  ])
  await host.register([sketchExtension({ id: 'ship', tools: { ship: {} } }).descriptor])
  expect(host.diagnostics.map(({ path }) => path)).toEqual(['/tools/1'])
})

test('names of tools, of capabilities, and of what may come one day are left alone', () => {
  const { host } = createWorld({
    extensions: [{ layer: 'bundled', tools: TOOLS }],
    config: {
      rules: ['read', 'search', 're*', 'fs.write', '*', 'later', 'mcp:ship.track:mcp:ship.track'].map((permission) => ({ permission, pattern: '*', action: 'ask' as const })),
      tools: { search: { timeoutMs: 1_000 }, later: {} }, roles: { allow_read: true, allow_read_reviewer: false },
    },
  })
  expect(host.diagnostics).toEqual([])
})
