import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApprovalAnswer, BulkheadEvent, Outcome, Rule } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { has, needs, WALLS } from '../../../scripts/machine.ts'
import { createHost, type ApprovalRequest, type Host, type SessionOptions } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'
import { joined } from './joined.ts'

const READER = `export default { tools: {
  together: { execute: ({ paths }, { fs }) =>
    Promise.all(paths.map((path) => fs.readText(path).catch(({ code }) => code))) },
  first: { execute: ({ paths }, { fs }) => fs.readText(paths[0]) },
  names: { execute: async (_, { fs }) => {
    const found = await fs.glob('**')
    return { count: found.length, leftOut: found.leftOut }
  } },
  runs: { execute: async (_, { shell }) => (await shell.run('cat', ['a.txt', '.env', 'keys/k'])).stdout },
} }`

let folder: string
let host: Host
const events: BulkheadEvent[] = []
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-uses-')))
  const [workspace, home] = [join(folder, 'work'), join(folder, 'home')]
  mkdirSync(join(workspace, 'keys'), { recursive: true })
  for (const path of ['.env', 'a.txt', 'keys/k', 'keys/l']) writeFileSync(join(workspace, path), `text of ${path}\n`)
  const requires = { fs: { read: ['{workspace}/**', '{workspace}/.env'] } }
  writeExtension(home, {
    id: 'reader',
    tools: [
      ...['together', 'first', 'names'].map((name) => ({ name, requires })),
      { name: 'runs', requires: { ...requires, shell: [{ cmd: 'cat', args: [{ rest: true as const }] }] } },
    ],
  }, READER)
  host = await createHost({
    workspace, home, cache: CACHE, env: {}, trust: 'declined', discover: 'when-asked', config: IN_THREADS,
  })
  host.on((event) => void events.push(event))
})
afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})

const rule = (permission: string, pattern: string, action: Rule['action']): Rule => ({ permission, pattern, action })
const ENV = rule('fs.read', '**/.env', 'deny')

/** A session whose person answers like that. */
async function open(
  rules: readonly Rule[], answer?: (request: ApprovalRequest) => Promise<ApprovalAnswer>, more: SessionOptions = {},
) {
  const asked: ApprovalRequest[] = []
  const session = await host.openSession({
    rules, mode: 'yolo', ...more,
    ...(answer && { approver: { approve: async (request) => (asked.push(request), answer(request)) } }),
  })
  const call = (name: string, args: object): Promise<Outcome> =>
    session.call({ id: crypto.randomUUID(), name, arguments: args })
  return { session, call, asked }
}
/** What is refused only without bubblewrap. */
const unwalled = (refused: RegExp): RegExp | undefined => has('bubblewrap') ? undefined : refused
/** More files than can be hidden, and without bubblewrap more than can be granted one by one. */
function writeMany(): void {
  mkdirSync(join(folder, 'work/many'))
  const count = has('bubblewrap') ? 1_001 : 4_200
  for (let index = 0; index < count; index++) writeFileSync(join(folder, 'work/many', String(index)), '')
}
const textOf = (outcome: Outcome): unknown => outcome.type === 'output' ? outcome.data : outcome.error.code

describe('a tool of a package', () => {
  it('reads a file beside one that a rule denies', async () => {
    const { call, session } = await open([ENV])
    const from = events.length
    expect(textOf(await call('together', { paths: ['a.txt', '.env'] }))).toEqual(['text of a.txt\n', 'RuleDenied'])
    const { decision, later } = await session.explain({ id: 'e', name: 'together', arguments: { paths: [] } })
    expect({ decision, later }).toEqual({
      decision: 'allow', later: [{ action: 'deny', rule: expect.stringContaining('fs.read **/.env') as string }],
    })
    const denied = events.slice(from).filter(({ type }) => type === 'ToolInvocationDecided')
    expect(denied).toMatchObject([
      { decision: 'allow' }, { decision: 'deny', stage: 'rules', approvalKey: join(folder, 'work/.env') },
    ])
  })

  it('ends with the rule if it does not catch the refusal', async () => {
    const outcome = await (await open([ENV])).call('first', { paths: ['.env'] })
    expect(outcome).toMatchObject({
      type: 'error', error: { code: 'RuleDenied' },
      error_text: expect.stringContaining('the rule "fs.read **/.env" of the session') as string,
    })
  })

  it('is asked about when it uses a file, once for each rule and one after the other', async () => {
    let waiting = 0
    const { call, asked } = await open(
      [rule('fs.read', 'keys/**', 'ask'), rule('fs.read', '.env', 'ask')],
      async () => {
        expect(++waiting).toBe(1)
        await new Promise(setImmediate)
        waiting--
        return { decision: 'once' }
      },
    )
    expect(textOf(await call('together', { paths: ['keys/k', 'keys/l', '.env', 'a.txt'] })))
      .toEqual(['text of keys/k\n', 'text of keys/l\n', 'text of .env\n', 'text of a.txt\n'])
    expect(asked.map(({ touches, reasons }) => [touches, reasons[0]])).toEqual([
      [[`read ${join(folder, 'work/keys/k')}`], expect.stringContaining('the rule "fs.read keys/**" of the session')],
      [[`read ${join(folder, 'work/.env')}`], expect.stringContaining('the rule "fs.read .env" of the session')],
    ])
    expect(textOf(await call('first', { paths: ['keys/k'] }))).toBe('text of keys/k\n')
    expect(asked).toHaveLength(3)
  })

  it('is denied that use if the person says no, and the answer holds for the call', async () => {
    const { call, asked } = await open([rule('fs.read', 'keys/**', 'ask')], async () => ({
      decision: 'reject', reason: 'not these',
    }))
    expect(textOf(await call('together', { paths: ['keys/k', 'keys/l', 'a.txt'] }))).toEqual([
      'ApprovalDenied', 'ApprovalDenied', 'text of a.txt\n',
    ])
    expect(asked).toHaveLength(1)
  })

  it('is denied that use without a person, also in yolo', async () => {
    const { call } = await open([rule('fs.read', 'keys/**', 'ask')])
    expect(textOf(await call('together', { paths: ['keys/k', 'a.txt'] }))).toEqual([
      'ApprovalDenied', 'text of a.txt\n',
    ])
  })

  it('loses no time while a person thinks', async () => {
    const { session, asked } = await open([rule('fs.read', 'keys/**', 'ask')], (request) => new Promise((resolve) => {
      void request
      setTimeout(() => resolve({ decision: 'once' }), 1_100)
    }))
    const call = { id: 'slow', name: 'first', arguments: { paths: ['keys/k'] } }
    expect(textOf(await session.call(call, { timeoutMs: 1_000 }))).toBe('text of keys/k\n')
    expect(asked).toHaveLength(1)
  })

  it('finds what is beside it, and how many files it does not find', async () => {
    const { call } = await open([ENV, rule('fs.read', 'keys/**', 'ask')])
    expect(textOf(await call('names', {}))).toEqual({ count: 1, leftOut: 2 })
  })

  it('is asked before it runs a command that could read the file', WALLS, async () => {
    const { call, asked } = await open([rule('fs.read', 'keys/**', 'ask')], async () => ({ decision: 'once' }))
    expect(textOf(await call('runs', {}))).toContain('text of keys/k')
    expect(asked).toHaveLength(1)
  })
})

describe('bundled tools', () => {
  it(
    'search, list and run commands in a workspace with a denied file, and do not see it',
    { ...needs('Linux'), ...WALLS },
    async () => {
      const { call } = await open([ENV])
      expect(textOf(await call('grep', { pattern: 'text', output_mode: 'files' }))).toMatchObject({
        files: ['a.txt', 'keys/k', 'keys/l'],
      })
      expect(textOf(await call('glob', { pattern: '{*,.env}' }))).toMatchObject({
        paths: ['a.txt'], left_out: 1, note: expect.stringContaining('left out') as string,
      })
      expect(textOf(await call('list', {}))).toMatchObject({
        entries: [{ path: 'a.txt' }, { path: 'keys' }], left_out: 1,
      })
      const looked = await call('bash', { command: 'cat a.txt; cat < /dev/null; head -1 .env keys/k' })
      expect(JSON.stringify(looked)).not.toContain('text of .env')
      const worked = await call('bash', {
        command: 'node -e "1" ; cat a.txt > copy.txt; cp .env copied; cat copied copy.txt; rm -f copied copy.txt',
      })
      if (has('bubblewrap')) expect(textOf(worked)).toMatchObject({ stdout: 'text of a.txt\n' })
      else expect(textOf(worked)).toBe('RuleDenied')
      expect(textOf(await call('read', { path: '.env' }))).toBe('RuleDenied')
    },
  )

  it(
    'that run commands are refused before a person is asked, with what explain says', { ...needs('Linux'), ...WALLS },
    async () => {
      const cases: readonly (readonly [Rule, command: string, refused: RegExp | undefined])[] = [
        [ENV, 'cat a.txt > copy.txt', unwalled(/a command that writes cannot be kept from ".*\.env"\./)],
        [rule('bash', 'keys/**', 'deny'), 'touch a.txt', unwalled(/cannot be kept from ".*keys"\./)],
        [rule('fs.read', 'missing', 'deny'), 'touch a.txt', undefined],
        [rule('net.fetch', 'evil.example', 'deny'), 'node -e 1', undefined],
        [rule('fs.read', 'many/0', 'deny'), 'ls many', unwalled(/too many entries beside them to grant one by one/)],
      ]
      onTestFinished(() => rmSync(join(folder, 'work/many'), { recursive: true, force: true }))
      for (const [denying, command, refused] of cases) {
        if (command === 'ls many') writeMany()
        const { call, session, asked } = await open([denying], async () => ({ decision: 'reject' }), { mode: 'ask' })
        const { decision, code, chain } = await session.explain({ id: 'e', name: 'bash', arguments: { command } })
        const outcome = await call('bash', { command })
        if (refused) {
          expect([decision, code, asked.length], command).toEqual(['deny', 'RuleDenied', 0])
          expect(chain.at(-1)!.reason).toMatch(refused)
          expect(outcome).toMatchObject({ error: { code: 'RuleDenied' }, error_text: chain.at(-1)!.reason })
        } else
          expect([decision, code], command).toEqual([asked.length === 0 ? 'allow' : 'ask', undefined])
      }
      // What a command is known not to use is asked about only if it cannot be hidden.
      const { session } = await open([rule('fs.read', 'many/*', 'ask')], async () => ({ decision: 'reject' }))
      const { decision } = await session.explain({ id: 'e', name: 'bash', arguments: { command: 'cat a.txt' } })
      expect(decision).toBe(has('bubblewrap') ? 'ask' : 'allow')
    },
  )

  it(
    'ask once before a command that could use what a rule asks about, as explain says',
    { ...needs('Linux'), tags: ['walls', 'long'] },
    async () => {
      const cases: readonly (readonly [Rule, command: string, isAsked: boolean])[] = [
        [rule('bash', 'keys/**', 'ask'), 'touch a.txt', true], [rule('fs.read', '/etc/**', 'ask'), 'touch a.txt', true],
        [rule('fs.write', 'keys/**', 'ask'), 'touch a.txt', true],
        [rule('fs.write', 'keys/**', 'ask'), 'cat a.txt', false],
        // What it is known not to use is not asked about.
        [rule('fs.read', 'keys/**', 'ask'), 'cat a.txt', false],
        [rule('fs.read', 'keys/**', 'ask'), 'cat keys/k', true],
      ]
      for (const [asking, command, isAsked] of cases) {
        const { call, session, asked } = await open([asking], async () => ({ decision: 'once' }))
        const { decision, later } = await session.explain({ id: 'e', name: 'bash', arguments: { command } })
        expect([decision, later], command).toEqual([isAsked ? 'ask' : 'allow', undefined])
        expect([(await call('bash', { command })).type, asked.length], command).toEqual(['output', isAsked ? 1 : 0])
        if (isAsked) expect(asked[0]!.reasons[0]).toContain(`the rule "${asking.permission} ${asking.pattern}"`)
      }
    },
  )

  it(
    'say which rule hides a file from a command, and do not offer a wider wall', { ...needs('Linux'), ...WALLS },
    async () => {
      const { call } = await open([ENV, rule('bash', 'keys', 'deny')])
      const command = 'for name in .e*; do cat $name; done; false'
      const data = textOf(await call('bash', { command }))
      expect(data).toMatchObject({
        exit_code: 1,
        note: expect.stringMatching(
          joined(
            /^Files that the errors name are hidden from commands by the rule "fs\.read \*\*\/\.env" of the /,
            /session\S+\. Running it again/,
          ),
        ) as string,
      })
      expect(data).not.toHaveProperty('stopped_by')
      const other = {
        command: 'for name in a.txt; do echo "keysmith .environment: Permission denied" >&2; done; false',
      }
      expect(textOf(await call('bash', other))).toMatchObject({
        stopped_by: 'look', note: expect.stringMatching(/^It was stopped by/) as string,
      })
    },
  )

  it('do not show a command the file that a rule for its tool names', { ...needs('Linux'), ...WALLS }, async () => {
    const { call } = await open([rule('bash', 'keys', 'deny')])
    const shown = JSON.stringify(await call('bash', { command: 'grep -r text .' }))
    expect(shown).toContain('text of a.txt')
    expect(shown).not.toContain('text of keys/k')
  })

  it(
    'run no command that could see more files than can be hidden, and say why',
    { ...needs('Linux'), tags: ['walls', 'long'] },
    async () => {
      const work = join(folder, 'work')
      for (const name of ['masks', 'beside']) mkdirSync(join(work, name))
      for (let index = 0; index <= 1_000; index++) writeFileSync(join(work, 'masks', `${index}.key`), 'a key\n')
      const masks = await (
        await open([rule('fs.read', '**/*.key', 'deny')])
      ).call('bash', { command: 'grep -r "a key" masks; cat a.txt' })
      if (has('bubblewrap'))
        expect(masks).toMatchObject({
          error: { code: 'RuleDenied' },
          error_text: expect.stringMatching(/fs\.read \*\*\/\*\.key.*1001 files are too many to hide. Deny /) as string,
        })
      else expect(textOf(masks)).toMatchObject({ stdout: 'text of a.txt\n' })
      // Only without bubblewrap, the number of files beside it counts.
      const many = has('bubblewrap') ? 100 : 4_097
      for (let index = 0; index < many; index++) writeFileSync(join(work, 'beside', `${index}`), '')
      writeFileSync(join(work, 'beside/.env'), 'text of beside\n')
      const beside = await (await open([ENV])).call('bash', { command: 'grep -rh "text of" beside a.txt' })
      if (has('bubblewrap')) expect(textOf(beside)).toMatchObject({ stdout: 'text of a.txt\n' })
      else
        expect(beside).toMatchObject({
          error: { code: 'RuleDenied' },
          error_text: expect.stringMatching(/fs\.read \*\*\/\.env.*too many entries beside them/) as string,
        })
      for (const name of ['masks', 'beside']) rmSync(join(work, name), { recursive: true })
    },
  )
})
