import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ApprovalRequest } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { approvalText } from '../../src/facade/terminal/prompt-text.ts'
import type { Host, Session } from '../../src/index.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'
import { UndoWorld } from './undo-world.ts'

let world: UndoWorld
let host: Host
let session: Session
let asked: ApprovalRequest[]
beforeEach(async () => {
  world = new UndoWorld()
  world.write('a.txt', 'one\ntwo\nthree\n')
  host = await world.open()
  asked = []
  session = await host.openSession({
    approver: {
      approve: async (request) => {
        asked.push(request)
        return { decision: 'once' }
      },
    },
  })
})
afterEach(() => world[Symbol.asyncDispose]())

const diffOf = async (name: string, args: object): Promise<string | undefined> => {
  await world.call(session, name, args)
  return asked.at(-1)?.diff
}

it('shows what write, edit and apply_patch would change', async () => {
  expect(await diffOf('write', { path: 'a.txt', content: 'one\n2\nthree\n' }))
    .toBe('--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n')
  expect(await diffOf('edit', { path: 'a.txt', old_string: 'three', new_string: '3' }))
    .toBe('--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n 2\n-three\n+3\n')
  expect(await diffOf('write', { path: 'new.txt', content: 'x\n' })).toBe(
    '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n',
  )
  const patch = '*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: new.txt\n*** End Patch\n'
  expect(await diffOf('apply_patch', { patch })).toBe(
    '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n 2\n 3\n--- a/new.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n',
  )
})

it('shows what a third-party tool would write if its arguments say so, and undo puts it back', async () => {
  const requires = { fs: { write: ['{workspace}'] } }
  const tools = ['save', 'swap'].map((name) => ({ name, requires, mode: 'safe_write' as const, gated: true }))
  writeExtension(world.home, { id: 'editor', tools }, `
    const save = { execute: async ({ file_path, content }, { fs }) => { await fs.write(file_path, content) } }
    const swap = { execute: async ({ path, new_string }, { fs }) => { await fs.write(path, new_string) } }
    export default { tools: { save, swap } }
  `)
  await host.close()
  host = await world.open({ config: IN_THREADS })
  session = await host.openSession({
    approver: {
      approve: async (request) => {
        asked.push(request)
        return { decision: 'once' }
      },
    },
  })
  const note = '[As the arguments say. The tool itself decides what it writes.]\n'
  expect(await diffOf('save', { file_path: 'a.txt', content: 'one\n' }))
    .toBe(`${note}--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1 @@\n one\n-two\n-three\n`)
  expect(await diffOf('swap', { path: 'a.txt', old_string: 'one', new_string: '1' }))
    .toBe(`${note}--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n`)
  expect(world.read('a.txt')).toBe('1')
  await world.call(session, 'undo', { session: true })
  expect(world.read('a.txt')).toBe('one\ntwo\nthree\n')
})

it('shows what undo would change', async () => {
  await world.call(session, 'edit', { path: 'a.txt', old_string: 'two', new_string: '2' })
  expect(await diffOf('undo', {})).toMatch(/^--- a\/.*a\.txt\n.*\n@@ -1,3 \+1,3 @@\n one\n-2\n\+two\n three\n$/)
})

it('escapes what could deceive, and does not show binary content', async () => {
  const diff = await diffOf('write', { path: 'a.txt', content: 'x\u001b[2J\u202e\n' })
  expect(['\u001b', '\u202e'].filter((char) => diff?.includes(char))).toEqual([])
  expect(diff).toMatch(/\n\+x[^\n]*\[2J/)
  writeFileSync(join(world.workspace, 'b.bin'), Buffer.from([0, 1, 2]))
  expect(await diffOf('write', { path: 'b.bin', content: 'x' })).toBe(
    'Binary file b.bin: 3 bytes before, 1 bytes after\n',
  )
})

it('asks without a diff where there is none, and reads nothing outside of the grant', async () => {
  writeFileSync(join(world.folder, 'secret'), 'hidden')
  mkdirSync(join(world.workspace, 'folder'))
  for (const args of [
    { path: '../secret', content: 'x' }, { path: 'folder', content: 'x' },
    { path: 'a.txt', content: world.read('a.txt') },
  ]) {
    expect(await diffOf('write', args)).toBeUndefined()
  }
  expect(await diffOf('edit', { path: 'a.txt', old_string: 'absent', new_string: 'x' })).toBeUndefined()
  expect(await diffOf('bash', { command: 'touch made' })).toBeUndefined()
  expect(JSON.stringify(asked)).not.toContain('hidden')
})

it('shows the file as it is when the question is asked, not when the call was made', async () => {
  const careful = await host.openSession({
    approver: {
      approve: async (request) => {
        // A person edits the file while the first question is open and the others wait.
        if (asked.push(request) === 1) world.write('a.txt', 'zero\none\ntwo\nthree\n')
        return { decision: 'once' }
      },
    },
  })
  await Promise.all([['one', '1'], ['two', '2'], ['three', '3']].map(([before, after], index) =>
    careful.call({
      id: `e${index}`, name: 'edit', arguments: { path: 'a.txt', old_string: before!, new_string: after! },
    })))
  expect(asked.map(({ callId }) => callId)).toEqual(['e0', 'e1', 'e2'])
  expect(asked.map(({ diff }) => diff!.includes(' zero\n'))).toEqual([false, true, true])
})

it('takes most of the room of a terminal prompt', async () => {
  await diffOf('write', { path: 'a.txt', content: 'one\n2\nthree\n' })
  const { short, whole } = approvalText(asked.at(-1)!, { columns: 80, rows: 24 })
  expect(short).toMatch(/\n {2}diff:\n[\s\S]*\n {2}arguments:\n {2}… \d+ rows/)
  const { short: roomy } = approvalText(asked.at(-1)!, { columns: 80, rows: 40 })
  for (const text of [roomy, whole])
    expect(text).toMatch(
      /\n {2}diff:\n {2}\| --- a\/a\.txt\n[\s\S]*\n {2}\| -two\n {2}\| \+2\n[\s\S]*\n {2}arguments:\n/,
    )
})
