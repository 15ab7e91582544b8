import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, RuleAction } from '@bulkhead/contract'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { createHost, type Explanation, type Host, type Rule, type SessionOptions } from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-restrictions-')))
  for (const name of ['home', 'work/.bulkhead', 'work/secrets']) mkdirSync(join(folder, name), { recursive: true })
})
afterAll(() => rmSync(folder, { recursive: true }))

const userFile = () => join(folder, 'home/config.json')
const projectFile = () => join(folder, 'work/.bulkhead/config.json')

/** Explains each call to a host with these files. Without a project it is declined. */
async function explained(
  user: ConfigFile, project: ConfigFile | undefined, calls: readonly Call[], options: SessionOptions = {},
  config: ConfigFile = {},
): Promise<readonly Explanation[]> {
  return withHost(user, project, config, async (host) => {
    const session = await host.openSession({ approver: { approve: async () => ({ decision: 'reject' }) }, ...options })
    return Promise.all(
      calls.map(async ([name, args], index) => {
        const call = { id: `c${index}`, name, arguments: args }
        const explanation = await session.explain(call)
        if (explanation.decision !== 'allow') {
          expect(await session.call(call)).toMatchObject({ error: { code: explanation.code ?? 'ApprovalDenied' } })
        }
        return explanation
      }),
    )
  })
}

async function withHost<T>(
  user: ConfigFile, project: ConfigFile | undefined, config: ConfigFile, use: (host: Host) => Promise<T>,
): Promise<T> {
  writeFileSync(userFile(), JSON.stringify(user))
  writeFileSync(projectFile(), JSON.stringify(project ?? {}))
  const host = await createHost({
    workspace: join(folder, 'work'), home: join(folder, 'home'), cache: CACHE, env: {}, discover: 'when-asked',
    trust: project === undefined ? 'declined' : 'trusted', config,
  })
  return use(host).finally(() => host.close())
}

type Call = readonly [name: string, args: Readonly<Record<string, string>>]
const CALLS: readonly Call[] = [
  ['read', { path: 'secrets/k' }], ['read', { path: 'src/a' }], ['write', { path: 'secrets/k', content: '' }],
  ['bash', { command: 'git push' }], ['bash', { command: 'npm test' }], ['web_fetch', { url: 'https://a.example/' }],
]
const [READ, , WRITE, PUSH] = CALLS as readonly [Call, Call, Call, Call]

const rule = (permission: string, pattern: string, action: RuleAction): Rule => ({ permission, pattern, action })
const READ_ONLY = { fs: { read: ['**'] } }

describe('a trusted project', () => {
  it.each<[string, ConfigFile, ConfigFile, Call, RuleAction, RegExp, SessionOptions?]>([
    [
      'a deny of the user, with a narrower pattern', { rules: [rule('fs.read', 'secrets/**', 'deny')] },
      { rules: [rule('fs.read', 'secrets/k', 'allow')] }, READ, 'deny', /^user rule fs\.read/,
    ],
    [
      'a deny of the user, with a nearer permission', { rules: [rule('fs.write', 'secrets/**', 'deny')] },
      { rules: [rule('write', '*', 'allow')] }, WRITE, 'deny', /^user rule fs\.write/,
    ],
    [
      'an ask of the user', { rules: [rule('write', '*', 'ask')] }, { rules: [rule('write', 'secrets', 'allow')] },
      WRITE, 'ask', /^user rule write/,
    ],
    [
      'a deny of the session', {}, { rules: [rule('write', 'secrets', 'allow')] }, WRITE, 'deny',
      /^session rule fs\.write/, { rules: [rule('fs.write', 'secrets/**', 'deny')] },
    ],
    [
      'a ceiling', { policy: { ceiling: READ_ONLY } },
      { policy: { ceiling: { ...READ_ONLY, shell: [{ cmd: '*', args: [{ rest: true }] }] } } }, PUSH, 'deny',
      /^policy\.ceiling of .*home\/config\.json$/,
    ],
    [
      'a role flag', { roles: { allow_bash: false } }, { roles: { allow_bash: true } }, PUSH, 'deny',
      /^flag allow_bash of .*home\/config\.json$/,
    ],
    [
      'a role flag, with one of a role', { roles: { allow_bash: false } }, { roles: { allow_bash_agent: true } }, PUSH,
      'deny', /^flag allow_bash of .*home\/config\.json$/, { role: 'agent' },
    ],
    [
      'a tool that is off', { tools: { bash: { enabled: false } } }, { tools: { bash: { enabled: true } } }, PUSH,
      'deny', /^ToolsDisabled$/,
    ],
    [
      'a tool that is off for its extension', { extensions: { bash: { config: { enabled: false } } } },
      { tools: { bash: { enabled: true } } }, PUSH, 'deny', /^ToolsDisabled$/,
    ],
    [
      'an extension that is off', { extensions: { bash: { enabled: false } } },
      { extensions: { bash: { enabled: true } } }, PUSH, 'deny', /^ToolNotRegistered$/,
    ],
    ['a mode', { mode: 'ask' }, { mode: 'yolo' }, WRITE, 'ask', /^mode ask$/],
    ['a mode, with a rule', { mode: 'ask' }, { rules: [rule('write', '*', 'allow')] }, WRITE, 'ask', /^mode ask$/],
    ['a mode, with its allowlist', { mode: 'allowlist' }, { allowlist: ['write'] }, WRITE, 'ask', /^mode allowlist$/],
  ])('cannot loosen %s', async (_, user, project, call, decision, source, options) => {
    const [found] = await explained(user, project, [call], options)
    if (source.source.includes('ToolsDisabled')) expect(found!.chain.at(-1)!.reason).toContain(userFile())
    expect([
      found!.decision, found!.chain.filter(({ action }) => action === decision).map((step) => step.source),
    ]).toEqual([decision, expect.arrayContaining([expect.stringMatching(source)])])
  })

  it('cannot loosen a budget', async () => {
    await withHost({ mode: 'yolo', budget: { calls: 1 } }, { budget: { calls: 100 } }, {}, async (host) => {
      const session = await host.openSession()
      const call = (id: string) => session.call({ id, name: 'todo', arguments: { todos: [] } })
      expect(await call('1')).toMatchObject({ type: 'output' })
      expect(await call('2')).toMatchObject({ type: 'error', error: { code: 'BudgetExhausted' } })
    })
  })
})

describe('a trusted project', () => {
  it.each<[string, ConfigFile, ConfigFile, Call, RuleAction]>([
    ['loosen the default mode', {}, { mode: 'yolo' }, PUSH, 'allow'],
    ['answer the default mode with a rule', {}, { rules: [rule('write', '*', 'allow')] }, WRITE, 'allow'],
    [
      'tighten a mode that asks nothing, and answer its own', { mode: 'yolo' },
      { mode: 'ask', rules: [rule('write', '*', 'allow')] }, WRITE, 'allow',
    ],
    ['tighten a mode', { mode: 'yolo' }, { mode: 'ask' }, PUSH, 'ask'],
    [
      'deny what the user allows', { rules: [rule('read', '*', 'allow')] },
      { rules: [rule('read', 'secrets', 'deny')] }, READ, 'deny',
    ],
    [
      'deny what the user asks about', { rules: [rule('read', '*', 'ask')] },
      { rules: [rule('read', 'secrets', 'deny')] }, READ, 'deny',
    ],
    [
      'make an exception to its own rule', { mode: 'yolo' },
      { rules: [rule('read', '*', 'deny'), rule('read', 'secrets', 'allow')] }, READ, 'allow',
    ],
    [
      'narrow a ceiling', { mode: 'yolo', policy: { ceiling: { fs: { read: ['**'], write: ['**'] } } } },
      { policy: { ceiling: READ_ONLY } }, WRITE, 'deny',
    ],
    [
      'switch a tool off', { tools: { bash: { enabled: true } } }, { tools: { bash: { enabled: false } } }, PUSH,
      'deny',
    ],
  ])('can %s', async (_, user, project, call, decision) => {
    expect((await explained(user, project, [call]))[0]!.decision).toBe(decision)
  })
})

const action = fc.constantFrom<RuleAction>('allow', 'ask', 'deny')
const rules = fc.array(
  fc.record({
    permission: fc.constantFrom(
      'read', 'write', 'bash', 'web_fetch', '*', 'wr*', 'fs.read', 'fs.write', 'shell.run', 'net.fetch',
    ),
    pattern: fc.constantFrom(
      '*', '**', 'secrets/**', 'secrets/k', 'secrets', 'src/**', '.', 'git *', 'git push', 'a.example',
    ),
    action,
  }),
  { maxLength: 3 },
)
const some = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 2 })
const config = fc.record({
  rules, mode: some(fc.constantFrom('ask' as const, 'allowlist' as const, 'yolo' as const)),
  allowlist: fc.subarray(['bash', 'write:secrets', 'bash:git push', 'web_fetch']),
  roles: fc.dictionary(
    fc.constantFrom('allow_bash', 'allow_bash_agent', 'allow_read', 'allow_write_agent'), fc.boolean(), { maxKeys: 2 },
  ),
  tools: fc.dictionary(fc.constantFrom('bash', 'read', 'write'), fc.record({ enabled: fc.boolean() }), { maxKeys: 1 }),
  extensions: fc.dictionary(
    fc.constantFrom('bash', 'write'), fc.record({ config: fc.record({ enabled: fc.boolean() }) }), { maxKeys: 1 },
  ),
  policy: fc.record(
    {
      ceiling: some(
        fc.constantFrom(
          READ_ONLY, { fs: { read: ['**'], write: ['src/**'] } }, { net: { hosts: ['a.example'] } },
          { fs: { read: ['src/**'] }, shell: [{ cmd: '*', args: [{ rest: true as const }] }] },
        ),
      ),
    },
    { requiredKeys: [] },
  ),
})
const written = (value: unknown): ConfigFile => JSON.parse(JSON.stringify(value)) as ConfigFile

const STRICTNESS: Readonly<Record<RuleAction, number>> = { allow: 0, ask: 1, deny: 2 }

/** Whether the user's configuration is among what restricts the call. */
function isRestricted({ decision, chain }: Explanation, user: ConfigFile): boolean {
  return decision !== 'allow' && chain.some(({ action: did, source, stage }) => did === decision
    && (source.includes(userFile()) || stage === 'role' || source === 'ToolsDisabled'
      || (stage === 'security-mode' && user.mode !== undefined)))
}

it('what the user restricts is never weaker with a trusted project', LONG, async () => {
  await fc.assert(fc.asyncProperty(config, config, fc.constantFrom(undefined, 'agent'), async (one, other, role) => {
    const [user, project] = [written(one), written(other)]
    const options = role === undefined ? {} : { role }
    // Under a ceiling a tool cannot touch what a rule denies, so the ceiling of the project applies to both.
    const { ceiling } = project.policy ?? {}
    const alone = await explained(user, undefined, CALLS, options, ceiling ? { policy: { ceiling } } : {})
    const together = await explained(user, project, CALLS, options)
    for (const [index, before] of alone.entries()) {
      if (!isRestricted(before, user)) continue
      const after = together[index]!
      expect(STRICTNESS[after.decision], `${JSON.stringify(CALLS[index])}: ${JSON.stringify(after.chain)}`)
        .toBeGreaterThanOrEqual(STRICTNESS[before.decision])
    }
  }), { numRuns: thoroughly(8, 500) })
})
