import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_COMMAND_WALLS, SECURITY_MODES, type Ceiling, type ConfigFile } from '@bulkhead/contract'
import { createHost, type SessionOptions } from '@bulkhead/host'
import { createLoader } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { has } from '../../../scripts/machine.ts'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { argumentsReaders, createBundledExtensions } from '../src/index.ts'

let root: string
let workspace: string
let server: Server
let places: readonly string[]
beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-explain-')))
  workspace = join(root, 'workspace')
  for (const name of ['src', 'docs']) mkdirSync(join(workspace, name), { recursive: true })
  for (const name of ['src/a.ts', 'docs/b.md', 'c.txt']) writeFileSync(join(workspace, name), `needle in ${name}\n`)
  if (has('git')) execFileSync('git', ['init', '-q'], { cwd: workspace })
  server = createServer((_, response) => response.setHeader('content-type', 'text/plain').end('here')).listen(
    0, '0.0.0.0',
  )
  await once(server, 'listening')
  places = ['127.0.0.1', '127.0.0.2'].map((host) => `${host}:${(server.address() as AddressInfo).port}`)
})
afterAll(() => {
  server.close()
  rmSync(root, { recursive: true })
})

const filled = <T,>(value: T): T =>
  value === undefined
    ? value
    : (JSON.parse(JSON.stringify(value).replaceAll('$0', places[0]!).replaceAll('$1', places[1]!)) as T)

let found: Awaited<ReturnType<typeof loaded>> | undefined
function loaded() {
  const bundled = createBundledExtensions({
    fetchHosts: ['*', ...places], delegate: async () => ({ sessionId: 's', output: 'done' }),
  })
  const loader = createLoader({
    coreVersion: '1.0.0', roots: { global: join(root, 'home'), projectFolder: '.bulkhead' }, bundled,
  })
  return loader.load({ workspace, trust: 'declined', projectDigest: 'any' })
}

/** A host with this configuration and the bundled tools. Nothing is mocked. */
async function opened(config: ConfigFile, options: SessionOptions, isWalled: boolean) {
  found ??= await loaded()
  const report = {
    ...found, config: { merged: config, layers: [{ layer: 'global' as const, location: '/config.json', config }] },
  }
  const sandbox = createSandbox({
    workspace, spares: { process: 0, thread: 0 },
    operator: { path: ['/usr/local/bin', '/usr/bin', '/bin'], env: { HOME: '/dev/null', LANG: 'C.UTF-8' } },
  })
  // What the host knows of the machine.
  const here = { ...sandbox, commandWalls: async () => isWalled ? await sandbox.commandWalls() : NO_COMMAND_WALLS }
  const host = createHost({
    report, sandbox: here, store: createMemoryStore(), workspace, userData: join(root, 'home'), env: () => undefined,
    argumentsReaders,
  })
  const close = async () => {
    await host.close()
    await sandbox.close()
  }
  return { session: await host.openSession(options), close }
}

const CALLS = [
  ['read', { path: 'src/a.ts' }], ['read', { path: 'c.txt' }], ['write', { path: 'src/new.ts', content: 'x' }],
  ['write', { path: 'docs/new.md', content: 'x' }], ['grep', { pattern: 'needle', path: 'src' }],
  ['grep', { pattern: 'needle' }], ['glob', { pattern: '*', path: 'docs' }], ['web_fetch', { url: 'http://$0/' }],
  ['web_fetch', { url: 'http://$1/' }], ['bash', { command: 'git status --short' }],
  ['bash', { command: 'git status' }], ['bash', { command: 'ls' }], ['bash', { command: 'ls | cat' }],
  ['bash', { command: 'ls > docs/out' }], ['bash', { command: 'ls > src/out' }],
  ['bash', { command: 'ls', cwd: 'docs' }], ['bash', { command: 'A=1 ls' }], ['git', { action: 'status' }],
  ['bash', { command: 'git diff -U5' }], ['bash', { command: 'grep -rn needle src' }],
  ['bash', { command: 'true && false; trap "" INT' }], ['bash', { command: 'test -d docs && ls docs' }],
  ['list', { path: 'src' }], ['list', {}], ['repo_overview', { path: 'docs' }],
  [
    'apply_patch',
    { patch: '*** Begin Patch\n*** Delete File: docs/b.md\n*** Add File: docs/b.md\n+needle\n*** End Patch' },
  ],
  [
    'apply_patch',
    {
      patch:
        '*** Begin Patch\n*** Update File: src/a.ts\n@@\n+x\n*** Delete File: docs/b.md\n*** Add File: docs/b.md\n'
          + '+y\n*** End Patch',
    },
  ],
  ['todo', { todos: [{ content: 'x', status: 'pending' }] }], ['task', { subagent_type: 'scout', prompt: 'look' }],
] as const

const rest = [{ rest: true as const }]
const paths = fc.subarray(['src/**', 'docs/**', '**/*.ts', 'c.txt', '**'], { maxLength: 3 })
const ceiling: fc.Arbitrary<Ceiling | undefined> = fc.option(
  fc.record(
    {
      fs: fc.record({ read: paths, write: paths }), net: fc.record({ hosts: fc.subarray(['*', '$0', '$1']) }),
      shell: fc.subarray(
        [
          { cmd: 'git', args: ['status'] }, { cmd: 'git', args: rest }, { cmd: 'ls', args: rest }, { cmd: 'cat' },
          { cmd: '*', args: rest },
        ],
        { minLength: 1 },
      ),
      capabilities: fc.subarray(['session' as const, 'interact' as const]), state: fc.boolean(),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined, freq: 3 },
)
const rule = fc.record({
  permission: fc.constantFrom(
    'read', 'write', 'apply_patch', 'list', 'bash', 'web_fetch', '*', 'fs.read', 'fs.write', 'net.fetch', 'shell.run',
  ),
  pattern: fc.constantFrom('*', 'src/**', 'git *', '127.0.0.1*', '**'),
  action: fc.constantFrom('allow' as const, 'allow' as const, 'ask' as const, 'deny' as const),
})
const setting = fc.record({
  config: fc.record({
    mode: fc.constantFrom(...SECURITY_MODES),
    rules: fc.array(rule, { maxLength: 2 }),
    allowlist: fc.subarray(['read', 'write', 'bash', 'bash:git *', 'web_fetch']),
    roles: fc.constantFrom({}, {}, { allow_bash: false }, { allow_read: false }),
    tools: fc.constantFrom({}, {}, { bash: { enabled: false } }),
    toolsEnabled: fc.constantFrom(true, true, true, false),
    policy: ceiling.map((one) => one === undefined ? {} : { ceiling: one }),
  }),
  session: ceiling,
  budget: fc.record({ calls: fc.constantFrom(2, 1_000), tokens: fc.constantFrom(20, 1_000_000) }, { requiredKeys: [] }),
  isWalled: fc.boolean(),
  calls: fc.array(fc.constantFrom(...CALLS), { minLength: 6, maxLength: 12 }),
})

it('explain predicts the outcome of a call under any configuration, with and without walls', async () => {
  await fc.assert(fc.asyncProperty(setting, async ({ config, session: limit, budget, isWalled, calls }) => {
    let asked = 0
    const approver = { approve: async () => { asked++; return { decision: 'once' as const } } }
    const { session, close } = await opened(
      filled(config) as ConfigFile, { approver, budget, ...(limit && { ceiling: filled(limit) }) }, isWalled,
    )
    try {
      for (const [index, [name, args]] of calls.entries()) {
        const call = { id: `c${index}`, name, arguments: filled(args) }
        asked = 0
        const explained = await session.explain(call)
        expect(asked).toBe(0)
        const outcome = await session.call(call)
        const came = outcome.type === 'output' ? 'output' : outcome.error.code
        const foretold = { allow: ['output', 0], ask: ['output', 1], deny: [explained.code, 0] }[explained.decision]
        expect(
          [came, asked],
          `${name} ${JSON.stringify(args)}\n${JSON.stringify(outcome)}\n${JSON.stringify(explained.chain)}`,
        ).toEqual(foretold)
      }
    } finally {
      await close()
    }
  }), { numRuns: thoroughly(5, 40) })
})
