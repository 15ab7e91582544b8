import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSandbox } from '@bulkhead/sandbox'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { has, WALLS } from '../../../scripts/machine.ts'
import { lookWall } from '../../broker/src/index.ts'
import type { Check } from '../src/cli/system/doctor-check.ts'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

const isJailed = has('bubblewrap') || (await lookWall()).stands

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-doctor-'))) })
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const global = () => join(folder, 'home/.bulkhead')
/** The first check of each name. */
async function diagnose(
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly checks: Readonly<Record<string, Check>> }> {
  const { code, stdout, stderr } = await inside(['doctor', '--json', ...args], folder, { PATH: process.env['PATH'] })
  expect(stderr).toBe('')
  const { checks } = JSON.parse(stdout) as { readonly checks: readonly Check[] }
  return { code, checks: Object.fromEntries(checks.toReversed().map((check) => [check.name, check])) }
}

it('an empty folder has no problem, and the walls are those that the sandbox uses', WALLS, async () => {
  const { code, checks } = await diagnose()
  expect(code).toBe(0)
  for (const name of ['Node', 'trust root', 'store', 'permissions', 'project', 'thread', 'configuration'])
    expect(checks[name], name).toMatchObject({ status: 'ok' })
  const sandbox = createSandbox({ workspace: folder })
  for (const { around, name, stands } of await sandbox.walls()) {
    expect(checks[`${around}: ${name}`], name).toMatchObject({ status: stands ? 'ok' : 'warning' })
  }
  await sandbox.close()
  const { stdout } = await inside(['doctor'], folder)
  expect(stdout).toMatch(/^ok +Node +26\./)
  expect(stdout).toMatch(/\n(?:Everything is fine\.|0 problems, \d warnings?\.)\n$/)
})

it('finds broken files, servers, settings and a project that is not trusted', WALLS, async () => {
  writeExtension(global(), { id: 'greeter', tools: [{ name: 'greet' }] }, 'export default {}')
  writeExtension(join(folder, '.bulkhead'), { id: 'own', tools: [{ name: 'own' }] }, 'export default {}')
  writeFileSync(
    join(global(), 'config.json'),
    JSON.stringify({
      mode: 'learn',
      mcp: {
        gone: { type: 'local', command: ['bulkhead-no-such-program'] },
        here: { type: 'local', command: ['sh', '-c', 'exit'] }, free: { type: 'local', command: ['sh'], jail: false },
        keyed: {
          type: 'local', command: ['sh'],
          keys: { BULKHEAD_NO_SUCH_KEY: { host: 'api.example', methods: ['GET'], paths: ['/**'] } },
        },
        far: { type: 'remote', url: 'https://mcp.example/' },
      },
      lsp: {
        rust: { command: ['bulkhead-no-such-server'], suffixes: ['.rs'] },
        off: { command: ['sh'], suffixes: ['.x'], enabled: false },
      },
      openapi: { shop: { document: 'none.json' } },
      rules: [
        { permission: 'gret', action: 'deny' }, { permission: 'bash', pattern: 'npm test', action: 'allow' },
        { permission: 'read', action: 'allow' },
      ],
      extensions: { greeter: { isolation: 'thread' } },
    }),
  )
  writeFileSync(join(global(), 'bulkhead.db'), 'no database')
  writeFileSync(join(global(), 'trust-root.json'), '{}')
  chmodSync(global(), 0o777)
  const { code, checks } = await diagnose()
  expect(code).toBe(1)
  expect(checks).toMatchObject({
    'permissions': {
      status: 'problem', found: expect.stringContaining(`${global()} is writable by other users`),
      cure: expect.stringContaining('chmod go-w'),
    },
    'store': {
      status: 'problem', found: expect.stringContaining('StoreUnavailable'),
      cost: expect.stringContaining('--no-store'),
    },
    'mode': { status: 'warning', found: `learn, set in ${join(global(), 'config.json')}` },
    'trust root': { status: 'problem', cure: 'bulkhead trust-root --reset' },
    'project': { status: 'warning', cure: 'bulkhead trust' },
    'thread': {
      status: 'warning', found: expect.stringContaining('greeter'), cost: expect.stringContaining('array buffers'),
    },
    'mcp gone': { status: 'problem', found: '"bulkhead-no-such-program" is not an executable file on your PATH' },
    'mcp here': isJailed
      ? { status: 'ok', found: expect.stringMatching(/^starts \/.*\/sh$/) }
      : {
          status: 'problem', found: expect.stringMatching(/^needs a jail, but /),
          cure: expect.stringContaining('mcp.here.jail'),
        },
    'mcp free': {
      status: 'warning', found: expect.stringContaining('without a jail'),
      cure: expect.stringContaining('mcp.free.requires'),
    },
    'mcp keyed': { status: 'problem', found: 'uses the key BULKHEAD_NO_SUCH_KEY, and that variable is not set' },
    'lsp rust': {
      status: 'problem', found: '"bulkhead-no-such-server" is not an executable file on your PATH',
      cure: 'Install it, or correct lsp.rust.command in the configuration.',
    },
    'lsp off': { status: 'ok', found: 'disabled' },
    'mcp far': { status: 'ok', found: 'https://mcp.example/, not contacted' },
    'rules': {
      status: 'ok', found: expect.stringMatching(/not asked about any more: "bash npm test" of \S+config\.json$/),
    },
  })
  const { stdout } = await inside(['doctor'], folder)
  // What the host reports: a document that cannot be read, and a rule that matches nothing.
  expect(stdout).toMatch(/\/openapi\/shop/)
  expect(stdout).toMatch(/"?gret"?.*\/rules\/0/)
  expect(stdout).toMatch(/\nproblem +permissions +.*\n +cost: .*\n +cure: .*\n/)
})

it.each([
  ['configuration', 'config.json', /ConfigInvalid: config\.json is a link that leads nowhere.*all tools are disabled/],
  ['trust root', 'trust-root.json', /ENOENT/],
])('a link that leads nowhere in the place of the %s is a problem', async (check, name, found) => {
  mkdirSync(global(), { recursive: true })
  symlinkSync('no-such-file', join(global(), name))
  const { code, checks } = await diagnose()
  expect([code, checks[check]]).toMatchObject([1, { status: 'problem', found: expect.stringMatching(found) }])
})

it('a trust file that is a link that leads nowhere is a problem', async () => {
  mkdirSync(global(), { recursive: true })
  symlinkSync('no-such-file', join(global(), 'trust.jsonl'))
  const { code, checks } = await diagnose()
  expect([code, checks['files']]).toMatchObject([1, { found: expect.stringMatching(/^TrustStoreUnavailable: /) }])
})

it('a folder that cannot be opened is a finding', async () => {
  mkdirSync(global(), { recursive: true })
  const { code, checks } = await diagnose('--workspace', 'nowhere')
  expect([code, checks['folder'], checks['store']?.status]).toMatchObject([
    1, { status: 'problem', found: expect.stringMatching(/^ProjectPathInvalid: /) }, 'ok',
  ])
})
