import type { EventType } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import type { Session } from '../../../src/index.ts'
import { flush } from '../../twin/clock.ts'
import { createWorld, type ExtensionSketch, type World } from '../../twin/world.ts'

const yolo = { mode: 'yolo' } as const
const version = (number: number, more: ExtensionSketch = {}): ExtensionSketch => ({
  version: `${number}.0.0`, tools: { echo: { description: `Version ${number}.`, execute: () => `v${number}` } },
  ...more,
})
const resultOf = async (session: Session) => {
  const outcome = await session.call({ id: 'c', name: 'echo', arguments: {} })
  return outcome.type === 'output' ? outcome.data : outcome.error.code
}
const nextEvent = ({ host }: World, type: EventType) =>
  new Promise<void>((resolve) => { host.on((event) => { if (event.type === type) resolve() }) })
const generations = ({ host }: World) => host.extensions().map(({ generation }) => generation)

test('a turn keeps its version; the next turn, and a call outside of turns, gets the new one', async () => {
  const world = createWorld({ extensions: [version(1)] })
  const [inTurn, outside] = [await world.host.openSession(yolo), await world.host.openSession(yolo)]
  const turn = inTurn.beginTurn()
  expect(await resultOf(inTurn)).toBe('v1')
  world.find({ extensions: [version(2)] })
  expect((await world.host.reload()).changes).toMatchObject([{ result: 'reloaded', generation: 2 }])
  expect(await resultOf(outside)).toBe('v2')
  expect(await resultOf(inTurn)).toBe('v1')
  expect(turn.tools()).toMatchObject([{ description: 'Version 1.' }])
  expect(generations(world)).toEqual([2, 1])
  await inTurn.endTurn()
  await flush()
  expect(generations(world)).toEqual([2])
  inTurn.beginTurn()
  expect(await resultOf(inTurn)).toBe('v2')
})

test('a cancelled turn, or a closed session, delays no reload', async () => {
  const world = createWorld({ extensions: [version(1)] })
  const session = await world.host.openSession(yolo)
  session.beginTurn()
  await resultOf(session)
  world.find({ extensions: [version(2)] })
  await world.host.reload()
  await session.close()
  await flush()
  expect(generations(world)).toEqual([2])
  expect(world.sandbox.alive).toHaveLength(1)
})

test('an unloaded extension stays until the turns that offer it have ended', async () => {
  const world = createWorld({ extensions: [version(1)] })
  const session = await world.host.openSession(yolo)
  session.beginTurn()
  expect(await world.host.unregister('sample')).toBe(true)
  expect(world.host.tools()).toEqual([])
  expect(await resultOf(session)).toBe('v1')
  await session.endTurn()
  expect(await resultOf(session)).toBe('ToolNotRegistered')
  await flush()
  expect(world.sandbox.alive).toEqual([])
})

test('in-turn: the next call of an open turn goes to the new one', async () => {
  const inTurn: ExtensionSketch = { reloadBehavior: 'in-turn' }
  const world = createWorld({ extensions: [version(1, inTurn)] })
  const session = await world.host.openSession(yolo)
  session.beginTurn()
  expect(await resultOf(session)).toBe('v1')
  world.find({ extensions: [version(2, inTurn)] })
  await world.host.reload()
  expect(await resultOf(session)).toBe('v2')
  await flush()
  expect(generations(world)).toEqual([2])
})

const NEEDS_QUIET: readonly [string, ExtensionSketch][] = [
  ['one may be loaded', { loadedCardinality: 'one' }], ['one may be active', { activeCardinality: 'one' }],
  ['one may be attached', { activeCardinality: 'one-attached' }],
]

test.each(NEEDS_QUIET)('where only %s, a change waits until no session has a turn', async (_, alone) => {
  const world = createWorld({ extensions: [version(1, alone)] })
  const [first, second] = [await world.host.openSession(yolo), await world.host.openSession(yolo)]
  first.beginTurn()
  second.beginTurn()
  expect(await resultOf(first)).toBe('v1')
  world.find({ extensions: [version(2, alone)] })
  expect((await world.host.reload()).changes).toMatchObject([{ result: 'deferred', generation: 1 }])
  const reloaded = nextEvent(world, 'ExtensionReloaded')
  await first.endTurn()
  await flush()
  expect(await resultOf(second)).toBe('v1')
  await second.endTurn()
  await reloaded
  expect(await resultOf(second)).toBe('v2')
  await flush()
  expect(world.sandbox.alive).toHaveLength(1)
})

test('a waiting change that is reverted has no effect', async () => {
  const alone: ExtensionSketch = { loadedCardinality: 'one' }
  const world = createWorld({ extensions: [version(1, alone)] })
  const session = await world.host.openSession(yolo)
  session.beginTurn()
  await resultOf(session)
  world.find({ extensions: [version(2, alone)] })
  await world.host.reload()
  world.find({ extensions: [version(1, alone)] })
  await session.endTurn()
  await flush()
  expect(await resultOf(session)).toBe('v1')
  expect(world.sandbox.requests).toHaveLength(1)
})

test('a change that waits ends with the host', async () => {
  const alone: ExtensionSketch = { loadedCardinality: 'one' }
  const world = createWorld({ extensions: [version(1, alone)] })
  const session = await world.host.openSession(yolo)
  session.beginTurn()
  await resultOf(session)
  world.find({ extensions: [version(2, alone)] })
  await world.host.reload()
  await world.host.close()
  await flush()
  expect(world.sandbox.requests).toHaveLength(1)
  expect(world.sandbox.alive).toEqual([])
  expect(world.eventsOf('SuppressedError')).toEqual([])
})

test('a tool that the configuration disables is off at once, also in an open turn', async () => {
  const world = createWorld({ extensions: [version(1)] })
  const session = await world.host.openSession(yolo)
  const turn = session.beginTurn()
  expect(await resultOf(session)).toBe('v1')
  world.find({ config: { tools: { echo: { enabled: false } } } })
  await world.host.reload()
  expect(turn.tools()).toHaveLength(1)
  expect(await resultOf(session)).toBe('ToolsDisabled')
})
