import { expect, test } from 'vitest'
import { createHost } from '../../../src/index.ts'
import { TwinSandbox } from '../../twin/sandbox.ts'
import { MemoryStore } from '../../twin/store.ts'
import { createWorld, sketchExtension } from '../../twin/world.ts'

test('each extension is stopped after its dependents', async () => {
  const order: string[] = []
  const extension = (id: string, dependsOn: string[]) =>
    ({ id, dependsOn, tools: { [id]: {} }, phases: { dispose: () => void order.push(id) } })
  const world = createWorld({
    extensions: [
      extension('base', []), extension('left', ['base']), extension('right', ['base']),
      extension('top', ['left', 'right']),
    ],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call({ id: 'c', name: 'top', arguments: {} })
  expect(await world.host.close()).toMatchObject({ faults: [] })
  expect([order[0], order.slice(1, 3).toSorted(), order[3]]).toEqual(['top', ['left', 'right'], 'base'])
})

test('closing reads the dependencies of each extension once', async () => {
  const count = 200
  let reads = 0
  const extensions = Array.from({ length: count }, (_, index) => {
    const { descriptor } = sketchExtension({ id: `e${index}`, tools: { [`t${index}`]: {} } })
    const { dependsOn } = descriptor.manifest
    const manifest = Object.defineProperty({ ...descriptor.manifest }, 'dependsOn', {
      enumerable: true,
      get: () => {
        reads++
        return dependsOn
      },
    })
    return { ...descriptor, manifest }
  })
  const host = createHost({
    report: { config: { merged: {}, layers: [] }, extensions, diagnostics: [] },
    sandbox: new TwinSandbox(new Map()), store: new MemoryStore(), workspace: '/work space', userData: '/data',
    env: () => undefined,
  })
  await host.openSession({ mode: 'yolo' })
  reads = 0
  expect(await host.close()).toMatchObject({ faults: [] })
  expect(reads).toBe(count)
})

test('a compartment that crashes in dispose after deactivate failed ends the stop', async () => {
  const world = createWorld({
    extensions: [{
      phases: { deactivate: () => { throw new Error('no') }, dispose: () => world.compartment().crash() },
    }],
  })
  await (await world.host.openSession({ mode: 'yolo' })).call({ id: 'c', name: 'echo', arguments: {} })
  expect(await world.host.close()).toMatchObject({ faults: [{ error: { code: 'LifecycleFailure' } }] })
  expect(
    world
      .eventsOf('LifecycleStateChanged')
      .map(({ to }) => to)
      .slice(-3),
  ).toEqual(['draining', 'failed', 'disposed'])
})
