import fc from 'fast-check'
import { expect, test } from 'vitest'
import { orderDependencies } from '../../src/extensions/registry/dependencies.ts'

test('each comes after what it depends on, ties by name', () => {
  const { order } = orderDependencies([{ id: 'b', dependsOn: ['c'] }, { id: 'a', dependsOn: ['c'] }, { id: 'c', dependsOn: [] }])
  expect(order).toEqual(['c', 'a', 'b'])
})

test('a gap and a circle are named, and affect no others', () => {
  const { order, missing, circular } = orderDependencies([
    {
      id: 'a', dependsOn: ['nobody'],
    }, { id: 'b', dependsOn: ['c'] }, { id: 'c', dependsOn: ['d'] }, { id: 'd', dependsOn: ['c'] }, { id: 'e', dependsOn: ['e'] },
    { id: 'f', dependsOn: [] },
  ])
  expect([...missing]).toEqual([['a', 'nobody']])
  expect(circular.get('b')).toEqual(['c', 'd', 'c'])
  expect(circular.get('e')).toEqual(['e', 'e'])
  expect(order).toEqual(['f'])
})

test('whatever the graph, everybody is ordered, missing something, or in a circle, and the order holds', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f']
  const dependsOnSome = fc.uniqueArray(fc.constantFrom(...ids, 'gone'), { maxLength: 3 })
  fc.assert(fc.property(fc.dictionary(fc.constantFrom(...ids), dependsOnSome), (graph) => {
    const extensions = Object.entries(graph).map(([id, dependsOn]) => ({ id, dependsOn }))
    const { order, missing, circular } = orderDependencies(extensions)
    expect([...order, ...missing.keys(), ...circular.keys()].toSorted()).toEqual(extensions.map(({ id }) => id).toSorted())
    for (const { id, dependsOn } of extensions.filter((extension) => order.includes(extension.id))) {
      const placed = dependsOn.filter((wanted) => order.includes(wanted))
      for (const other of placed) expect(order.indexOf(other)).toBeLessThan(order.indexOf(id))
    }
  }))
})
