import {
  mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  createHost, defineTool, openSqliteStore, type CreateHostOptions, type NamedTool, type SessionOptions,
} from '../src/index.ts'
import type { ReplayReport } from '../src/facade/replay/replay-session.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'

let folder: string
let home: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-replay-')))
  home = join(folder, 'home/.bulkhead')
  mkdirSync(home, { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true }))

const open = async (more: Partial<CreateHostOptions> = {}) => createHost({
  workspace: folder, home, cache: CACHE, env: {}, discover: 'when-asked',
  store: await openSqliteStore({ file: join(home, 'bulkhead.db') }), ...more,
})

const WRITE = ['c1', 'write', { path: 'a.txt', content: 'one\n' }] as const
const CALLS = [
  WRITE, ['c2', 'read', { path: 'a.txt' }], ['c3', 'nothing', {}], ['c4', 'read', { path: 'missing' }],
] as const

/** Records a session, and returns its id. */
async function record(
  calls: readonly (readonly [id: string, name: string, args: object])[] = CALLS, options: SessionOptions = {},
  more: Partial<CreateHostOptions> = {},
): Promise<string> {
  const host = await open(more)
  const approver = { approve: async () => ({ decision: 'once' as const }) }
  const session = await host.openSession({ record: true, approver, ...options })
  for (const [id, name, args] of calls) await session.call({ id, name, arguments: args })
  await host.close()
  return session.id
}

const replay = (...args: readonly string[]) => inside(['replay', ...args], folder)
const report = async (...args: readonly string[]) => {
  const { code, stdout } = await replay(...args, '--json')
  return [code, JSON.parse(stdout) as ReplayReport] as const
}
const rules = (...written: readonly object[]) =>
  writeFileSync(join(home, 'config.json'), JSON.stringify({ rules: written }))

it('shows a recorded session, and makes its calls again without effects', async () => {
  const id = await record()
  expect(statSync(join(home, 'bulkhead.db')).mode & 0o777).toBe(process.platform === 'win32' ? 0o666 : 0o600)
  const shown = await replay(id.slice(0, 8))
  expect([shown.code, shown.stdout.replaceAll(/\d{4}-\d\d-\d\d [\d:]+ /g, '').replaceAll(/ {2,}/g, '  ')]).toEqual([
    0, expect.stringMatching(/c1 {2}write {2}ask {2}\{"content":"one\\n","path":"a\.txt"\} {2}\{"bytes":4/),
  ])
  rmSync(join(folder, 'a.txt'))
  const before = readFileSync(join(home, 'bulkhead.db'))
  expect(await report(id, '--stubs')).toEqual([0, { session: id, answered: 4, ran: 0, leftOut: [], without: [] }])
  expect(readdirSync(folder)).toEqual(['home'])
  // Nothing is written to the store either.
  expect(readFileSync(join(home, 'bulkhead.db')).equals(before)).toBe(true)
})

it('reports the first call that is decided otherwise, with the rule, in the form of a script', async () => {
  const id = await record()
  rules({ permission: 'read', pattern: 'a.txt', action: 'deny' })
  expect(await report(id, '--stubs')).toMatchObject([1, {
    answered: 2, difference: {
      call: 'c2', tool: 'read', what: 'decision', recorded: 'allow', now: 'deny',
      reason: expect.stringMatching(/the rule "read a\.txt" of .*config\.json:1 forbids it/),
    },
  }])
  expect((await replay(id, '--stubs')).stdout).toMatch(/^Different: c2, a call of read, is decided otherwise\.\n/)
})

it('reports a tool that is gone, arguments that are refused now, and a result of another form', async () => {
  const tool = (change: object): NamedTool => defineTool({
    name: 'count', description: 'Counts.', requires: {}, gated: false,
    input: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
    execute: ({ text }: { readonly text?: string }) => ({ chars: text?.length ?? 0 }), ...change,
  } as never) as unknown as NamedTool
  const host = await open()
  await host.register(tool({}))
  const session = await host.openSession({ record: true, mode: 'yolo' })
  await session.call({ id: 'a', name: 'count', arguments: { text: 'four' } })
  const replayed = async () => (await host.replay(session.id)).difference
  expect(await replayed()).toBeUndefined()
  await host.unregister('count')
  expect(await replayed()).toMatchObject({ call: 'a', what: 'tool', recorded: 'allow', now: 'ToolNotRegistered' })
  let ran = 0
  const execute = () => ran++
  await host.register(tool({ execute, input: { type: 'object', additionalProperties: false } }))
  expect(await replayed()).toMatchObject({ what: 'arguments', now: 'InputInvalid' })
  await host.unregister('count')
  await host.register(tool({ execute, output: { type: 'object', required: ['words'] } }))
  expect(await replayed()).toMatchObject({ what: 'outcome', path: '/data', recorded: { chars: 4 } })
  expect(ran).toBe(0)
  await host.close()
})

it('runs a session again from a call on, and reports the first outcome that is different', async () => {
  const id = await record()
  writeFileSync(join(folder, 'a.txt'), 'two\n')
  const [code, found] = await report(id, '--from', 'c2', '--live')
  expect([code, found]).toMatchObject([1, {
    answered: 1, ran: 1, difference: {
      call: 'c2', what: 'outcome', path: '/data/content', recorded: 'one\n', now: 'two\n',
    },
  }])
  // The first call was answered from the record, and the audit says so.
  expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('two\n')
  expect((await inside(['audit', 'tail'], folder)).stdout).toMatch(/write +a\.txt +not run, recorded answer: ok/)
  // Without a person, a call that asks is denied.
  rmSync(join(folder, 'a.txt'))
  expect(await report(id, '--from', 'c1', '--live')).toMatchObject([1, {
    ran: 1, difference: { call: 'c1', recorded: 'output', now: 'ApprovalDenied', path: '' },
  }])
  expect(await report(id, '--from', 'c1', '--live', '--mode', 'yolo')).toMatchObject([1, {
    difference: { call: 'c1', what: 'decision', recorded: 'ask', now: 'allow' },
  }])
  expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one\n')
})

it('leaves out arguments that had a secret, and refuses what cannot be replayed, with the nearest name', async () => {
  const secret = 'ghp_0123456789abcdefghij'
  const id = await record([['s', 'write', { path: 'a', content: secret }], ['t', 'read', { path: 'a' }]])
  expect(await report(id, '--stubs')).toMatchObject([0, { answered: 1, leftOut: ['s'] }])
  expect((await replay(id)).stdout).not.toContain(secret)
  expect(readFileSync(join(home, 'bulkhead.db')).includes(secret)).toBe(false)
  const wrong = await replay(`${id.slice(0, 7)}x`)
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining(`Did you mean "${id.slice(0, 8)}"?`)])
  expect((await replay(id, '--from', 'u', '--live')).stderr).toMatch(/has no call "u".*Did you mean/)
  expect((await replay(id, '--live')).code).toBe(2)
  // Watchdogs are code: before calls run, they have to be passed again.
  const guarded = await record([WRITE], { watchdog: () => undefined })
  expect(await report(guarded, '--stubs')).toMatchObject([0, { without: ['watchdog'] }])
  expect((await replay(guarded, '--from', 'c1', '--live')).stderr).toContain('was opened with watchdog')
  const host = await open()
  const ofAnother = await host.openSession({ record: true, principal: { id: 'ada' } })
  await ofAnother.call({ id: 'a', name: 'read', arguments: { path: 'a' } })
  await expect(host.replay(ofAnother.id)).rejects.toMatchObject({ code: 'NotFound' })
  expect(await host.replay(ofAnother.id, { session: { principal: { id: 'ada' } } })).toMatchObject({ answered: 1 })
  await host.close()
})

it('lists and removes recorded sessions, and a project cannot have them recorded', async () => {
  mkdirSync(join(folder, '.bulkhead'))
  writeFileSync(join(folder, '.bulkhead/config.json'), '{"record":true}')
  const host = await open({ trust: 'trusted' })
  expect(host.diagnostics.map(({ message }) => message))
    .toContainEqual(expect.stringContaining('A project cannot decide'))
  const session = await host.openSession()
  await session.call({ id: 'a', name: 'read', arguments: { path: 'a' } })
  await host.close()
  expect((await inside(['record', 'list'], folder)).stdout).toMatch(/^No session is recorded\./)
  const ids = [await record(), await record()]
  expect((await inside(['record', 'list'], folder)).stdout.split('\n').slice(1).map((line) => line.split(' ')[0]))
    .toEqual([...ids.toReversed(), ''])
  expect((await inside(['record', 'purge', ids[0]!.slice(0, 8)], folder)).stdout).toBe('Removed one session.\n')
  const rest = await inside(['record', 'purge', '--all', '--json'], folder)
  expect(JSON.parse(rest.stdout)).toEqual({ removed: [ids[1]] })
  expect((await inside(['record', 'purge'], folder)).code).toBe(2)
})
