import { BulkheadError } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { flush, ManualClock } from '../../twin/clock.ts'
import { createWorld, sketchExtension, verdictOf, type ExtensionSketch, type World } from '../../twin/world.ts'

const yolo = { mode: 'yolo' } as const
const echo = { name: 'echo', arguments: {} }
const version = (number: number, more: ExtensionSketch = {}): ExtensionSketch =>
  ({ version: `${number}.0.0`, tools: { echo: { execute: () => `v${number}` } }, ...more })
const failing: ExtensionSketch = { phases: { activate: () => { throw new Error('no') } } }

/** The highest number of compartments at any time. */
function crowdOf({ sandbox }: World): () => number {
  let most = 0
  sandbox.beforeOpen = () => { most = Math.max(most, sandbox.alive.length + 1) }
  return () => most
}

const ALONE: readonly [string, ExtensionSketch][] = [
  ['loaded', { loadedCardinality: 'one' }], ['loaded', { loadedCardinality: { kind: 'n', n: 1 } }],
  ['active', { activeCardinality: 'one' }],
]

test.each(ALONE)('only one %s: the old one ends before the new one starts, and calls wait', async (_, alone) => {
  const gate = Promise.withResolvers<string>()
  const slow = { tools: { echo: { execute: () => gate.promise } } }
  const world = createWorld({ extensions: [version(1, { ...alone, ...slow })] })
  const session = await world.host.openSession(yolo)
  const crowd = crowdOf(world)
  const inFlight = session.call({ id: 'a', ...echo })
  await flush()
  world.find({ extensions: [version(2, alone)] })
  const reloading = world.host.reload()
  await flush()
  const during = session.call({ id: 'b', ...echo })
  await flush()
  expect(world.sandbox.requests).toHaveLength(1)
  gate.resolve('v1')
  expect(await inFlight).toMatchObject({ data: 'v1' })
  expect(await during).toMatchObject({ data: 'v2' })
  expect((await reloading).changes).toMatchObject([{ result: 'reloaded', generation: 2 }])
  expect(crowd()).toBe(1)
})

test.each(ALONE)('only one %s: if the new one fails, the old one comes back', async (_, alone) => {
  const world = createWorld({ extensions: [version(1, alone)] })
  const session = await world.host.openSession(yolo)
  const crowd = crowdOf(world)
  await session.call({ id: 'a', ...echo })
  world.find({ extensions: [version(2, { ...alone, ...failing })] })
  expect((await world.host.reload()).changes).toMatchObject([{ result: 'failed', error: { code: 'LifecycleFailure' } }])
  expect(await session.call({ id: 'b', ...echo })).toMatchObject({
    data: 'v1', metadata: { origin: { version: '1.0.0' } },
  })
  expect(crowd()).toBe(1)
  await world.host.close()
  expect(world.sandbox.alive).toEqual([])
})

test('the stricter manifest applies', async () => {
  const world = createWorld({ extensions: [version(1)] })
  const session = await world.host.openSession(yolo)
  const crowd = crowdOf(world)
  await session.call({ id: 'a', ...echo })
  world.find({ extensions: [version(2, { loadedCardinality: 'one' })] })
  await world.host.reload()
  expect(await session.call({ id: 'b', ...echo })).toMatchObject({ data: 'v2' })
  expect(crowd()).toBe(1)
})

test('two may be loaded: a third waits until one of them has ended', async () => {
  const two: ExtensionSketch = { loadedCardinality: { kind: 'n', n: 2 } }
  const gate = Promise.withResolvers<string>()
  const world = createWorld({ extensions: [version(1, { ...two, tools: { echo: { execute: () => gate.promise } } })] })
  const session = await world.host.openSession(yolo)
  const crowd = crowdOf(world)
  const inFlight = session.call({ id: 'a', ...echo })
  await flush()
  world.find({ extensions: [version(2, two)] })
  await world.host.reload()
  world.find({ extensions: [version(3, two)] })
  expect((await world.host.reload()).changes).toMatchObject([{ result: 'deferred', generation: 2 }])
  expect((await world.host.reload()).changes).toMatchObject([{ result: 'deferred' }])
  expect(await session.call({ id: 'b', ...echo })).toMatchObject({ data: 'v2' })
  const reloaded = new Promise<void>((resolve) => {
    world.host.on((event) => {
      if (event.type === 'ExtensionReloaded') resolve()
    })
  })
  gate.resolve('v1')
  expect(await inFlight).toMatchObject({ data: 'v1' })
  await reloaded
  expect(await session.call({ id: 'c', ...echo })).toMatchObject({ data: 'v3' })
  expect(crowd()).toBe(2)
})

test('an invalid change does not start, and the current one keeps running', async () => {
  const alone: ExtensionSketch = { loadedCardinality: 'one' }
  const world = createWorld({ extensions: [version(1, alone)] })
  const session = await world.host.openSession(yolo)
  await session.call({ id: 'a', ...echo })
  world.find({ extensions: [version(2, { ...alone, dependsOn: ['gone'] })] })
  expect((await world.host.reload()).changes).toMatchObject([
    { result: 'failed', error: { code: 'DependencyMissing' } },
  ])
  expect(await session.call({ id: 'b', ...echo })).toMatchObject({ data: 'v1' })
  expect(world.sandbox.requests).toHaveLength(1)
})

test('an exchange that waits for a call delays no other change', async () => {
  const alone: ExtensionSketch = { loadedCardinality: 'one' }
  const gate = Promise.withResolvers<string>()
  const other = (number: number): ExtensionSketch => ({
    id: 'other', version: `${number}.0.0`, tools: { other: { execute: () => `o${number}` } },
  })
  const world = createWorld({
    extensions: [version(1, { ...alone, tools: { echo: { execute: () => gate.promise } } }), other(1)],
  })
  const session = await world.host.openSession(yolo)
  const inFlight = session.call({ id: 'a', ...echo })
  await flush()
  world.find({ extensions: [version(2, alone), other(1)] })
  const exchanging = world.host.reload()
  await flush()
  world.find({ extensions: [version(2, alone), other(2)] })
  expect((await world.host.reload()).changes).toMatchObject([{ extension: 'other', result: 'reloaded' }])
  expect(await session.call({ id: 'b', name: 'other', arguments: {} })).toMatchObject({ data: 'o2' })
  gate.resolve('v1')
  expect(await inFlight).toMatchObject({ data: 'v1' })
  expect((await exchanging).changes).toMatchObject([{ extension: 'sample', result: 'reloaded' }])
})

test('a second change waits for an exchange: two are never loaded, and the last good one comes back', async () => {
  const alone: ExtensionSketch = { loadedCardinality: 'one' }
  const gate = Promise.withResolvers<string>()
  const clock = new ManualClock()
  const world = createWorld({
    clock, extensions: [version(1, { ...alone, tools: { echo: { execute: () => gate.promise, timeoutMs: 60_000 } } })],
  })
  const session = await world.host.openSession(yolo)
  const crowd = crowdOf(world)
  const inFlight = session.call({ id: 'a', ...echo })
  await flush()
  world.find({ extensions: [version(2, alone)] })
  const exchanging = world.host.reload()
  await flush()
  world.find({ extensions: [version(3, { ...alone, ...failing })] })
  expect((await world.host.reload()).changes).toMatchObject([{ result: 'deferred' }])
  await clock.advance(30_000)
  expect(world.sandbox.requests).toHaveLength(1)
  const failed = new Promise<void>((resolve) => { world.host.on(() => resolve(), ['ExtensionReloadFailed']) })
  gate.resolve('v1')
  expect(await inFlight).toMatchObject({ data: 'v1' })
  expect((await exchanging).changes).toMatchObject([{ result: 'reloaded' }])
  await failed
  expect(await session.call({ id: 'b', ...echo })).toMatchObject({ data: 'v2' })
  expect(crowd()).toBe(1)
  expect(world.eventsOf('SuppressedError')).toEqual([])
})

test('an extension that waits in an exchange can be removed at once', async () => {
  const alone: ExtensionSketch = { loadedCardinality: 'one' }
  const gate = Promise.withResolvers<string>()
  const world = createWorld({
    clock: new ManualClock(), extensions: [version(1, { ...alone, tools: { echo: { execute: () => gate.promise } } })],
  })
  const session = await world.host.openSession(yolo)
  const inFlight = session.call({ id: 'a', ...echo })
  await flush()
  world.find({ extensions: [version(2, alone)] })
  const exchanging = world.host.reload()
  await flush()
  await world.host.unregister('sample')
  expect((await exchanging).changes).toMatchObject([
    { result: 'failed', error: { message: 'The extension was unloaded.' } },
  ])
  expect(world.host.extensions().map(({ generation, availability }) => [generation, availability])).toEqual([
    [1, 'leaving'],
  ])
  expect(world.host.diagnostics).toEqual([])
  gate.resolve('v1')
  expect(await inFlight).toMatchObject({ data: 'v1' })
})

test('an extension reads its bytes before it waits in an exchange; if that fails, the old one comes back', async () => {
  const alone: ExtensionSketch = { loadedCardinality: 'one' }
  for (const isThere of [true, false]) {
    const gate = Promise.withResolvers<string>()
    let read = 0
    const readFiles = async () => {
      read++
      if (isThere) return new Map<string, Uint8Array>()
      throw new BulkheadError('IntegrityFailed', 'Others are there.')
    }
    const world = createWorld({
      extensions: [version(1, { ...alone, tools: { echo: { execute: () => gate.promise } } })],
    })
    const session = await world.host.openSession(yolo)
    const crowd = crowdOf(world)
    const inFlight = session.call({ id: 'a', ...echo })
    await flush()
    world.find({ extensions: [version(2, { ...alone, readFiles })] })
    const exchanging = world.host.reload()
    await flush()
    const during = session.call({ id: 'b', ...echo })
    await flush()
    expect(read).toBeGreaterThan(0)
    expect(world.sandbox.requests).toHaveLength(1)
    gate.resolve('v1')
    expect(await Promise.all([inFlight, during])).toMatchObject([{ data: 'v1' }, { data: isThere ? 'v2' : 'v1' }])
    expect((await exchanging).changes).toMatchObject([{ result: isThere ? 'reloaded' : 'failed' }])
    expect(crowd()).toBe(1)
  }
})

/** The first version, with a call that ends when the gate opens. */
async function inTheMiddle(alone: (typeof ALONE)[number][1]) {
  const gate = Promise.withResolvers<string>()
  const world = createWorld({
    extensions: [version(1, { ...alone, tools: { echo: { execute: () => gate.promise } } })],
  })
  const session = await world.host.openSession(yolo)
  const crowd = crowdOf(world)
  const inFlight = session.call({ id: 'a', ...echo })
  await flush()
  return { gate, world, session, crowd, inFlight }
}

test.each(ALONE)(
  'only one %s: an extension that comes back waits until the removed one has ended',
  async (_, alone) => {
    const { gate, world, session, crowd, inFlight } = await inTheMiddle(alone)
    world.find({ extensions: [] })
    expect((await world.host.reload()).changes).toMatchObject([{ result: 'removed' }])
    world.find({ extensions: [version(2, alone)] })
    expect((await world.host.reload()).changes).toMatchObject([{ result: 'deferred', generation: undefined }])
    expect(verdictOf(await session.call({ id: 'b', ...echo }))).toBe('ToolNotRegistered')
    gate.resolve('v1')
    expect(await inFlight).toMatchObject({ data: 'v1' })
    await flush()
    expect(await session.call({ id: 'c', ...echo })).toMatchObject({ data: 'v2' })
    expect(crowd()).toBe(1)
  },
)

test.each(ALONE)('only one %s: a registered extension waits until the removed one has ended', async (_, alone) => {
  const { gate, world, session, crowd, inFlight } = await inTheMiddle(alone)
  await world.host.unregister('sample')
  const { descriptor, module } = sketchExtension(version(2, alone))
  world.sandbox.add(`${descriptor.layer}/sample/2.0.0`, module)
  await world.host.register([descriptor])
  const during = session.call({ id: 'b', ...echo })
  await flush()
  expect(world.sandbox.requests).toHaveLength(1)
  gate.resolve('v1')
  expect(await Promise.all([inFlight, during])).toMatchObject([{ data: 'v1' }, { data: 'v2' }])
  expect(crowd()).toBe(1)
})
