import { describe, expect, test } from 'vitest'
import { flush } from '../twin/clock.ts'
import { createRegistry } from '../twin/registry.ts'
import { createWorld, sketchExtension, verdictOf, type ExtensionSketch } from '../twin/world.ts'

const yolo = { mode: 'yolo' } as const

describe('morphix: the registry', () => {
  test('can be created any number of times, each isolated', () => {
    const [one, other] = [createRegistry({ extensions: [{ id: 'a' }] }), createRegistry({})]
    expect(one.offered().get('echo')?.name).toBe('echo')
    expect(other.offered().get('echo')).toBeUndefined()
    other.register([sketchExtension({ id: 'b' }).descriptor])
    one.clear()
    expect(other.offered().get('echo')?.origin.extension).toBe('b')
  })

  test('registers, finds by name, lists and unregisters, and says whether the name was registered', async () => {
    const world = createWorld({ extensions: [] })
    expect(world.host.tool('echo')).toBeUndefined()
    await world.host.register([
      sketchExtension({ id: 'a' }).descriptor, sketchExtension({ id: 'b', tools: { other: {} } }).descriptor,
    ])
    expect(world.host.tool('echo')?.extension).toBe('a')
    expect(world.host.tools().map(({ name }) => name)).toEqual(['echo', 'other'])
    expect(await world.host.unregister('a')).toBe(true)
    expect(await world.host.unregister('a')).toBe(false)
    expect(world.host.tools().map(({ name }) => name)).toEqual(['other'])
    await world.host.clear()
    expect(world.host.tools()).toEqual([])
  })

  test('reports an unknown name, and disabled tools', async () => {
    const world = createWorld()
    const session = await world.host.openSession(yolo)
    expect(verdictOf(await session.call({ id: 'c', name: 'ehco', arguments: {} }))).toBe('ToolNotRegistered')
    const off = createWorld({ config: { toolsEnabled: false } })
    expect(verdictOf(await (await off.host.openSession(yolo)).call({ id: 'c', name: 'echo', arguments: {} }))).toBe(
      'ToolsDisabled',
    )
  })
})

describe('morphix: the workspace', () => {
  const everywhere: ExtensionSketch = { id: 'everywhere', tools: { shared: {}, everywhere: {} } }
  const workspaceOf = (name: string): ExtensionSketch => ({
    id: name, layer: 'project', tools: { shared: {}, [name]: {} },
  })

  /** A host in one folder, and a function that switches to another one. */
  function twoFolders() {
    const world = createWorld({ extensions: [everywhere, workspaceOf('here')] })
    const toThere = () =>
      world.host.switchWorkspace({
        workspace: '/there', sandbox: world.sandbox,
        report: world.find({ extensions: [everywhere, workspaceOf('there')] }),
      })
    return { world, toThere }
  }

  test('adds its tools over the global ones, and removes them without affecting the others', async () => {
    const { world, toThere } = twoFolders()
    expect(world.host.tools().map(({ name, extension }) => `${name} ${extension}`)).toEqual([
      'everywhere everywhere', 'here here', 'shared here',
    ])
    await toThere()
    expect(world.host.tools().map(({ name, extension }) => `${name} ${extension}`)).toEqual([
      'everywhere everywhere', 'shared there', 'there there',
    ])
  })

  test('leaves nothing behind when another one replaces it', async () => {
    const { world, toThere } = twoFolders()
    const session = await world.host.openSession(yolo)
    await session.call({ id: 'c', name: 'here', arguments: {} })
    await session.close()
    const { unloaded } = await toThere()
    expect(await unloaded).toMatchObject({ stopped: ['here'], faults: [] })
    await flush()
    expect(world.sandbox.alive).toEqual([])
    expect(world.host.extensions().map(({ id }) => id).toSorted()).toEqual(['everywhere', 'there'])
  })

  test('restores the hidden tools when the layer is removed', async () => {
    const world = createWorld({ extensions: [everywhere, workspaceOf('here')] })
    expect(world.host.tool('shared')?.extension).toBe('here')
    await world.host.unregister('here', 'project')
    expect(world.host.tool('shared')?.extension).toBe('everywhere')
  })
})
