import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import type { Host } from '../../src/index.ts'
import { UndoWorld } from './undo-world.ts'

let world: UndoWorld
let host: Host

beforeAll(async () => {
  world = new UndoWorld()
  host = await world.open()
})
afterAll(() => world[Symbol.asyncDispose]())

const NAMES = ['a', 'b', 'd/a', 'd/b', 'd/e/a', 'd/e', 'd']
const path = fc.constantFrom(...NAMES)
const content = fc.constantFrom('', 'one\n', 'two\nthree\n', 'x'.repeat(5_000), 'ä\0\n')
const mode = fc.constantFrom(0o644, 0o600, 0o755)
const operation = fc.oneof(
  fc.record({ name: fc.constant('write'), path, content }),
  fc.record({ name: fc.constant('edit'), path, old_string: fc.constantFrom('one', 'two'), new_string: content }),
  fc.record({ name: fc.constant('discard'), path }),
  fc.record({
    name: fc.constant('apply_patch'),
    patch: fc
      .uniqueArray(path, { minLength: 1, maxLength: 3 })
      .chain((paths) =>
        fc
          .tuple(...paths.map((one) => fc.constantFrom(`*** Add File: ${one}\n+added`, `*** Delete File: ${one}`)))
          .map((sections) => ['*** Begin Patch', ...sections, '*** End Patch', ''].join('\n')),
      ),
  }),
)
const start = fc.dictionary(fc.constantFrom('a', 'b', 'd/a', 'd/e/a'), fc.tuple(content, mode), {
  noNullPrototype: true,
})

it('restores every file and folder, byte for byte, and takes that back too', async () => {
  const given = fc.record({ start, operations: fc.array(operation, { maxLength: 12 }), stepwise: fc.boolean() })
  await fc.assert(fc.asyncProperty(given, async ({ start: files, operations, stepwise }) => {
    rmSync(world.workspace, { recursive: true })
    mkdirSync(world.workspace)
    for (const [name, [text, bits]] of Object.entries(files)) world.write(name, text, bits)
    if ('d/e/a' in files) chmodSync(join(world.workspace, 'd/e'), 0o700)
    const before = world.tree()
    const session = await host.openSession({ mode: 'yolo' })
    for (const { name, ...args } of operations) await world.call(session, name, args)
    const after = world.tree()
    if (stepwise) {
      while (String(await world.call(session, 'undo', {})).startsWith('NotFound') === false) {
        /* one call after another */
      }
    } else {
      await world.call(session, 'undo', { session: true }, 'the-undo')
    }
    expect(world.tree()).toEqual(before)
    if (!stepwise) {
      await world.call(session, 'undo', { call: 'the-undo' })
      expect(world.tree()).toEqual(after)
    }
    await session.close()
  }), { numRuns: thoroughly(6, 3_000) })
})
