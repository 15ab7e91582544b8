import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ConfigFile, Outcome } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { has, needs, WALLS } from '../../../scripts/machine.ts'
import { LONG } from '../../../scripts/thoroughly.ts'
import { createHost, type Host, type SessionOptions } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

const SERVER = join(import.meta.dirname, 'mcp/fixtures/hostile-server.mjs')
let folder: string
let host: Host | undefined
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-ignore-')))
  for (const name of ['work/keys', 'beside']) mkdirSync(join(folder, name), { recursive: true })
  for (const path of ['work/keys/k', 'work/a.txt', 'work/b.pem', 'work/public.pem', 'beside/c.key'])
    writeFileSync(join(folder, path), `text of ${path}\n`)
  ignore('keys/\n*.pem\n!public.pem\n')
})
afterEach(async () => {
  await host?.close()
  host = undefined
  rmSync(folder, { recursive: true })
})
const ignore = (text: string, root = 'work') => writeFileSync(join(folder, root, '.bulkheadignore'), text)

async function open(config: ConfigFile = {}, options: SessionOptions = {}) {
  host = await createHost({
    workspace: join(folder, 'work'), home: join(folder, 'home'), cache: CACHE, env: { PATH: process.env['PATH'] },
    trust: 'declined', discover: 'when-asked', config: { ...IN_THREADS, ...config },
  })
  if (config.mcp) await host.mcp.connect()
  const session = await host.openSession({ mode: 'yolo', ...options })
  const call = async (name: string, args: object): Promise<unknown> =>
    resultOf(await session.call({ id: crypto.randomUUID(), name, arguments: args }))
  return { session, call }
}
const resultOf = (outcome: Outcome): unknown => outcome.type === 'output' ? outcome.data : outcome.error.code

describe('.bulkheadignore', () => {
  it('is for every tool, and only a person changes it', async () => {
    writeExtension(
      join(folder, 'home'),
      { id: 'reader', tools: [{ name: 'reads', requires: { fs: { read: ['{workspace}/**'] } } }] },
      'export default { tools: { reads: { execute: ({ path }, { fs }) => fs.readText(path) } } }',
    )
    const { call, session } = await open()
    expect(await call('read', { path: 'public.pem' })).toMatchObject({
      content: expect.stringContaining('text of') as string,
    })
    for (const path of ['b.pem', 'keys/k', 'keys', 'keys/new'])
      expect(await call('read', { path }), path).toBe('RuleDenied')
    expect(await call('write', { path: 'keys/new', content: 'x' })).toBe('RuleDenied')
    expect(await call('write', { path: '.bulkheadignore', content: '' })).toBe('RuleDenied')
    expect(await call('glob', { pattern: '**' })).toMatchObject({
      paths: expect.not.arrayContaining(['b.pem']) as string[], left_out: 2,
    })
    expect(await call('reads', { path: 'a.txt' })).toBe('text of work/a.txt\n')
    expect(await call('reads', { path: 'b.pem' })).toBe('RuleDenied')
    const { decision, chain } = await session.explain({ id: 'e', name: 'read', arguments: { path: 'b.pem' } })
    expect({ decision, last: chain.at(-1) }).toMatchObject({
      decision: 'deny',
      last: { stage: 'rules', reason: `the line "*.pem" of ${join(folder, 'work/.bulkheadignore')} forbids it` },
    })
    expect(await session.explain({ id: 'f', name: 'reads', arguments: {} })).toMatchObject({
      later: [{ action: 'deny', rule: join(folder, 'work/.bulkheadignore') }],
    })
  })

  it('is read again when a person changes it', async () => {
    const { call } = await open()
    ignore('*.txt\n')
    expect(await call('read', { path: 'a.txt' })).toBe('RuleDenied')
    expect(await call('read', { path: 'b.pem' })).toMatchObject({ content: expect.anything() as string })
  })

  it('is for the commands of a session too', { ...needs('Linux'), ...WALLS }, async () => {
    const { call } = await open()
    expect(JSON.stringify(await call('bash', { command: 'cat a.txt b.pem keys/k' }))).not.toContain(
      'text of work/b.pem',
    )
    expect(await call('bash', { command: 'echo > .bulkheadignore' })).toBe('RuleDenied')
    const tries = 'for name in .bulkheadignore b.pem; do rm -f $name; cat $name; done; cat a.txt'
    writeFileSync(join(folder, 'work/try.sh'), tries)
    const result = await call('bash', { command: 'sh try.sh' })
    if (has('bubblewrap')) expect(result).toMatchObject({ stdout: 'keys/\n*.pem\n!public.pem\ntext of work/a.txt\n' })
    else expect(result).toBe('RuleDenied')
    expect(readFileSync(join(folder, 'work/.bulkheadignore'), 'utf8')).toContain('*.pem')
  })

  const onLinux = { ...needs('Linux'), tags: ['walls', 'long'] }
  it('stops no command that writes where nothing is excluded', onLinux, async () => {
    ignore('*.key\nnowhere/\n')
    const { call, session } = await open()
    writeFileSync(join(folder, 'work/try.sh'), 'echo new > c.txt; cat c.txt; echo >> .bulkheadignore')
    const command = { command: 'sh try.sh' }
    expect(await session.explain({ id: 'e', name: 'bash', arguments: command })).toMatchObject({
      decision: 'allow', wall: { wall: 'work' },
    })
    expect(await call('bash', command)).toMatchObject({ stdout: 'new\n', exit_code: has('bubblewrap') ? 2 : 0 })
    expect(await call('bash', { command: 'echo > .bulkheadignore' })).toBe('RuleDenied')
    writeFileSync(join(folder, 'work/d.key'), 'text\n')
    expect(await call('bash', command)).toEqual(has('bubblewrap') ? expect.anything() : 'RuleDenied')
  })

  it('is for a jailed server, and a server without a jail is denied', { ...needs('Linux'), ...WALLS }, async () => {
    const requires = { fs: { read: ['{workspace}', dirname(SERVER)] } }
    const server = { type: 'local' as const, command: [process.execPath, SERVER], requires }
    const { call } = await open({ mcp: { jailed: server, loose: { ...server, jail: false } } })
    const text = async (name: string, path: string): Promise<string> =>
      JSON.stringify(await call(name, { what: 'read', path: join(folder, 'work', path) }))
    expect(await text('jailed_try', 'a.txt')).toContain('text of work/a.txt')
    expect(await text('jailed_try', 'b.pem')).toContain('refused')
    expect(await text('jailed_try', 'keys/k')).toContain('refused')
    expect(await text('loose_try', 'a.txt')).toContain('RuleDenied')
  })

  it('counts in each root of a session', async () => {
    ignore('*.key\n', 'beside')
    const { call } = await open({}, { roots: [join(folder, 'beside')] })
    expect(await call('read', { path: join(folder, 'beside/c.key') })).toBe('RuleDenied')
  })

  it('denies everything if it cannot be understood, and doctor says so', async () => {
    ignore('a\n[b\n')
    const { call } = await open()
    expect(await call('read', { path: 'public.pem' })).toBe('RuleDenied')
    const { stdout, code } = await inside(['doctor', '--json', '--workspace', join(folder, 'work')], folder, {
      PATH: process.env['PATH'],
    })
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly object[] }
    expect(checks).toContainEqual(
      expect.objectContaining({
        name: '.bulkheadignore', status: 'problem', found: expect.stringContaining('Line 2') as string,
      }),
    )
    expect(code).toBe(1)
  })
})

describe('a rule of the configuration', { ...needs('Linux'), ...WALLS }, () => {
  it('that denies files does not switch off a jailed server, which does not see them', LONG, async () => {
    const server = {
      type: 'local' as const, command: [process.execPath, SERVER],
      requires: { fs: { read: ['{workspace}', dirname(SERVER)] } },
    }
    rmSync(join(folder, 'work/.bulkheadignore'))
    const { call } = await open({
      mcp: { jailed: server },
      rules: [
        { permission: 'mcp:jailed:*', pattern: 'keys/**', action: 'deny' },
        { permission: 'fs.read', pattern: '**/b.pem', action: 'deny' },
      ],
    })
    const text = async (path: string): Promise<string> =>
      JSON.stringify(await call('jailed_try', { what: 'read', path: join(folder, 'work', path) }))
    expect(await text('a.txt')).toContain('text of work/a.txt')
    expect(await text('b.pem')).toContain('refused')
    expect(await text('keys/k')).toContain('refused')
    const session = await host!.openSession({
      mode: 'yolo', rules: [{ permission: 'fs.read', pattern: '**/a.txt', action: 'deny' }],
    })
    expect(resultOf(await session.call({ id: 's', name: 'jailed_try', arguments: {} }))).toBe('RuleDenied')
  })

  const decides = async (...names: readonly ('test_runner' | 'repo_clone')[]): Promise<void> => {
    rmSync(join(folder, 'work/.bulkheadignore'))
    writeFileSync(
      join(folder, 'work/a.test.js'), "import fs from 'node:fs'\nfs.readFileSync('a.txt')\nfs.readFileSync('b.pem')\n",
    )
    execFileSync('git', ['init', '-q', 'source'], { cwd: join(folder, 'work') })
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'x', '--allow-empty'], {
      cwd: join(folder, 'work/source'),
    })
    const { call, session } = await open({ rules: [{ permission: 'fs.read', pattern: '**/b.pem', action: 'deny' }] })
    const calls = {
      test_runner: [{ runner: 'node', path: 'a.test.js' }, { failed: 1 }],
      repo_clone: [{ url: `file://${join(folder, 'work/source')}`, path: 'copy' }, { path: 'copy' }],
    } as const
    for (const name of names) {
      const [args, result] = calls[name]
      const { decision, code } = await session.explain({ id: `e ${name}`, name, arguments: args })
      expect([name, decision, code]).toEqual(
        has('bubblewrap') ? [name, 'allow', undefined] : [name, 'deny', 'RuleDenied'],
      )
      expect(await call(name, args)).toEqual(has('bubblewrap') ? expect.objectContaining(result) : 'RuleDenied')
    }
  }
  it('that denies files decides about a tool that always starts a command before it does', needs('git'), () =>
    decides('repo_clone'))
  it('decides about a test runner, too', { ...needs('git'), ...LONG }, () => decides('test_runner'))
})
