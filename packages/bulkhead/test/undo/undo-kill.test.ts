import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { openSqliteStore } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { UndoWorld } from './undo-world.ts'

const PROCESS = join(import.meta.dirname, 'fixtures/undo-process.ts')
/** Two for each change of the undo below. */
const POINTS = Array.from({ length: 16 }, (_, point) => point)

it.each(thoroughly([5], POINTS))(
  'killed at point %s, an undo leaves each file old or new, and the next undo completes it', async (point) => {
    await using world = new UndoWorld()
    world.write('a', 'one\n', 0o600)
    world.write('d/b', 'two\n', 0o755)
    world.write('gone', 'three\n')
    const before = world.tree()
    const host = await world.open({ store: await openSqliteStore({ file: join(world.home, 'bulkhead.db') }) })
    const session = await host.openSession({ mode: 'yolo' })
    await world.call(session, 'write', { path: 'a', content: 'other' })
    await world.call(session, 'edit', { path: 'd/b', old_string: 'two', new_string: '2' })
    await world.call(session, 'discard', { path: 'gone' })
    await world.call(session, 'write', { path: 'new/deep/c', content: 'new' })
    await host.close()
    const after = world.tree()
    const undo = (at: number) => {
      const args = ['--no-warnings', PROCESS, world.workspace, world.home, CACHE, session.id, String(at)]
      const { stdout, signal } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      return signal ?? stdout
    }
    expect(['SIGKILL', 'undone']).toContain(undo(point))
    for (const [path, found] of Object.entries(world.tree())) {
      if (!path.includes('.bulkhead-')) expect([before[path], after[path]]).toContain(found)
    }
    expect(undo(-1)).toBe('undone')
    for (const path of Object.keys(world.tree())) if (path.includes('.bulkhead-')) rmSync(join(world.workspace, path))
    expect(world.tree()).toEqual(before)
  })
