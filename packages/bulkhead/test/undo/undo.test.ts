import { chmodSync, existsSync, rmdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createMemoryStore } from '@bulkhead/store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { defineTool, type Host, type Session } from '../../src/index.ts'
import { UndoWorld } from './undo-world.ts'

let world: UndoWorld
let host: Host
let session: Session
beforeEach(async () => {
  world = new UndoWorld()
  world.write('a.txt', 'one\ntwo\nthree\n')
  host = await world.open()
  session = await host.openSession({ mode: 'yolo' })
})
afterEach(() => world[Symbol.asyncDispose]())

const call = (name: string, args: object, id?: string) => world.call(session, name, args, id)

describe('undo', () => {
  it('shows the diff first, and changes nothing then', async () => {
    await call('edit', { path: 'a.txt', old_string: 'two', new_string: '2' })
    expect(await call('undo', { dry_run: true })).toMatchObject({
      applied: false, files: [{ path: 'a.txt', action: 'restore' }], lost: [],
      diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-2\n+two\n three\n',
    })
    expect(world.read('a.txt')).toBe('one\n2\nthree\n')
  })

  it('takes one call after the other, from the last, and skips undos', async () => {
    await call('write', { path: 'a.txt', content: 'first' })
    await call('write', { path: 'a.txt', content: 'second' })
    await call('undo', {})
    expect(world.read('a.txt')).toBe('first')
    await call('undo', {})
    expect(world.read('a.txt')).toBe('one\ntwo\nthree\n')
    expect(await call('undo', {})).toMatch(/^NotFound: There is no call to undo/)
  })

  it('takes a turn', async () => {
    await call('write', { path: 'before', content: 'x' })
    const turn = session.beginTurn()
    await call('write', { path: 'a.txt', content: 'x' })
    await call('write', { path: 'deep/er/b.txt', content: 'x' })
    await session.endTurn()
    await call('undo', { turn: turn.number })
    expect([world.read('a.txt'), existsSync(join(world.workspace, 'deep')), world.read('before')])
      .toEqual(['one\ntwo\nthree\n', false, 'x'])
    expect(await call('undo', { turn: 7 })).toBe(
      'NotFound: Turn 7 changed nothing that is recorded. Turns with changes: 1.',
    )
  })

  it('is refused if a later change would be lost, names it, and obeys force', async () => {
    await call('write', { path: 'a.txt', content: 'first' }, 'first')
    await call('write', { path: 'a.txt', content: 'second' }, 'second')
    expect(await call('undo', { call: 'first' })).toMatch(
      /^UndoConflict:.*\n- a\.txt: it was changed since by write in call second\n/,
    )
    writeFileSync(join(world.workspace, 'a.txt'), 'mine')
    expect(await call('undo', { call: 'second' })).toMatch(
      /- a\.txt: it was changed since, by a command or another program/,
    )
    expect(world.read('a.txt')).toBe('mine')
    expect(await call('undo', { call: 'first', force: true }, 'forced')).toMatchObject({ applied: true })
    expect(world.read('a.txt')).toBe('one\ntwo\nthree\n')
    await call('undo', { call: 'forced' })
    expect(world.read('a.txt')).toBe('mine')
  })

  it('changes nothing if one of several files would lose something', async () => {
    await call('write', { path: 'b.txt', content: 'x' })
    await call('write', { path: 'a.txt', content: 'x' })
    writeFileSync(join(world.workspace, 'a.txt'), 'mine')
    expect(await call('undo', { session: true })).toMatch(/^UndoConflict/)
    expect(world.read('b.txt')).toBe('x')
  })

  it('takes back what it did if a file cannot be written', async () => {
    world.write('folder/b.txt', 'before')
    await call('write', { path: 'a.txt', content: 'x' })
    await call('discard', { path: 'folder/b.txt' })
    rmdirSync(join(world.workspace, 'folder'))
    writeFileSync(join(world.workspace, 'folder'), 'a file where the folder was')
    expect(await call('undo', { session: true })).toMatch(/"folder\/b\.txt"|folder\/b\.txt/)
    expect(world.read('a.txt')).toBe('x')
  })

  it('says that a file was removed since', async () => {
    await call('edit', { path: 'a.txt', old_string: 'two', new_string: '2' })
    rmSync(join(world.workspace, 'a.txt'))
    expect(await call('undo', {})).toMatch(/\n- a\.txt: it was removed since, by a command or another program\n/)
    expect(await call('undo', { force: true })).toMatchObject({ files: [{ path: 'a.txt', action: 'recreate' }] })
    expect(world.read('a.txt')).toBe('one\ntwo\nthree\n')
  })

  it('does not count a file as undone whose content is not recorded', async () => {
    const digests = new Set<string>()
    const { changes: kept, ...store } = memoryStore()
    const changes = kept!
    const forgetful = {
      add: changes.add.bind(changes), list: changes.list.bind(changes),
      content: async (digest: string) => (digests.has(digest) ? changes.content(digest) : undefined),
    }
    const other = await world.open({ store: { ...store, changes: forgetful } })
    session = await other.openSession({ mode: 'yolo' })
    await call('write', { path: 'a.txt', content: 'x' }, 'w')
    await call('write', { path: 'new', content: 'x' }, 'n')
    expect(await call('undo', { call: 'w' })).toMatch(/\n- a\.txt: its content is no longer recorded\n/)
    expect(await call('undo', { session: true, force: true })).toMatchObject({
      files: [{ path: 'new' }], lost: [{ path: 'a.txt' }],
    })
    digests.add(
      (await changes.list({}))
        .map((one) => (one.kind === 'file' && one.before.kind === 'file' ? one.before.digest! : ''))
        .find((digest) => digest !== '')!,
    )
    expect(await call('undo', {})).toMatchObject({ files: [{ path: 'a.txt', action: 'restore' }] })
  })

  it('skips a file that was too long to record, unless it is named', async () => {
    truncateSync(join(world.workspace, 'a.txt'), 33 * 1024 ** 2)
    await call('write', { path: 'new', content: 'x' }, 'n')
    await call('write', { path: 'a.txt', content: 'x' }, 'w')
    expect(await call('undo', { call: 'w' })).toMatch(
      /\n- a\.txt: it had 34603008 bytes, and its content was not recorded\n/,
    )
    expect(await call('undo', {})).toMatchObject({ files: [{ path: 'new', action: 'remove' }] })
  })

  it('restores a file that is longer than a tool may write', LONG, async () => {
    truncateSync(join(world.workspace, 'a.txt'), 9 * 1024 ** 2)
    await call('write', { path: 'a.txt', content: 'x' })
    expect(await call('undo', {})).toMatchObject({ files: [{ path: 'a.txt', action: 'restore' }] })
    expect(statSync(join(world.workspace, 'a.txt')).size).toBe(9 * 1024 ** 2)
  })

  it('leaves folders with other content, and says so', async () => {
    await call('write', { path: 'made/b.txt', content: 'x' })
    writeFileSync(join(world.workspace, 'made/mine'), 'mine')
    expect(await call('undo', {})).toMatchObject({ applied: true, notEmpty: ['made'] })
    expect(world.tree()).toMatchObject({ 'made/mine': expect.stringMatching(/mine$/) })
    expect(existsSync(join(world.workspace, 'made/b.txt'))).toBe(false)
  })

  it('keeps permissions that were changed since, and restores those of a removed file', async () => {
    await call('edit', { path: 'a.txt', old_string: 'two', new_string: '2' })
    chmodSync(join(world.workspace, 'a.txt'), 0o755)
    await call('undo', {})
    expect(statSync(join(world.workspace, 'a.txt')).mode & 0o777).toBe(0o755)
    await call('discard', { path: 'a.txt' })
    await call('undo', {})
    expect(statSync(join(world.workspace, 'a.txt')).mode & 0o777).toBe(0o755)
  })

  it('names the commands that it cannot undo', LONG, async () => {
    world.exceedLimits()
    await call('bash', { command: 'touch made' }, 'shell')
    expect(await call('undo', { call: 'shell' })).toMatchObject({
      files: [], commands: [{ call: 'shell', command: 'touch made' }],
    })
    expect(await call('bash', { command: 'ls' }, 'reading')).toMatchObject({ exit_code: 0 })
    expect(await call('undo', { call: 'reading' })).toMatch(/^NotFound/)
  })

  it('suggests the nearest call', async () => {
    await call('write', { path: 'a.txt', content: 'x' }, 'toolu_17')
    expect(await call('undo', { call: 'toolu_71' })).toMatch(/Did you mean "toolu_17"\?/)
    expect(await call('undo', { call: 'toolu_17', turn: 1 })).toMatch(/^InputInvalid: Give only one/)
  })

  it('does not reach another session, except one that this session continues', async () => {
    await call('write', { path: 'a.txt', content: 'x' }, 'w')
    const other = await host.openSession({ mode: 'yolo' })
    expect(await world.call(other, 'undo', { call: 'w' })).toMatch(/^NotFound/)
    const next = await host.openSession({ mode: 'yolo', continues: session.id })
    expect(await world.call(next, 'undo', { call: 'w' })).toMatchObject({ applied: true })
    expect(world.read('a.txt')).toBe('one\ntwo\nthree\n')
  })

  it('is not for other tools', async () => {
    await call('write', { path: 'a.txt', content: 'x' }, 'w')
    const requires = { fs: { read: ['{workspace}'], write: ['{workspace}'] } }
    await host.register([
      defineTool({
        name: 'direct', description: 'Undoes.', requires, input: { type: 'object' },
        execute: (_, { fs }) => (fs as unknown as { undo(request: object): Promise<object> }).undo({ call: 'w' }),
      }),
      defineTool({
        name: 'nested', description: 'Calls undo.', input: { type: 'object' },
        requires: { ...requires, capabilities: ['tools.call'] },
        execute: async (_, { tools }) => (await tools.call('undo', { call: 'w' })) as object,
      }),
    ])
    expect(await call('direct', {})).toMatch(/^CapabilityUnavailable: Changes cannot be undone here/)
    expect(await call('nested', {})).toMatch(/A tool cannot undo/)
    expect(world.read('a.txt')).toBe('x')
  })

  it('is for programs of the model too', async () => {
    session = await host.openSession({ mode: 'yolo', codeMode: true })
    await call(
      'code_mode',
      { code: 'await tools.write({ path: "a.txt", content: "x" }); await tools.write({ path: "b", content: "x" })' },
      'p1',
    )
    expect(
      await call(
        'code_mode', { code: 'return (await tools.undo({ call: "p1" })).files.map(({ action }) => action)' }, 'p2',
      ),
    ).toEqual({ value: ['restore', 'remove'] })
    expect(world.read('a.txt')).toBe('one\ntwo\nthree\n')
    await call(
      'code_mode', { code: 'await tools.write({ path: "a.txt", content: "y" }); return await tools.undo({})' }, 'p3',
    )
    expect(world.read('a.txt')).toBe('one\ntwo\nthree\n')
    await call('code_mode', { code: 'return await tools.undo({ call: "p2" })' })
    expect(world.read('a.txt')).toBe('x')
  })

  it('asks before it undoes, and obeys deny rules', async () => {
    await call('write', { path: 'a.txt', content: 'x' })
    const asking = await host.openSession({ continues: session.id })
    expect(await world.call(asking, 'undo', { session: true })).toMatch(/^ApprovalDenied/)
    const denied = await host.openSession({
      mode: 'yolo', continues: session.id, rules: [{ permission: 'undo', pattern: '*', action: 'deny' }],
    })
    expect(await world.call(denied, 'undo', { session: true })).toMatch(/^RuleDenied/)
  })
})

it('a write fails if what it replaces cannot be recorded', async () => {
  const { changes: _, ...store } = memoryStore()
  const broken = { add: () => Promise.reject(new Error('disk')), list: async () => [], content: async () => undefined }
  const strict = await world.open({ store: { ...store, changes: broken } })
  const calls = await strict.openSession({ mode: 'yolo' })
  expect(await world.call(calls, 'write', { path: 'a.txt', content: 'x' })).toMatch(
    /^StoreUnavailable: Nothing was changed, .*disk/,
  )
  expect(world.read('a.txt')).toBe('one\ntwo\nthree\n')
  const without = await world.open({ store })
  const plain = await without.openSession({ mode: 'yolo' })
  expect(await world.call(plain, 'write', { path: 'a.txt', content: 'x' })).toMatchObject({ bytes: 1 })
  expect(await world.call(plain, 'undo', {})).toMatch(/^CapabilityUnavailable/)
})

/** With its methods as members, so that it can be spread. */
function memoryStore() {
  const store = createMemoryStore()
  return {
    forgets: true, changes: store.changes, read: store.read.bind(store), write: store.write.bind(store),
    remove: store.remove.bind(store), update: store.update.bind(store), list: store.list.bind(store),
    append: store.append.bind(store), records: store.records.bind(store), auditSpan: store.auditSpan.bind(store),
    close: store.close.bind(store),
  }
}
