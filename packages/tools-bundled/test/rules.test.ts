import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RULE_ACTIONS, type LayerConfig, type Rule } from '@bulkhead/contract'
import { createHost } from '@bulkhead/host'
import { createLoader } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { argumentsReaders, createBundledExtensions } from '../src/index.ts'

const PAGE = new URL('../../../docs/guides/rules.md', import.meta.url)
/** The rows of the table of examples: rules, a call and the answer. */
const EXAMPLES = readFileSync(PAGE, 'utf8').split('## Examples')[1]!.split('\n').filter((line) => line.startsWith('| '))
  .slice(1).map((line) => line.slice(2, -2).split(' | ').map((cell) => cell.replaceAll('`', '').trim()))

let root: string
let workspace: string
let found: Awaited<ReturnType<ReturnType<typeof createLoader>['load']>>
let sandbox: ReturnType<typeof createSandbox>
beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-rules-')))
  workspace = join(root, 'workspace')
  for (const name of ['secrets', 'src/deep']) mkdirSync(join(workspace, name), { recursive: true })
  const files = ['config.yaml', 'srcs.txt', 'secrets/k', 'secrets/x', 'src/a.ts', 'src/deep/b.ts']
  for (const name of files) writeFileSync(join(workspace, name), 'text\n')
  symlinkSync('../secrets/x', join(workspace, 'src/linked'))
  const bundled = createBundledExtensions({
    fetchHosts: ['*'], delegate: async () => ({ sessionId: 's', output: 'done' }),
  })
  const roots = { global: join(root, 'home'), projectFolder: '.bulkhead' }
  found = await createLoader({ coreVersion: '1.0.0', roots, bundled }).load({
    workspace, trust: 'declined', projectDigest: 'any',
  })
  sandbox = createSandbox({
    workspace, spares: { process: 0, thread: 0 }, operator: { path: ['/usr/bin', '/bin'], env: {} },
    // Commands are checked and not run: their programs need not exist.
    dryRun: { used: () => undefined, port: 9 },
  })
})
afterAll(async () => {
  await sandbox.close()
  rmSync(root, { recursive: true })
})

type Author = 'user' | 'project' | 'embedder' | 'machine' | 'session'
type Authored = Rule & { readonly by: Author }
const LAYERS = { machine: 'machine', embedder: 'embedder', user: 'global', project: 'project' } as const

/** What explain says, and what the call does and asks, with these rules of several authors. */
async function decided(rules: readonly Authored[], name: string, args: Record<string, string>) {
  const of = (author: Author): Rule[] => rules.filter(({ by }) => by === author).map(({ by: _, ...rule }) => rule)
  const layers = Object.entries(LAYERS)
    .map(([author, layer]): LayerConfig => ({ layer, location: author, config: { rules: of(author as Author) } }))
  const report = { ...found, config: { merged: {}, layers } }
  const host = createHost({
    report, sandbox, store: createMemoryStore(), workspace, userData: join(root, 'home'), env: () => undefined,
    argumentsReaders,
    realPath: realpathSync,
  })
  try {
    let asked = 0
    const session = await host.openSession({
      rules: of('session'), approver: { approve: async () => { asked++; return { decision: 'reject' } } },
    })
    const call = { id: 'c', name, arguments: args }
    const explained = await session.explain(call)
    const outcome = await session.call(call)
    return { ...explained, came: outcome.type === 'error' ? outcome.error.code : outcome.type, asked }
  } finally {
    await host.close()
  }
}

function agree({ decision, code, came, asked, chain }: Awaited<ReturnType<typeof decided>>): void {
  const foretold = { allow: ['output', 0], ask: ['ApprovalDenied', 1], deny: [code, 0] }[decision]
  expect([came, asked], JSON.stringify(chain)).toEqual(foretold)
}

function argumentsOf(name: string, value: string): Record<string, string> {
  if (name === 'bash') return { command: value }
  return name === 'write'
    ? { path: value, content: 'text\n' }
    : { path: value, ...(name === 'grep' && { pattern: 'x' }) }
}

function rulesOf(text: string): readonly Authored[] {
  return text.split('; ').filter((written) => written !== 'none').map((written) => {
    const [, by = 'user', permission, pattern, action] = /^(?:(\w+): )?(\S+) (.+) (allow|ask|deny)$/.exec(written)!
    return { by: by as Author, permission: permission!, pattern: pattern!, action: action as Rule['action'] }
  })
}

describe('the examples of the page on rules', () => {
  it('are many', () => expect(EXAMPLES.length).toBeGreaterThanOrEqual(60))

  const holds = async (...[rules, call, answer]: readonly string[]): Promise<void> => {
    const [name = '', ...rest] = call!.split(' ')
    const result = await decided(rulesOf(rules!), name, argumentsOf(name, rest.join(' ')))
    expect(result.decision, JSON.stringify(result.chain)).toBe(answer)
    agree(result)
  }
  it.each(EXAMPLES.filter((_, at) => at % 3 === 0))('%s, %s: %s', holds)
  it.each(EXAMPLES.filter((_, at) => at % 3 !== 0))('%s, %s: %s', LONG, holds)
})

const FILES = ['src/a.ts', 'src/deep/b.ts', 'secrets/k', 'secrets/x', 'src/linked', 'config.yaml'] as const
const anyRule: fc.Arbitrary<Authored> = fc
  .record({
    by: fc.constantFrom<Author>('user', 'user', 'project', 'embedder', 'machine', 'session'),
    permission: fc.constantFrom('read', 'write', 'grep', 're*', '*', 'fs.read', 'fs.write'),
    pattern: fc.constantFrom(
      '*', 'src', 'src/**', 'src/*.ts', '**/*.ts', 'secrets/**', 'secrets/k', '**/k', 'config.yaml',
    ),
    action: fc.constantFrom(...RULE_ACTIONS, 'allow' as const),
  })
  .map((rule) => (rule.by === 'machine' && rule.action === 'allow' ? { ...rule, action: 'ask' as const } : rule))

it('a deny that matches a file of the arguments denies, unless a rule inside it allows or asks', async () => {
  const denying = fc.constantFrom(
    ['src/**', /^src/], ['secrets/**', /^secrets|linked/], ['**/*.ts', /ts$/],
  ) as fc.Arbitrary<[string, RegExp]>
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyRule, { maxLength: 4 }), denying, fc.constantFrom(...FILES),
      async (rules, [pattern, files], path) => {
        fc.pre(files.test(path))
        const deny: Authored = { by: 'user', permission: 'fs.read', pattern, action: 'deny' }
        const { decision } = await decided([...rules, deny], 'read', { path })
        const loosening = rules.filter(
          ({ by, action, pattern: own }) => by === 'user' && action !== 'deny' && own !== '*' && own !== pattern,
        )
        if (loosening.length === 0) expect(decision).toBe('deny')
      },
    ),
    { numRuns: thoroughly(10, 500) },
  )
})
