import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readlinkSync, symlinkSync, truncateSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ApprovalRequest, UndoReport } from '@bulkhead/contract'
import { approvalText } from '../../src/facade/terminal/prompt-text.ts'
import { openSqliteStore, type Host, type Session } from '../../src/index.ts'
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
  await bash('sh -c "echo 1 > a.txt; rm b.txt link; chmod +x script; rm -r old; ln -sfn a.txt moved; mkdir -p new/deep; '
    + 'touch new/deep/d; ln -s /etc new/out; mv a.txt renamed"')
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

it('keeps nothing for a command that only reads, or that changes nothing', async () => {
  world.write('a.txt', 'one\n')
  utimesSync(join(world.workspace, 'a.txt'), 1, 1)
  await bash('cat a.txt')
  await bash('touch a.txt')
  await host.close()
  expect((await cli()).stdout).toBe('No call has changed a file here.\n')
})

const cli = (...args: readonly string[]) => inside(['undo', ...args, '--home', world.home], world.workspace)

it('is undone by the command line, and removes its copies', async () => {
  world.write('a.txt', 'one\n')
  await bash('sed -i s/one/two/ a.txt', 'call_1')
  const journal = join(world.home, 'changes')
  expect(existsSync(journal) ? readdirSync(journal) : []).toEqual([])
  await host.close()
  expect((await cli()).stdout).toMatch(/call_1 .* bash +done +a\.txt, command: sed -i s\/one\/two\/ a\.txt\n/)
  expect(await cli('last', '--dry-run')).toMatchObject({ code: 0, stdout: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+one\n' })
  expect(await cli('last')).toMatchObject({ code: 0, stdout: 'restored a.txt\n' })
  expect(world.read('a.txt')).toBe('one\n')
})
