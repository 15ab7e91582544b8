// What `explain` says about a call is what the call does: whatever rules all authors have, for the commands of the
// corpora and for calls of every bundled tool. Commands are checked and not run, and no request leaves the machine.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  BUNDLED_TOOLS, NO_COMMAND_WALLS, RULE_ACTIONS, SECURITY_MODES, type BulkheadEvent, type LayerConfig, type Rule,
} from '@bulkhead/contract'
import { createHost } from '@bulkhead/host'
import { createLoader } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { has } from '../../../scripts/machine.ts'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { argumentsReaders, createBundledExtensions } from '../src/index.ts'
import { BYPASS_VECTORS } from '../src/bash/test/corpus/bypass-vectors.ts'
import { DEVELOPER_COMMANDS } from '../src/bash/test/corpus/developer-commands.ts'
import * as JUDGED from '../src/bash/test/corpus/judged-commands.ts'
import { COMMANDS as PROGRAMS, linesOf } from '../src/bash/test/unasked/command-lines.ts'

const ORDINARY = readFileSync(new URL('../src/bash/test/corpus/ordinary-commands.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n')
const COMMANDS = [
  ...Object.values(BYPASS_VECTORS).flat(), ...Object.values(DEVELOPER_COMMANDS).flat(), ...ORDINARY,
  ...Object.values(JUDGED).flat().map((one) => typeof one === 'string' ? one : one[0]),
]
/** Lines as an attacker would write them. Asking the programs for their options takes long. */
const HOSTILE = thoroughly<readonly string[]>([], PROGRAMS).map((program) => ({
  weight: 1,
  arbitrary: linesOf(
    program, { root: '..', workspace: '.', canary: '../outside/canary', absent: '../outside/written' }, () => true,
  ).map((words) => words.map((word) => (/^[\w./=-]+$/.test(word) ? word : `'${word}'`)).join(' ')),
}))

let root: string
let workspace: string
let server: Server
let sandbox: ReturnType<typeof createSandbox>
let found: Awaited<ReturnType<ReturnType<typeof createLoader>['load']>>
beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-explained-')))
  workspace = join(root, 'workspace')
  for (const name of ['secrets', 'src/deep', 'docs', 'sub']) mkdirSync(join(workspace, name), { recursive: true })
  const files = ['.env', 'a.txt', 'secrets/k', 'secrets/x', 'src/a.ts', 'src/deep/b.ts', 'docs/a.md', 'package.json']
  for (const name of files) writeFileSync(join(workspace, name), name === 'package.json' ? '{}' : 'needle\n')
  symlinkSync('../secrets/x', join(workspace, 'src/linked'))
  if (has('git')) execFileSync('git', ['init', '-q'], { cwd: workspace })
  server = createServer((_, response) => response.setHeader('content-type', 'text/plain').end('here')).listen(
    0, '127.0.0.1',
  )
  await once(server, 'listening')
  const bundled = createBundledExtensions({
    fetchHosts: ['*'], delegate: async () => ({ sessionId: 's', output: 'done' }),
  })
  const roots = { global: join(root, 'home'), projectFolder: '.bulkhead' }
  found = await createLoader({ coreVersion: '1.0.0', roots, bundled })
    .load({ workspace, trust: 'declined', projectDigest: 'any' })
  const { port } = server.address() as AddressInfo
  sandbox = createSandbox({
    workspace, spares: { process: 0, thread: 0 }, operator: { path: ['/usr/bin', '/bin'], env: {} },
    dryRun: { used: () => undefined, port },
  })
})
afterAll(async () => {
  await sandbox.close()
  server.close()
  rmSync(root, { recursive: true })
})

const CALLS: readonly (readonly [tool: string, args: object])[] = [
  ...['src/a.ts', 'src/deep/b.ts', 'secrets/k', 'src/linked', '.env', 'nowhere', '../outside', '/etc/passwd'].map(
    (path) => ['read', { path }] as const,
  ),
  ...['src/a.ts', 'secrets/x', 'src/linked', 'docs/new.md', '.bulkhead/config.json'].map(
    (path) => ['write', { path, content: 'needle\n' }] as const,
  ),
  ['edit', { path: 'src/a.ts', old_string: 'needle', new_string: 'needle' }],
  ['edit', { path: 'secrets/k', old_string: 'needle', new_string: 'noodle' }],
  ...[undefined, 'src', 'secrets'].map((path) => ['grep', { pattern: 'needle', ...(path && { path }) }] as const),
  ...[undefined, 'src', 'secrets'].map((path) => ['glob', { pattern: '**/*', ...(path && { path }) }] as const),
  ...[undefined, 'src', 'secrets'].map((path) => ['list', path ? { path } : {}] as const),
  [
    'apply_patch',
    { patch: '*** Begin Patch\n*** Update File: src/a.ts\n@@\n+x\n*** Add File: secrets/new\n+y\n*** End Patch' },
  ],
  ['apply_patch', { patch: '*** Begin Patch\n*** Add File: docs/other.md\n+y\n*** End Patch' }],
  ['pdf_read', { path: 'docs/a.md' }], ['repo_overview', {}], ['repo_overview', { path: 'secrets' }],
  ['git', { action: 'status' }], ['git', { action: 'diff' }], ['git', { action: 'commit', message: 'x' }],
  ['git', { action: 'add', paths: ['src/a.ts'] }], ['git', { action: 'add', paths: ['secrets/k'] }],
  ['test_runner', {}], ['test_runner', { path: 'src' }], ['web_fetch', { url: 'https://example.com/a' }],
  ['web_fetch', { url: 'http://api.example.com/' }], ['http_request', { url: 'https://example.com/a' }],
  ['http_request', { url: 'http://api.example.com/', method: 'POST' }], ['web_search', { query: 'x' }],
  ['repo_clone', { url: 'https://example.com/a.git', path: 'new' }],
  ['repo_clone', { url: 'file:///nowhere', path: 'new' }], ['repo_clone', { url: 'src', path: 'src' }],
  ['todo', { todos: [{ content: 'x', status: 'pending' }] }], ['task', { subagent_type: 'scout', prompt: 'look' }],
  ['question', { questions: [{ question: 'x?', header: 'x', options: [{ label: 'a', description: 'a' }] }] }],
  ['skill', { name: 'none' }], ['tool_search', { query: 'read' }], ['code_mode', { code: 'return 1' }],
  ['code_exec', { code: 'return 1' }], ['lsp', { action: 'symbols', path: 'src/a.ts' }], ['undo', {}], ['plan', {}],
  ['plan_exit', {}],
]

type Author = 'user' | 'project' | 'embedder' | 'machine' | 'session' | 'agent'
type Authored = Rule & { readonly by: Author }
const LAYERS = { machine: 'machine', embedder: 'embedder', user: 'global', project: 'project' } as const

const anyRule: fc.Arbitrary<Authored> = fc
  .record({
    by: fc.constantFrom<Author>('user', 'user', 'project', 'embedder', 'machine', 'session', 'agent'),
    permission: fc.oneof(
      fc.constantFrom('bash', '*', 'fs.read', 'fs.write', 'net.fetch', 'shell.run'),
      fc.constantFrom<string>(...BUNDLED_TOOLS, 're*', 'web_*'),
    ),
    pattern: fc.oneof(
      fc.constantFrom('*', '**'),
      fc.constantFrom(
        'src', 'src/**', 'src/*.ts', '**/*.ts', 'secrets/**', 'secrets/k', '**/k', '.env', '**/.env', 'a.txt',
        '/etc/**', 'docs/new.md',
      ),
      fc.constantFrom('git *', 'ls', 'ls*', 'cat *', 'npm *', 'touch*', 'echo *', 'rm*', 'git status', 'scout', 'read'),
      fc.constantFrom('example.com', '*.example.com', 'github.com', 'GET example.com'),
    ),
    action: fc.constantFrom(...RULE_ACTIONS, 'allow' as const),
  })
  .map((rule) => (rule.by === 'machine' && rule.action === 'allow' ? { ...rule, action: 'ask' as const } : rule))

const anyCall: fc.Arbitrary<readonly [string, object]> = fc.oneof(
  fc
    .oneof({ weight: 200, arbitrary: fc.constantFrom(...COMMANDS) }, ...HOSTILE)
    .map((command) => ['bash', { command }] as const),
  fc.constantFrom(...CALLS),
)

const setting = fc.record({
  rules: fc.array(anyRule, { maxLength: 6 }),
  mode: fc.constantFrom(...SECURITY_MODES, 'ask' as const),
  isModeOfProject: fc.boolean(),
  allowlist: fc.subarray(['read', 'write', 'bash', 'bash:git *', 'web_*']),
  says: fc.constantFrom('once' as const, 'reject' as const),
  isWalled: fc.constantFrom(true, true, true, false),
  calls: fc.array(anyCall, { minLength: 3, maxLength: 6 }),
})

/** Once they were different. */
const FOUND: typeof setting extends fc.Arbitrary<infer Setting> ? Setting[] : never = [
  {
    rules: [{ by: 'user', permission: 'shell.run', pattern: '**/*.ts', action: 'deny' }], mode: 'ask',
    isModeOfProject: false, allowlist: [], says: 'once', isWalled: false,
    calls: [['git', { action: 'add', paths: ['src/a.ts'] }]],
  },
]

const WALLED = { tags: ['walls', 'long'], timeout: 3_600_000 }
it('explain equals the call, whatever rules all authors have', WALLED, async () => {
  await fc.assert(
    fc.asyncProperty(setting, async ({ rules, mode, isModeOfProject, allowlist, says, isWalled, calls }) => {
      const of = (author: Author): Rule[] => rules.filter(({ by }) => by === author).map(({ by: _, ...rule }) => rule)
      const modeAt = isModeOfProject ? 'project' : 'user'
      const layers = Object.entries(LAYERS).map(([author, layer]): LayerConfig => ({
        layer, location: author,
        config: {
          rules: of(author as Author), ...(author === modeAt && { mode }), ...(author === 'user' && { allowlist }),
        },
      }))
      const host = createHost({
        report: { ...found, config: { merged: { mode, allowlist }, layers } }, store: createMemoryStore(), workspace,
        sandbox: { ...sandbox, commandWalls: async () => (isWalled ? await sandbox.commandWalls() : NO_COMMAND_WALLS) },
        userData: join(root, 'home'), env: () => undefined, argumentsReaders, realPath: realpathSync,
        agents: [{ name: 'helper', rules: of('agent') }],
      })
      try {
        const asked: string[] = []
        const session = await host.openSession({
          rules: of('session'), agent: 'helper',
          approver: { approve: async ({ reasons }) => (asked.push(...reasons.slice(0, 1)), { decision: says }) },
        })
        /** The first decision about each call, and how often a person had been asked. */
        const decided = new Map<string, { readonly decision: string; readonly after: number }>()
        const refused: string[] = []
        host.on((event: BulkheadEvent) => {
          if (event.type !== 'ToolInvocationDecided') return
          if (!decided.has(event.callId)) decided.set(event.callId, { decision: event.decision, after: asked.length })
          else if (event.decision === 'deny' && event.stage === 'rules') refused.push(event.source)
        })
        for (const [index, [name, args]] of calls.entries()) {
          const call = { id: `c${index}`, name, arguments: args as Record<string, string> }
          const { decision, code, later = [], chain } = await session.explain(call)
          const [from, before] = [asked.length, refused.length]
          const outcome = await session.call(call)
          const came = outcome.type === 'error' ? outcome.error.code : 'output'
          const seen = `${name} ${JSON.stringify(args)}: `
            + JSON.stringify({
              came, text: outcome.type === 'error' ? outcome.error_text : '', later, asked: asked.slice(from), chain,
            }, undefined, 1)
          const start = decided.get(call.id)
          if (decision === 'deny') {
            expect([came, asked.length - from], seen).toEqual([code, 0])
            continue
          }
          expect([start?.decision, (start?.after ?? from) - from], seen).toEqual(
            decision === 'allow' ? ['allow', 0] : [says === 'once' ? 'allow' : 'deny', 1],
          )
          if (start?.decision === 'deny') continue
          const foretold = (action: 'ask' | 'deny', text: string): boolean =>
            later.some((one) => one.action === action && text.includes(one.rule))
          for (const reason of asked.slice(start!.after))
            expect(foretold('ask', reason), `asked ${reason}\n${seen}`).toBe(true)
          for (const rule of refused.slice(before))
            expect(foretold('deny', rule), `refused ${rule}\n${seen}`).toBe(true)
          if (came === 'RuleDenied')
            expect(
              later.some(({ action }) => action === 'deny'), seen,
            ).toBe(true)
          if (came === 'ApprovalDenied')
            expect(
              later.some(({ action }) => action === 'ask'), seen,
            ).toBe(true)
        }
      } finally {
        await host.close()
      }
    }),
    { numRuns: thoroughly(15, 5_000), examples: FOUND.map((one) => [one]) },
  )
})
