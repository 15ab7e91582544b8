import { expect, test } from 'vitest'
import type { Hooks } from '../../../src/index.ts'
import { createWorld } from '../../twin/world.ts'

const call = { id: 'c', name: 'echo', arguments: {} }
const opened = (hooks: readonly Hooks[]) => createWorld().host.openSession({ mode: 'yolo', hooks })

test('hooks may have other properties', async () => {
  class Counting implements Hooks {
    count = 0
    beforeToolExecution() { this.count++ }
  }
  const [given, added] = [new Counting(), new Counting()]
  const session = await opened([given])
  session.addHooks(added)
  await session.call(call)
  expect([given.count, added.count]).toEqual([1, 1])
})

test('a hook that would never be called is reported', async () => {
  const slip = { beforeToolExecutions: () => false } as Hooks
  const refusal = {
    code: 'ConfigInvalid', message: 'hooks has no option "beforeToolExecutions". Did you mean "beforeToolExecution"?',
  }
  await expect(opened([slip])).rejects.toMatchObject(refusal)
  const session = await opened([])
  expect(() => session.addHooks(slip)).toThrow(expect.objectContaining(refusal))
})
