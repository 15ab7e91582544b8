import { execFileSync } from 'node:child_process'
import {
  existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHost, defineTool, type CreateHostOptions, type Host, type SessionOptions } from '../src/index.ts'
import { has, needs, WALLS } from '../../../scripts/machine.ts'
import { lookWall } from '../../broker/src/index.ts'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { CACHE } from './cache.ts'

let base: string
let workspace: string
let library: string
let host: Host
beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-roots-')))
  workspace = join(base, 'workspace')
  library = join(base, 'library')
  for (const folder of [workspace, library, join(base, 'private'), join(base, 'home')]) mkdirSync(folder)
  writeFileSync(join(workspace, 'a.txt'), 'needle in the workspace\n')
  writeFileSync(join(library, 'b.txt'), 'needle in the library\n')
  writeFileSync(join(base, 'private', 'key'), 'secret\n')
  await start()
})
afterEach(async () => {
  await host.close()
  rmSync(base, { recursive: true })
})

async function start(options: Partial<CreateHostOptions> = {}) {
  await host?.close()
  host = await createHost({
    workspace, home: join(base, 'home'), cache: CACHE, trust: 'declined', config: { mode: 'yolo' }, ...options,
  })
}

async function opened(options: SessionOptions) {
  const session = await host.openSession(options)
  const run = async (name: string, args: JsonObject) => {
    const outcome = await session.call({ id: crypto.randomUUID(), name, arguments: args })
    return outcome.type === 'output' ? JSON.stringify(outcome.data) : `${outcome.error.code}: ${outcome.error_text}`
  }
  const decision = async (name: string, args: JsonObject) =>
    (await session.explain({ id: crypto.randomUUID(), name, arguments: args })).decision
  return { session, run, decision }
}

describe('a further root', () => {
  it('can be read, searched, written and edited by its absolute path, and no other folder can', async () => {
    const { run, decision } = await opened({ roots: [library] })
    expect(await run('read', { path: join(library, 'b.txt') })).toContain('needle in the library')
    expect(await run('read', { path: 'a.txt' })).toContain('needle in the workspace')
    expect(await run('grep', { pattern: 'needle', path: library })).toContain('in the library')
    expect(await run('glob', { pattern: '**/*.txt', path: library })).toContain(join(library, 'b.txt'))
    expect(await run('write', { path: join(library, 'new/c.txt'), content: 'c' })).toContain('"created":true')
    expect(await run('edit', { path: join(library, 'b.txt'), old_string: 'needle', new_string: 'thread' })).toContain(
      '"replacements":1',
    )
    expect(readFileSync(join(library, 'b.txt'), 'utf8')).toBe('thread in the library\n')
    expect(await decision('read', { path: join(library, 'b.txt') })).toBe('allow')
    expect(await run('read', { path: join(base, 'private/key') })).toMatch(/^CapabilityDenied/)
    expect(await run('read', { path: 'b.txt' })).toMatch(/^NotFound/)
  })

  it('can have a repository, a clone and tests of its own', { ...needs('git'), ...LONG }, async () => {
    const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: library, encoding: 'utf8' })
    git('init', '-q')
    git('config', 'user.name', 'Ada')
    git('config', 'user.email', 'ada@example.com')
    writeFileSync(
      join(library, 'a.test.mjs'), "import { test } from 'node:test'\ntest('fails', () => { throw new Error('no') })\n",
    )
    const { run } = await opened({ roots: [library] })
    expect(await run('git', { action: 'add', path: library, paths: ['b.txt'] })).toContain('"staged":"added"')
    const tests = { runner: 'node', path: join(library, 'a.test.mjs') }
    const { run: without } = await opened({})
    expect(await without('git', { action: 'status', path: library })).toMatch(/^CapabilityDenied/)
    expect(await without('test_runner', tests)).toMatch(/^WatchdogDenied/)
    if (thoroughly(true, false)) return
    expect(await run('git', { action: 'commit', path: library, message: 'One' })).toContain('"author":"Ada"')
    expect(git('log', '--format=%s')).toBe('One\n')
    expect(await run('repo_clone', { url: `file://${library}`, path: join(library, 'copy') })).toContain('"commit"')
    expect(await run('test_runner', tests)).toContain(`"file":"${tests.path}","line":2`)
  })

  it('belongs to one session and to its sub-agents', async () => {
    const { session, run } = await opened({ roots: ['../library'] })
    const path = join(library, 'b.txt')
    expect(await run('read', { path })).toContain('needle')
    expect(await (await opened({})).run('read', { path })).toMatch(/^CapabilityDenied/)
    const child = await session.openSubagent({ roots: [join(base, 'private')] })
    expect(await child.call({ id: 'c1', name: 'read', arguments: { path } })).toMatchObject({ type: 'output' })
    expect(await child.call({ id: 'c2', name: 'read', arguments: { path: join(base, 'private/key') } }))
      .toMatchObject({ type: 'error', error: { code: 'CapabilityDenied' } })
  })

  it('protects the same places as the workspace', WALLS, async () => {
    mkdirSync(join(library, '.git'))
    const { run, decision } = await opened({ roots: [library] })
    for (const path of ['.git/hooks/pre-commit', '.bashrc', '.bulkhead/config.json']) {
      const args = { path: join(library, path), content: 'x' }
      expect(await run('write', args)).toMatch(/^WatchdogDenied/)
      expect(await decision('write', args)).toBe('deny')
    }
    await run('bash', { command: 'bash -c "mkdir -p .bulkhead; echo x > .bulkhead/config.json"', cwd: library })
    await host.close()
    // Without a wall around commands, nothing stops a shell.
    expect(existsSync(join(library, '.bulkhead'))).toBe(!has('bubblewrap'))
  })

  it('may not be left through a link', async () => {
    symlinkSync(join(base, 'private'), join(library, 'way-out'))
    const { run } = await opened({ roots: [library] })
    expect(await run('read', { path: join(library, 'way-out/key') })).toMatch(/^CapabilityDenied/)
    expect(await run('grep', { pattern: 'secret', path: join(library, 'way-out') })).toMatch(/^CapabilityDenied/)
  })

  it('inside another one may not be replaced by a link to elsewhere', async () => {
    mkdirSync(join(library, 'part'))
    writeFileSync(join(library, 'part/key'), 'harmless')
    const { run } = await opened({ roots: [library, join(library, 'part')] })
    expect(await run('read', { path: join(library, 'part/key') })).toContain('harmless')
    renameSync(join(library, 'part'), join(library, 'moved'))
    symlinkSync(join(base, 'private'), join(library, 'part'))
    expect(await run('read', { path: join(library, 'part/key') })).toMatch(/^CapabilityDenied/)
  })

  it.each([
    ['does not exist', () => '../nowhere', /"\.\.\/nowhere" of the session cannot be used: it does not exist/],
    ['is a file', () => join(library, 'b.txt'), /is not a folder\. .*`adHoc`/],
    ['contains the workspace', () => base, /contains the workspace/],
    ['belongs to the host', () => join(base, 'home'), /belongs to the host/],
  ])('that %s is refused', async (_, path, message) => {
    await expect(host.openSession({ roots: [path()] })).rejects.toMatchObject({
      code: 'ConfigInvalid', message: expect.stringMatching(message), data: { path: '/roots/0' },
    })
  })
})

describe('commands', () => {
  it('start and write in a further root, and nowhere else', WALLS, async () => {
    const { run } = await opened({ roots: [library] })
    expect(await run('bash', { command: 'cat b.txt', cwd: library })).toContain('needle in the library')
    expect(await run('bash', { command: 'cp b.txt copy.txt', cwd: library })).toContain('"exit_code":0')
    expect(readFileSync(join(library, 'copy.txt'), 'utf8')).toContain('needle')
    expect(await run('bash', { command: 'echo x > made.txt', cwd: library })).toContain('"exit_code":0')
    expect(readFileSync(join(library, 'made.txt'), 'utf8')).toBe('x\n')
    expect(await run('bash', { command: `bash -c 'cp a.txt ${library}/from-workspace.txt'` })).toContain(
      '"exit_code":0',
    )
    expect(readFileSync(join(library, 'from-workspace.txt'), 'utf8')).toContain('needle')
    expect(await run('bash', { command: 'ls', cwd: join(base, 'private') })).toMatch(/^WatchdogDenied/)
    expect(await run('bash', { command: `bash -c 'cp a.txt ${base}/private/made.txt'` })).toContain('"exit_code":')
    expect(existsSync(join(base, 'private/made.txt'))).toBe(!has('bubblewrap') && !(await lookWall()).stands)
  })
})

describe('{ad-hoc}', () => {
  const peek = (name: string, pattern: string) =>
    defineTool({
      name, description: 'Reads one file.',
      input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const,
      requires: { fs: { read: [pattern] } },
      execute: async ({ path }, runtime) => ({ text: await runtime.fs.readText(path) }),
    })
  beforeEach(() => host.register([peek('peek', '{ad-hoc}/**'), peek('look', '{workspace}/**')]))

  it('stands for the files that the embedder names, and for nothing without them', async () => {
    const notes = join(base, 'private', 'key')
    const { run } = await opened({ adHoc: [notes] })
    expect(await run('peek', { path: notes })).toContain('secret')
    expect(await run('look', { path: notes })).toMatch(/^CapabilityDenied/)
    expect(await run('read', { path: notes })).toContain('secret')
    expect(await run('bash', { command: `echo x > ${notes}` })).toMatch(/^\w+Denied/)
    writeFileSync(join(base, 'private', 'other'), 'other')
    expect(await run('peek', { path: join(base, 'private', 'other') })).toMatch(/^CapabilityDenied/)
    expect(await run('peek', { path: 'a.txt' })).toMatch(/^CapabilityDenied/)
    expect(await (await opened({})).run('peek', { path: notes })).toMatch(/^CapabilityDenied/)
  })

  it('can be changed by the bundled tools for files, except for protected places', async () => {
    const { run } = await opened({ adHoc: [library] })
    const before = await run('read', { path: join(library, 'b.txt') })
    expect(await run('write', { path: join(library, 'b.txt'), content: 'changed' })).not.toMatch(/Denied/)
    expect(await run('undo', {})).not.toMatch(/Denied/)
    expect(await run('read', { path: join(library, 'b.txt') })).toBe(before)
    for (const path of ['.git/config', '.bulkhead/config.json']) {
      expect(await run('write', { path: join(library, path), content: '' })).toMatch(/Denied/)
    }
    await expect(host.openSession({ adHoc: ['../nowhere'] })).rejects.toMatchObject({
      code: 'ConfigInvalid',
      message: expect.stringMatching(/^The ad-hoc file or folder "\.\.\/nowhere" of the session cannot be used/),
    })
  })

  it('does not follow a link that replaces a file in the workspace', async () => {
    const { run } = await opened({ adHoc: ['a.txt'] })
    expect(await run('peek', { path: 'a.txt' })).toContain('needle')
    rmSync(join(workspace, 'a.txt'))
    symlinkSync(join(base, 'private/key'), join(workspace, 'a.txt'))
    expect(await run('peek', { path: 'a.txt' })).toMatch(/^CapabilityDenied/)
  })
})
