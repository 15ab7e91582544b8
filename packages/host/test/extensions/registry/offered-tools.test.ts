import { expect, test } from 'vitest'
import type { OfferedTools } from '../../../src/extensions/registry/offered-tools.ts'
import { createRegistry } from '../../twin/registry.ts'

const names = (offered: OfferedTools) => offered.enabled().map(({ tool }) => tool.name)

test('the offered tools do not change when a tool is unregistered', () => {
  const registry = createRegistry({
    extensions: [{ id: 'below', tools: { one: {} } }, { id: 'above', layer: 'project', tools: { one: {}, two: {} } }],
  })
  const before = registry.offered()
  const tool = before.get('one')
  registry.unregister('above', 'project')
  expect(names(before)).toEqual(['one', 'two'])
  expect(before.get('one')).toBe(tool)
  expect(names(registry.offered())).toEqual(['one'])
  expect(registry.offered().get('one')).not.toBe(tool)
})

test('the offered tools can be limited to names, repeatedly', () => {
  const all = createRegistry({ extensions: [{ tools: { one: {}, two: {}, three: {} } }] }).offered()
  const some = all.within(['one', 'two', 'nothing'])
  expect(names(some)).toEqual(['one', 'two'])
  expect(some.get('three')).toBeUndefined()
  expect(names(some.within(['t*']))).toEqual(['two'])
  expect(some.closeNames('thre')).toEqual([])
  expect(all.closeNames('thre')).toEqual(['three'])
  expect(all.within(undefined)).toBe(all)
})
