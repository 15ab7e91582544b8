import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, readdirSync, readlinkSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { ApprovalRequest, UndoReport } from '@bulkhead/contract'
import { createMemoryStore } from '@bulkhead/store'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { approvalText } from '../../src/facade/terminal/prompt-text.ts'
import { defineTool, openSqliteStore, type Host, type Session } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'
import { inside } from '../command-inside.ts'
import { UndoWorld } from './undo-world.ts'

let world: UndoWorld
let host: Host
let session: Session
beforeEach(async () => {
  world = new UndoWorld()
  host = await world.open({ store: await openSqliteStore({ file: join(world.home, 'bulkhead.db') }) })
  session = await host.openSession({ mode: 'yolo' })
})
afterEach(() => world[Symbol.asyncDispose]())

const bash = (command: string, id?: string): Promise<unknown> => world.call(session, 'bash', { command }, id)
const undo = (args: object = {}): Promise<unknown> => world.call(session, 'undo', args)
/** Files and folders with content and mode, and where links lead. */
const everything = (): unknown => {
  const links = (readdirSync(world.workspace, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isSymbolicLink()).map(({ parentPath, name }) => join(parentPath, name))
  return { links: links.map((link) => [link, readlinkSync(link)]), files: filesOf() }
}
const filesOf = (): Readonly<Record<string, string>> => Object.fromEntries(
  readdirSync(world.workspace, { recursive: true, encoding: 'utf8' }).toSorted().flatMap((name) => {
    const found = lstatSync(join(world.workspace, name))
    if (found.isSymbolicLink()) return []
    return [[name, `${(found.mode & 0o777).toString(8)} ${found.isFile() ? world.read(name) : 'folder'}`]]
  }))

it('puts back what a command created, changed and removed, with modes, folders and links', async () => {
  world.write('a.txt', 'one\n')
  world.write('b.txt', 'two\n', 0o600)
  world.write('script', '#!/bin/sh\n')
  world.write('old/deep/c.txt', 'three\n')
  symlinkSync('a.txt', join(world.workspace, 'link'))
  symlinkSync('b.txt', join(world.workspace, 'moved'))
  const before = everything()
  await bash(
    'sh -c "echo 1 > a.txt; rm b.txt link; chmod +x script; rm -r old; ln -sfn a.txt moved; mkdir -p new/deep; '
      + 'touch new/deep/d; ln -s /etc new/out; mv a.txt renamed"',
  )
  const after = everything()
  expect(after).not.toEqual(before)

  const dry = await undo({ dry_run: true }) as UndoReport
  expect(dry).toMatchObject({ applied: false, lost: [], commands: [] })
  expect(dry.diff).toContain('--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+two\n')
  expect(await undo()).toMatchObject({ applied: true, lost: [], commands: [] })
  expect(everything()).toEqual(before)
  expect(await undo({ call: 'call-3' })).toMatchObject({ applied: true })
  expect(everything()).toEqual(after)
})

it('keeps nothing for a command that only reads, or that changes nothing', LONG, async () => {
  world.write('a.txt', 'one\n')
  utimesSync(join(world.workspace, 'a.txt'), 1, 1)
  await bash('cat a.txt')
  await bash('touch a.txt')
  await host.close()
  expect((await cli()).stdout).toBe('No call has changed a file here.\n')
})

const cli = (...args: readonly string[]) => inside(['undo', ...args, '--home', world.home], world.workspace)

it('is undone by the command line, and removes its copies', LONG, async () => {
  world.write('a.txt', 'one\n')
  await bash('sed -i s/one/two/ a.txt', 'call_1')
  const journal = join(world.home, 'changes')
  expect(existsSync(journal) ? readdirSync(journal) : []).toEqual([])
  await host.close()
  expect((await cli()).stdout).toMatch(/call_1 .* bash +done +a\.txt, command: sed -i s\/one\/two\/ a\.txt\n/)
  expect(await cli('last', '--dry-run')).toMatchObject({
    code: 0, stdout: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+one\n',
  })
  expect(await cli('last')).toMatchObject({ code: 0, stdout: 'restored a.txt\n' })
  expect(world.read('a.txt')).toBe('one\n')
})

it('records what a command did before it was ended: by its timeout, and with its call', LONG, async () => {
  world.write('a.txt', 'one\n')
  await world.call(session, 'bash', { command: 'sh -c "echo late > a.txt; sleep 60"', timeout_ms: 3_000 })
  expect(await undo()).toMatchObject({ files: [{ path: 'a.txt', action: 'restore' }] })
  const stop = new AbortController()
  const call = session.call(
    { id: 'ended', name: 'bash', arguments: { command: 'sh -c "echo 1 > a.txt; touch began; sleep 60"' } },
    { signal: stop.signal },
  )
  await vi.waitFor(() => expect(existsSync(join(world.workspace, 'began'))).toBe(true), 10_000)
  stop.abort()
  expect(await call).toMatchObject({ type: 'error' })
  await host.close()
  expect(await cli('last')).toMatchObject({ code: 0, stdout: 'restored a.txt\nremoved began\n' })
  expect(world.read('a.txt')).toBe('one\n')
})

it('refuses to undo what was changed since, and what a link leads away from now', async () => {
  world.write('a.txt', 'one\n')
  world.write('folder/b.txt', 'two\n')
  await bash('sed -i s/one/two/ a.txt', 'first')
  world.write('a.txt', 'mine\n')
  expect(await undo({ call: 'first' })).toMatch(/^UndoConflict: [^]*- a\.txt: it was changed since/)
  expect(world.read('a.txt')).toBe('mine\n')
  await bash('sh -c "mv folder elsewhere; ln -s elsewhere folder"', 'second')
  expect(await undo({ call: 'second' })).toMatch(/^UndoConflict: [^]*- folder\/b\.txt: a folder above it is a link now/)
  expect(world.read('elsewhere/b.txt')).toBe('two\n')
})

it('leaves to other calls what they changed, and records once what two commands changed at once', LONG, async () => {
  world.write('a.txt', 'one\n')
  world.write('b.txt', 'two\n')
  const waiting = (file: string, then: string): string =>
    `sh -c "touch ${file}; until [ -e go ]; do sleep 0.02; done; ${then}"`
  const running = [bash(waiting('began1', 'echo 1 > a.txt'), 'c1'), bash(waiting('began2', 'echo 2 > c.txt'), 'c2')]
  await vi.waitFor(
    () => expect(readdirSync(world.workspace)).toEqual(expect.arrayContaining(['began1', 'began2'])), 10_000,
  )
  await world.call(session, 'write', { path: 'b.txt', content: 'written\n' }, 'writing')
  world.write('go', '')
  await Promise.all(running)
  const recorded = (await Promise.all(
    ['c1', 'c2'].map((call) => undo({ call, dry_run: true })),
  )) as readonly UndoReport[]
  const paths = recorded.flatMap(({ files }) => files.map(({ path }) => path))
  expect(paths.toSorted()).toEqual(['a.txt', 'began1', 'began2', 'c.txt', 'go'])
  expect(await undo({ session: true })).toMatchObject({ applied: true, lost: [] })
  expect(readdirSync(world.workspace)).toEqual(['a.txt', 'b.txt'])
  expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['one\n', 'two\n'])
})

it('covers third-party tools that run programs, each command of a line, and output that goes to a file', async () => {
  await host.register(
    defineTool({
      name: 'toucher', description: 'Creates a file.', requires: { shell: [{ cmd: 'touch', args: [{ rest: true }] }] },
      mode: 'external', execute: async (_, { shell }) => (await shell.run('touch', ['made'])).exitCode,
    }),
  )
  expect(await world.call(session, 'toucher', {})).toBe(0)
  expect(await undo()).toMatchObject({ files: [{ path: 'made', action: 'remove' }] })
  await bash('echo 1 > one.txt && mkdir -p deep/er && touch two.txt')
  expect(readdirSync(world.workspace)).toEqual(['deep', 'one.txt', 'two.txt'])
  expect(await undo()).toMatchObject({ applied: true, lost: [], commands: [], notEmpty: [] })
  expect(readdirSync(world.workspace)).toEqual([])
})

it('says before the call, and in an explanation, that its changes are not recorded', async () => {
  const asked: ApprovalRequest[] = []
  const approver = { approve: async (request: ApprovalRequest) => {
    asked.push(request)
    return { decision: 'once' } as const
  } }
  const asking = await host.openSession({ approver })
  await world.call(asking, 'bash', { command: 'touch made' })
  world.exceedLimits()
  await world.call(asking, 'bash', { command: 'touch made again' })
  await world.call(asking, 'write', { path: 'a', content: 'x' })
  const why = 'the files have more than 256 MiB'
  expect(asked.map(({ notRecorded }) => notRecorded)).toEqual([undefined, why, undefined])
  expect(approvalText(asked[1]!, { columns: 80, rows: 40 }).short).toContain(`\n  undo:      not recorded: ${why}\n`)
  const explain = (command: string) => asking.explain({ id: 'why', name: 'bash', arguments: { command } })
  expect(await explain('touch made')).toMatchObject({ notRecorded: why })
  expect(await explain('ls')).not.toHaveProperty('notRecorded')

  const store = Object.defineProperty(createMemoryStore(), 'changes', { value: undefined })
  const forgetful = await world.open({ store })
  await world.call(await forgetful.openSession({ approver }), 'bash', { command: 'touch made' })
  expect(asked.at(-1)?.notRecorded).toBe('this host keeps no record of changes')
})

it('leaves no copies and says that it cannot be undone if the host is killed meanwhile', LONG, async () => {
  await host.close()
  world.write('a.txt', 'one\n')
  const killed = spawn(process.execPath, [
    ...BUNDLED, '--no-warnings', join(import.meta.dirname, 'fixtures/running-host.ts'),
    world.workspace, world.home, CACHE,
    'sh -c "echo 1 > a.txt; touch began; sleep 60"',
  ], { stdio: 'inherit' })
  await vi.waitFor(() => expect(existsSync(join(world.workspace, 'began'))).toBe(true), 20_000)
  const journal = join(world.home, 'changes')
  expect(readdirSync(journal)).toHaveLength(1)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  await vi.waitFor(() => expect(readdirSync(journal)).toEqual([]), 10_000)
  expect((await cli()).stdout).toMatch(/killed .* bash +not undoable +command: sh -c/)
  expect(await cli('last')).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no call to undo here') })
})
