import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { openSqliteStore } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'
import { UndoWorld } from './undo-world.ts'

const PROCESS = join(import.meta.dirname, 'fixtures/undo-process.ts')
/** In the middle: files are put in place after all are recorded. */
const POINTS = thoroughly([17], Array.from({ length: 40 }, (_, point) => point))

it.each(POINTS)(
  'killed at point %s, an undo leaves all files old or new, and the next undo completes it',
  async (point) => {
    await using world = new UndoWorld()
    world.write('a', 'one\n', 0o600)
    world.write('d/b', 'two\n', 0o755)
    world.write('gone/c', 'three\n')
    const before = world.tree()
    const open = async () => world.open({ store: await openSqliteStore({ file: join(world.home, 'bulkhead.db') }) })
    const host = await open()
    const session = await host.openSession({ mode: 'yolo' })
    await world.call(session, 'write', { path: 'a', content: 'other' })
    await world.call(session, 'edit', { path: 'd/b', old_string: 'two', new_string: '2' })
    await world.call(session, 'discard', { path: 'gone/c' })
    await world.call(session, 'discard', { path: 'gone' })
    await world.call(session, 'write', { path: 'new/deep/c', content: 'new' })
    await host.close()
    const after = world.tree()
    const args = [...BUNDLED, '--no-warnings', PROCESS, world.workspace, world.home, CACHE, session.id, String(point)]
    const { stdout, signal } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect(signal ?? stdout).toMatch(/^(SIGKILL|\d+)$/)
    const next = await open()
    const files = (tree: typeof before) => Object.entries(tree).filter(([, found]) => !found.startsWith('folder'))
    expect([files(before), files(after)]).toContainEqual(files(world.tree()))
    const continued = await next.openSession({ mode: 'yolo', continues: session.id })
    expect(await continued.call({ id: 'undo', name: 'undo', arguments: { session: true } })).toMatchObject({
      type: 'output',
    })
    expect(world.tree()).toEqual(before)
  },
)
