import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  dependencyCycleFault, findIdConflicts, findToolNameConflicts, missingDependencyFault, orderDependencies,
  type Registrant,
} from '../src/policy/registration.ts'

test('orders each extension after its dependencies, ties by name', () => {
  const { order } = orderDependencies([
    { id: 'b', dependsOn: ['c'] }, { id: 'a', dependsOn: ['c'] }, { id: 'c', dependsOn: [] },
  ])
  expect(order).toEqual(['c', 'a', 'b'])
})

test('names a missing dependency and a cycle, and keeps the other extensions', () => {
  const { order, missing, circular } = orderDependencies([
    {
      id: 'a', dependsOn: ['absent'],
    }, { id: 'b', dependsOn: ['c'] }, { id: 'c', dependsOn: ['d'] }, { id: 'd', dependsOn: ['c'] }, {
      id: 'e', dependsOn: ['e'],
    },
    { id: 'f', dependsOn: [] },
  ])
  expect([...missing]).toEqual([['a', 0]])
  expect(circular.get('b')).toEqual(['c', 'd'])
  expect(circular.get('e')).toEqual(['e'])
  expect(order).toEqual(['f'])
})

test('in any graph each extension is ordered, misses a dependency, or is in a cycle, and the order holds', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f']
  const dependsOnSome = fc.uniqueArray(fc.constantFrom(...ids, 'gone'), { maxLength: 3 })
  fc.assert(fc.property(fc.dictionary(fc.constantFrom(...ids), dependsOnSome), (graph) => {
    const extensions = Object.entries(graph).map(([id, dependsOn]) => ({ id, dependsOn }))
    const { order, missing, circular } = orderDependencies(extensions)
    expect([...order, ...missing.keys(), ...circular.keys()].toSorted())
      .toEqual(extensions.map(({ id }) => id).toSorted())
    for (const { id, dependsOn } of extensions.filter((extension) => order.includes(extension.id))) {
      const placed = dependsOn.filter((wanted) => order.includes(wanted))
      for (const other of placed) expect(order.indexOf(other)).toBeLessThan(order.indexOf(id))
    }
  }))
})

const extension = (id: string, changes: Partial<Registrant> = {}): Registrant =>
  ({ id, layer: 'global', location: `/tools/${id}`, toolNames: [], dependsOn: [], ...changes })

test('refuses both extensions of one layer that claim an id or a tool name, and allows it across layers', () => {
  const [one, other] = [extension('weather', { location: '/a' }), extension('weather', { location: '/b' })]
  expect([...findIdConflicts([one, other, extension('weather', { layer: 'project' })])]).toEqual([
    [one, {
      code: 'RegistrationConflict', path: '/id',
      message: 'The global layer has the id "weather" more than once, so none of them is used. It is also in /b.',
    }],
    [other, expect.objectContaining({ path: '/id' })],
  ])
  const [first, second] = [extension('a', { toolNames: ['x', 'y'] }), extension('b', { toolNames: ['y'] })]
  expect([...findToolNameConflicts([first, second])].map(([{ id }, { path }]) => [id, path])).toEqual([
    ['a', '/tools/1/name'], ['b', '/tools/0/name'],
  ])
})

test('a fault about a dependency points at its entry', () => {
  const dependent = extension('a', { dependsOn: ['b', 'c'] })
  expect(missingDependencyFault(dependent, 1, 'is not loaded')).toMatchObject({
    path: '/dependsOn/1', message: 'The extension "a" depends on "c", which is not loaded.',
  })
  expect(dependencyCycleFault(dependent, ['a', 'c'])).toMatchObject({
    path: '/dependsOn/1', message: 'The dependencies of "a" form a cycle: a → c → a.',
  })
})
