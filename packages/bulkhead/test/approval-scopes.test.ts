import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ApprovalAnswer, ApprovalRequest } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { createHost, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'
import { BLOCKS, ROOT } from './pages/blocks.ts'
import { runProgram } from './program-inside.ts'

let folder: string
let host: Host
let session: Session
let asked: ApprovalRequest[]
let answer: ApprovalAnswer
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-scopes-')))
  writeExtension(join(folder, 'home'), {
    id: 'greeter',
    tools: [
      { name: 'by_city', approvalKey: '{city}' }, { name: 'by_host', approvalKey: '{target.host}' },
      { name: 'by_name' }, { name: 'by_code' },
    ].map((tool) => ({
      description: 'Greets.', gated: true, requires: {},
      inputSchema: { type: 'object', properties: { city: {}, target: {}, units: {} } }, ...tool,
    })),
  }, `const execute = () => 1
    export default { tools: { by_city: { execute }, by_host: { execute }, by_name: { execute },
      by_code: { execute, deriveApprovalKey: ({ city }) => city } } }`)
  host = await createHost({
    workspace: workspace(), home: join(folder, 'home'), cache: CACHE, env: {}, config: IN_THREADS,
  })
})
beforeEach(async () => {
  asked = []
  answer = { decision: 'once' }
  session = await host.openSession({
    approver: { approve: async (request) => { asked.push(request); return answer } },
  })
})
afterAll(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
})

const workspace = () => {
  mkdirSync(join(folder, 'work'), { recursive: true })
  return join(folder, 'work')
}
function put(path: string, content = 'x\n'): void {
  mkdirSync(dirname(join(folder, 'work', path)), { recursive: true })
  writeFileSync(join(folder, 'work', path), content)
}
const call = async (name: string, args: JsonObject) =>
  (await session.call({ id: crypto.randomUUID(), name, arguments: args })).type
const write = (path: string) => call('write', { path, content: 'y\n' })
const words = () => asked.at(-1)!.answers.map((one) => one.words)
/** Whether writing the file asks. */
const asksFor = async (path: string) => {
  const { length } = asked
  await write(path)
  return asked.length > length
}

describe('an answer for a file tool', () => {
  it('offers this file, this folder and the whole workspace in words, the least first', async () => {
    for (const name of ['a', 'b', 'deep/c']) put(`src/${name}.txt`)
    put('README.md')
    put('src/package.json')
    await write('src/new.txt')
    expect(words()).toEqual([
      'this call', 'this file (src/new.txt) in this session', 'this folder (src, 3 files) in this session',
      'the whole workspace (4 files) in this session',
    ])
    expect(asked[0]).toMatchObject({ approvalKey: 'src/new.txt' })
  })

  it('covers the file alone if no wider answer is offered', async () => {
    answer = { decision: 'session' }
    expect([await asksFor('src/a.txt'), await asksFor('src/a.txt'), await asksFor('src/b.txt')]).toEqual([
      true, false, true,
    ])
    expect(session.approvals()).toMatchObject([
      { approvalKey: 'src/a.txt', covers: 'this file (src/a.txt)' }, { approvalKey: 'src/b.txt' },
    ])
  })

  it('covers what is in a folder, and no file that has its name', async () => {
    answer = { decision: 'session', covers: 'folder' }
    expect([await asksFor('src/a.txt'), await asksFor('src/deep/b.txt'), await asksFor('docs/a.txt')]).toEqual([
      true, false, true,
    ])
    answer = { decision: 'session' }
    expect([await asksFor('build'), await asksFor('build/a.txt')]).toEqual([true, true])
  })

  it('says so if it covers the whole workspace', async () => {
    answer = { decision: 'session', covers: 'workspace' }
    expect([await asksFor('src/a.txt'), await asksFor('docs/b.txt')]).toEqual([true, false])
    expect(session.approvals()).toMatchObject([{ covers: 'the whole workspace' }])
  })

  it('counts at most 1,000 files', LONG, async () => {
    for (let index = 0; index < 1_001; index++) put(`many/${index}`)
    await write('many/new')
    expect(words()).toContain('this folder (many, more than 1,000 files) in this session')
  })
})

const HELD_BACK = [
  '.github/workflows/ci.yml', '.gitlab-ci.yml', 'package.json', 'deep/pyproject.toml', 'Cargo.lock', 'pnpm-lock.yaml',
  'Makefile', 'web/vite.config.ts', 'Dockerfile.test', '.husky/pre-commit', '.devcontainer/devcontainer.json', '.env',
  'sub/PACKAGE.JSON', 'requirements-dev.txt', '.bulkheadignore',
]

describe('an answer for a folder never covers', () => {
  it('files that decide what other programs run, or hold credentials', async () => {
    answer = { decision: 'session', covers: 'workspace' }
    await write('a.txt')
    for (const path of HELD_BACK) {
      expect([path, await asksFor(path)]).toEqual([path, true])
      expect(words()).toEqual(['this call', `this file (${path}) in this session`])
      // The answer was for more than was offered.
      expect(await asksFor(path)).toBe(false)
    }
    expect([await asksFor('b.txt'), await asksFor('other/package.json')]).toEqual([false, true])
  })

  it('such a file through a link', async () => {
    put('package.json', '{}')
    symlinkSync('../package.json', join(folder, 'work/src/link.txt'))
    answer = { decision: 'session', covers: 'folder' }
    await write('src/a.txt')
    expect([await asksFor('src/b.txt'), await asksFor('src/link.txt')]).toEqual([false, true])
  })
})

const PATCH = (...paths: readonly string[]) => `*** Begin Patch\n${paths.map((path) =>
  `*** Add File: ${path}\n+x\n`).join('')}*** End Patch`

it('an answer to a patch covers its files, or the folder that has all of them', async () => {
  await call('apply_patch', { patch: PATCH('patched/a.txt', 'patched/deep/b.txt') })
  expect(words().slice(1)).toEqual([
    'these 2 files (patched/a.txt, patched/deep/b.txt) in this session', 'this folder (patched) in this session',
    expect.stringMatching(/^the whole workspace/),
  ])
  answer = { decision: 'session' }
  await call('apply_patch', { patch: PATCH('patched/c.txt', 'patched/deep/d.txt') })
  expect(
    session
      .approvals()
      .map(({ approvalKey }) => approvalKey)
      .toSorted(),
  ).toEqual(['patched/c.txt', 'patched/deep/d.txt'])
  await call('apply_patch', { patch: PATCH('patched/e.txt', 'package.json') })
  expect(words()).toEqual(['this call', 'these 2 files (patched/e.txt, package.json) in this session'])
})

it.each<[string, JsonObject, readonly string[] | undefined, string]>([
  [
    'by_city', { 'city': 'Oslo', 'no more, it is safe': 1 }, ['target', 'units', '"no more, it is safe"'],
    'every call with the key "Oslo"',
  ],
  [
    'by_host', { target: { host: 'a', port: 1 } }, ['city', 'target (besides target.host)', 'units'],
    'every call with the key "a"',
  ],
  ['by_name', {}, ['city', 'target', 'units'], 'every call of by_name'],
  ['by_code', { city: 'Oslo' }, ['city', 'target', 'units'], 'every call with the key "Oslo"'],
  ['bash', { command: 'npm test' }, undefined, 'this command ('],
  ['web_fetch', { url: 'https://example.com/a' }, undefined, 'every call with the key "example.com"'],
])('the question of %s names the arguments that its key leaves out', async (name, args, leavesOut, covered) => {
  answer = { decision: 'reject' }
  await call(name, args)
  expect(asked[0]?.leavesOut).toEqual(leavesOut)
  expect(words()[1]).toContain(covered)
})

it('offers each folder between as a narrower key of the workspace, and takes no other', async () => {
  answer = { decision: 'session', covers: 'workspace', key: 'a/' }
  await write('a/b/c.txt')
  const whole = asked.at(-1)!.answers.find(({ covers }) => covers === 'workspace')
  expect(whole).toMatchObject({ keys: ['./'], narrower: ['a/b/', 'a/'] })
  expect(session.approvals()).toMatchObject([{ approvalKey: 'a/', covers: 'this folder (a)' }])
  answer = { decision: 'session', covers: 'folder', key: './' }
  await write('d/e.txt')
  expect(session.approvals().map(({ approvalKey }) => approvalKey)).toEqual(['a/', 'd/e.txt'])
})

it('the program of the guide prints what the page says', LONG, async () => {
  const own = BLOCKS.filter(({ page }) => page === 'docs/guides/approvals.md')
  const at = own.findIndex(({ file }) => file === 'approve.ts')
  const guide = join(folder, 'guide')
  for (const name of ['guide/src', 'guide-home']) mkdirSync(join(folder, name), { recursive: true })
  for (const name of ['a.ts', 'b.ts']) writeFileSync(join(guide, 'src', name), '')
  // Not in the workspace, whose files are counted.
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
  writeFileSync(join(folder, 'approve.ts'), own[at]!.text)
  const ran = await runProgram({
    file: '../approve.ts', cwd: guide, env: { PATH: process.env['PATH'], HOME: join(folder, 'guide-home') },
  })
  expect(ran).toMatchObject({ code: 0, stdout: own[at + 1]!.text })
})
