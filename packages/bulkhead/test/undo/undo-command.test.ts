import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { RecordedChange } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { changedCalls, readTarget } from '../../src/cli/calls/undo-target.ts'
import { openSqliteStore } from '../../src/index.ts'
import { inside } from '../command-inside.ts'
import { UndoWorld } from './undo-world.ts'

let world: UndoWorld
beforeEach(() => { world = new UndoWorld() })
afterEach(() => world[Symbol.asyncDispose]())

const undo = (...args: readonly string[]) =>
  inside(['undo', ...args, '--home', world.home], realpathSync(world.workspace))

it('lists what changed since a time, and puts all of it back, also what several calls wrote', LONG, async () => {
  world.write('a.txt', 'one\n')
  const host = await world.open({ store: await openSqliteStore({ file: join(world.home, 'bulkhead.db') }) })
  for (const content of ['two\n', 'three\n']) {
    const session = await host.openSession({ mode: 'yolo' })
    await world.call(session, 'write', { path: 'a.txt', content }, 'call_1')
  }
  await host.close()
  expect((await undo('--since', '2w')).stdout.match(/ write +done +a\.txt/g)).toHaveLength(2)
  expect((await undo('--since', '2030-01-01T00:00Z')).stdout).toBe('No call has changed a file here.\n')
  expect(await undo('all', '--since', '1h', '--dry-run')).toMatchObject({ code: 0 })
  expect(world.read('a.txt')).toBe('three\n')
  expect(await undo('all', '--since', '1h')).toMatchObject({ code: 0, stdout: 'restored a.txt\n'.repeat(2) })
  expect(world.read('a.txt')).toBe('one\n')
  expect(await undo('all', '--since', '1h')).toMatchObject({ code: 0, stdout: 'There is nothing to put back.\n' })
  expect(await undo('all')).toMatchObject({ code: 2, stderr: expect.stringContaining('Say since when') })
  const other = await undo('last', '--since', '1h')
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('--since is for') })
})

it('lists the calls that changed files, shows the diff, puts files back, and can be undone', async () => {
  world.write('a.txt', 'one\n')
  const host = await world.open({ store: await openSqliteStore({ file: join(world.home, 'bulkhead.db') }) })
  const session = await host.openSession({ mode: 'yolo' })
  const turn = session.beginTurn()
  await world.call(session, 'write', { path: 'a.txt', content: 'two\n' }, 'call_1')
  await session.endTurn()
  world.exceedLimits()
  await world.call(session, 'bash', { command: 'touch made' }, 'call_2')
  await host.close()
  const short = session.id.slice(0, 8)

  const { stdout: list } = await undo()
  expect(list).toMatch(new RegExp(`^CALL +TURN .*\n${short}/call_2 +- .* bash +not undoable +command: touch made\n`
    + `${short}/call_1 +1 .* write +done +a\\.txt\n`))
  expect(JSON.parse((await undo('--json')).stdout)).toMatchObject([
    { call: 'call_2', state: 'not undoable', files: [], commands: ['touch made'] },
    { call: 'call_1', session: session.id, turn: turn.number, state: 'done', files: [join(world.workspace, 'a.txt')] },
  ])
  expect(await undo('call_1', '--dry-run')).toMatchObject({
    code: 0, stdout: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+one\n',
  })
  expect(world.read('a.txt')).toBe('two\n')

  world.write('a.txt', 'mine\n')
  expect(await undo(`${short}:1`)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/UndoConflict .*\n- a\.txt: it was changed since, by a command or another program/),
  })
  expect(await undo(short, '--force')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^restored a\.txt\nlost: a\.txt: .*\nnot undoable: the command "touch made" in call call_2\n/,
    ),
  })
  expect(world.read('a.txt')).toBe('one\n')
  expect((await undo()).stdout).toMatch(/call_1 .* undone +a\.txt/)
  expect(await undo('call_1')).toMatchObject({ code: 0, stdout: 'It is already undone.\n' })
  expect(await undo('call_1', '--dry-run')).toMatchObject({ code: 0, stdout: 'It is already undone.\n' })
  expect(JSON.parse((await undo('call_1', '--json')).stdout)).toMatchObject({
    data: { alreadyUndone: true, applied: false },
  })
  expect(await undo(short)).toMatchObject({
    code: 0, stdout: expect.stringMatching(/^It is already undone\.\nnot undoable: the command/),
  })
  expect((await undo()).stdout.match(/\/undo/g)).toHaveLength(1)
  world.write('a.txt', 'later\n')
  expect(await undo('call_1')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/UndoConflict It is already undone\. .*\n- a\.txt: it was changed since/),
  })
  world.write('a.txt', 'one\n')
  expect(await undo('undo')).toMatchObject({ code: 0 })
  expect(world.read('a.txt')).toBe('mine\n')
})

it('undoes the last call that is not undone, and then the one before', LONG, async () => {
  const host = await world.open({ store: await openSqliteStore({ file: join(world.home, 'bulkhead.db') }) })
  const session = await host.openSession({ mode: 'yolo' })
  await world.call(session, 'write', { path: 'a.txt', content: 'one\n' }, 'call_1')
  await world.call(session, 'write', { path: 'a.txt', content: 'two\n' }, 'call_2')
  world.exceedLimits()
  await world.call(session, 'bash', { command: 'touch made' }, 'call_3')
  await host.close()
  const short = session.id.slice(0, 8)
  expect(await undo('last', '--dry-run')).toMatchObject({
    code: 0, stdout: expect.stringMatching(/-two\n\+one\n/), stderr: `Undo of ${short}/call_2, a call of write.\n`,
  })
  expect(await undo('last')).toMatchObject({ code: 0, stdout: 'restored a.txt\n' })
  expect(world.read('a.txt')).toBe('one\n')
  expect(await undo('last')).toMatchObject({
    code: 0, stdout: 'removed a.txt\n', stderr: `Undo of ${short}/call_1, a call of write.\n`,
  })
  expect(await undo('last')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^NotFound There is no call to undo here: each is already undone, or cannot be undone\./,
    ),
  })
})

it('refuses wrong usage, and a folder without records', async () => {
  expect(await undo('--dry-run')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/There is no record of changes/),
  })
  mkdirSync(world.home)
  await (await openSqliteStore({ file: join(world.home, 'bulkhead.db') })).close()
  expect(await undo()).toMatchObject({ code: 0, stdout: 'No call has changed a file here.\n' })
  for (const args of [['--dry-run'], ['a', 'b'], ['a', '--all']]) expect(await undo(...args)).toMatchObject({ code: 2 })
  expect(await undo('nothing')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^NotFound No call, turn or session "nothing"/),
  })
})

it('lists what cannot be put back, or only in part', () => {
  const file = (id: number, size: number, digest: string | null): RecordedChange => ({
    id, at: 0, workspace: '/', sessionId: 's', turn: 0, callId: 'c', rootCallId: 'c', tool: 'write', kind: 'file',
    path: `/${id}`, before: { kind: 'file', digest, size, mode: 0o644 }, after: { kind: 'absent' },
  })
  const undone: RecordedChange = {
    id: 3, at: 0, workspace: '/', sessionId: 't', turn: 0, callId: 'u', rootCallId: 'u', tool: 'undo', kind: 'undo',
    undoes: [1],
  }
  const states = (...changes: readonly RecordedChange[]) => changedCalls(changes).map(({ state }) => state)
  expect(states(file(1, 9e9, null))).toEqual(['not undoable'])
  expect(states(file(1, 1, 'a'), file(2, 1, 'b'))).toEqual(['done'])
  expect(states(file(1, 1, 'a'), file(2, 1, 'b'), undone)).toEqual(['partly undone'])
  expect(states(file(1, 1, 'a'), file(2, 9e9, null), undone)).toEqual(['undone'])
})

describe('what to undo', () => {
  const change = (sessionId: string, callId: string, turn = 0): RecordedChange => ({
    id: 1, at: 0, workspace: '/', sessionId, turn, callId, rootCallId: callId, tool: 'write', kind: 'command',
    command: 'x',
  })
  const calls = changedCalls([change('aaaa-1', 'one', 1), change('aaaa-1', 'two', 2), change('aabb-2', 'one')])
  const one = { session: 'aaaa-1', selection: { call: 'two' } }

  it.each([
    ['two', one], ['aaaa/two', one], ['aaaa-1/two', one], ['aaaa:2', { session: 'aaaa-1', selection: { turn: 2 } }],
    ['aabb', { session: 'aabb-2', selection: { session: true } }],
    ['one', /"one" is in 2 sessions\. Name one of them: aa..-[12]\/one, aa..-[12]\/one\./],
    ['tow', /Did you mean "two"\?/], ['aa', /No call/], ['aaaa/three', /Did you mean|No call/],
  ])('is read from the argument %s', (text, expected) => {
    if (expected instanceof RegExp) expect(() => readTarget(text, calls)).toThrow(expected)
    else expect(readTarget(text, calls)).toEqual(expected)
  })
})
