import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openSqliteStore, type CreateHostOptions, type Session } from '../../src/index.ts'
import { inside } from '../command-inside.ts'
import { UndoWorld } from './undo-world.ts'

let world: UndoWorld
beforeEach(() => {
  world = new UndoWorld()
  world.write('a.txt', 'one')
})
afterEach(() => world[Symbol.asyncDispose]())

const task = (prompt: string, background = false) => ({ subagent_type: 'clerk', prompt, background })
const write = (session: Session, path: string, id: string) =>
  world.call(session, 'write', { path, content: 'by an agent' }, id)

/** Writes the file that the prompt names. For two of them it also delegates, or undoes that. */
const runAgent: CreateHostOptions['runAgent'] = async ({ prompt, session }) => {
  await write(session, prompt, 'w')
  if (prompt === 'outer.txt') await world.call(session, 'task', task('inner.txt'), 't')
  const output = prompt === 'undone.txt' ? await world.call(session, 'undo', {}, 'u') : prompt
  return { output: JSON.stringify(output) }
}

it('what a sub-agent wrote is undone with the call that delegates, its turn and its session', async () => {
  const host = await world.open({ runAgent })
  const session = await host.openSession({ mode: 'yolo' })
  await write(session, 'mine.txt', 'w')
  const before = world.tree()
  const turn = session.beginTurn()
  await world.call(session, 'task', task('a.txt'), 'one')
  await world.call(session, 'task', task('outer.txt'), 'two')
  await session.endTurn()
  const after = world.tree()
  expect(Object.keys(after)).toEqual(['a.txt', 'inner.txt', 'mine.txt', 'outer.txt'])

  expect(await world.call(session, 'undo', { turn: turn.number, dry_run: true })).toMatchObject({
    files: [
      { path: 'a.txt', action: 'restore' }, { path: 'outer.txt', action: 'remove' },
      { path: 'inner.txt', action: 'remove' },
    ],
  })
  expect(await world.call(session, 'undo', { call: 'two/t/w' })).toMatchObject({ files: [{ path: 'inner.txt' }] })
  await world.call(session, 'undo', { call: 'two' })
  await world.call(session, 'undo', {})
  expect(world.tree()).toEqual(before)
  await world.call(session, 'undo', { session: true })
  expect(Object.keys(world.tree())).toEqual(['a.txt'])
})

it('a sub-agent undoes its own changes only', async () => {
  const host = await world.open({ runAgent })
  const session = await host.openSession({ mode: 'yolo' })
  await write(session, 'mine.txt', 'w')
  expect(await world.call(session, 'task', task('undone.txt'), 'one')).toMatchObject({
    output: expect.stringContaining('"path":"undone.txt","action":"remove"'),
  })
  expect(Object.keys(world.tree())).toEqual(['a.txt', 'mine.txt'])
  expect(await world.call(session, 'undo', {})).toMatchObject({ files: [{ path: 'mine.txt' }] })
})

it('what a sub-agent wrote in the background is undone too, also from the command line', async () => {
  const host = await world.open({ runAgent, store: await openSqliteStore({ file: join(world.home, 'bulkhead.db') }) })
  const session = await host.openSession({ mode: 'yolo' })
  const ended = new Promise((resolve) => host.on(resolve, ['SessionClosed']))
  await world.call(session, 'task', task('a.txt', true), 'one')
  await ended
  await host.close()
  const undo = (...args: readonly string[]) =>
    inside(['undo', ...args, '--home', world.home], realpathSync(world.workspace))
  const name = `${session.id.slice(0, 8)}/one`
  expect((await undo()).stdout).toMatch(new RegExp(`\n${name} +- .* task +done +a\\.txt\n`))
  expect(await undo(name)).toMatchObject({ code: 0, stdout: 'restored a.txt\n' })
  expect(world.read('a.txt')).toBe('one')
})
