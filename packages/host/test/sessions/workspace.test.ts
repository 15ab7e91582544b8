import { expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import { TwinSandbox } from '../twin/sandbox.ts'
import { createWorld, sketchExtension, verdictOf, type ExtensionSketch } from '../twin/world.ts'

const yolo = { mode: 'yolo' } as const
const echo = { id: 'c', name: 'echo', arguments: {} }

/** Another folder and its load report. */
function place(workspace: string, sketches: readonly ExtensionSketch[]) {
  const sketched = sketches.map(sketchExtension)
  const sandbox = new TwinSandbox(
    new Map(sketched.map(({ descriptor: { layer, id, version }, module }) => [`${layer}/${id}/${version}`, module])),
  )
  const report = {
    config: { merged: {}, layers: [] }, extensions: sketched.map(({ descriptor }) => descriptor), diagnostics: [],
  }
  return { workspace, sandbox, report }
}

test('switching replaces the project layer and keeps the global one', async () => {
  const everywhere: ExtensionSketch = { id: 'everywhere', tools: { everywhere: {} } }
  const world = createWorld({
    extensions: [everywhere, { id: 'here', layer: 'project', tools: { here: {}, echo: { execute: () => 'here' } } }],
  })
  const before = await world.host.openSession(yolo)
  expect(await before.call(echo)).toMatchObject({ data: 'here' })
  await before.close()
  const there = place('/there', [
    everywhere, { id: 'there', layer: 'project', tools: { there: {}, echo: { execute: () => 'there' } } },
  ])
  const { sessionsLeft, unloaded } = await world.host.switchWorkspace(there)
  expect(sessionsLeft).toBe(0)
  expect(await unloaded).toEqual({ stopped: ['here'], faults: [] })
  expect(world.sandbox.alive).toEqual([])
  expect(world.host.tools().map(({ name }) => name)).toEqual(['echo', 'everywhere', 'there'])
  const after = await world.host.openSession(yolo)
  expect(await after.call(echo)).toMatchObject({ data: 'there' })
  expect(verdictOf(await after.call({ ...echo, name: 'here' }))).toBe('ToolNotRegistered')
  expect(there.sandbox.requests[0]?.tools[1]?.grant.fs.read).toEqual(['/there'])
  expect(world.eventsOf('WorkspaceSwitched')).toMatchObject([{ from: '/work space', to: '/there' }])
})

test('a session stays in its workspace, which is unloaded when its last session has closed', async () => {
  const world = createWorld({ extensions: [{ layer: 'project', tools: { echo: { execute: () => 'here' } } }] })
  const [first, second] = [await world.host.openSession(yolo), await world.host.openSession(yolo)]
  const { sessionsLeft, unloaded } = await world.host.switchWorkspace(place('/there', []))
  let isUnloaded = false
  void unloaded.then(() => { isUnloaded = true })
  expect(sessionsLeft).toBe(2)
  expect(await first.call(echo)).toMatchObject({ data: 'here' })
  await first.close()
  await flush()
  expect(isUnloaded).toBe(false)
  expect(await second.call(echo)).toMatchObject({ data: 'here' })
  await second.close()
  expect(await unloaded).toMatchObject({ stopped: ['sample'] })
  expect(world.sandbox.alive).toEqual([])
})

test('closing the host ends the sessions of every workspace', async () => {
  const world = createWorld({ extensions: [{ layer: 'project' }] })
  const session = await world.host.openSession(yolo)
  await session.call(echo)
  const { unloaded } = await world.host.switchWorkspace(place('/there', []))
  expect(await world.host.close()).toMatchObject({ stopped: ['sample'], faults: [] })
  expect(await unloaded).toMatchObject({ stopped: ['sample'] })
  expect(verdictOf(await session.call(echo))).toBe('HostClosed')
  await expect(world.host.switchWorkspace(place('/elsewhere', []))).rejects.toMatchObject({ code: 'HostClosed' })
})

test('closing the host during a switch ends the sessions of both workspaces', async () => {
  const world = createWorld({ extensions: [{ layer: 'project' }] })
  const session = await world.host.openSession(yolo)
  await session.call(echo)
  const closed = Promise.withResolvers<unknown>()
  world.host.on(() => closed.resolve(world.host.close()), ['WorkspaceSwitched'])
  const { unloaded } = await world.host.switchWorkspace(place('/there', []))
  expect(await closed.promise).toMatchObject({ stopped: ['sample'], faults: [] })
  expect(await unloaded).toMatchObject({ stopped: ['sample'] })
  expect(world.eventsOf('SessionClosed')).toMatchObject([{ sessionId: session.id }])
})

test('a switch to another workspace and back restores the first one', async () => {
  const sketches: readonly ExtensionSketch[] = [{ layer: 'project', tools: { echo: { execute: () => 'here' } } }]
  const world = createWorld({ extensions: sketches })
  await world.host.switchWorkspace(place('/there', []))
  expect(world.host.tools()).toEqual([])
  await world.host.switchWorkspace(place('/work space', sketches))
  expect(await (await world.host.openSession(yolo)).call(echo)).toMatchObject({ data: 'here' })
})
