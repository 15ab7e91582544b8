import { expect, test } from 'vitest'
import { Settings } from '../../src/model/settings.ts'

test('rules have the author and the path they were written in', () => {
  const rule = (permission: string) => ({ permission, pattern: '*', action: 'deny' }) as const
  const { rules } = new Settings({
    merged: {},
    layers: [
      { layer: 'project', location: '/p/config.json', config: { rules: [rule('p0'), rule('p1')] } },
      { layer: 'embedder', location: 'createHost', config: { rules: [rule('e')] } },
      { layer: 'bundled', location: 'bundled', config: { rules: [rule('b')] } },
      { layer: 'global', location: '/g/config.json', config: {} },
    ],
  })
  expect(rules.map(({ permission, author, isFinal, source }) => [permission, author, isFinal, source])).toEqual([
    ['p0', 'project', false, '/p/config.json#/rules/0'], ['p1', 'project', false, '/p/config.json#/rules/1'],
    ['e', 'embedder', true, 'createHost#/rules/0'], ['b', 'bundled', false, 'bundled#/rules/0'],
  ])
})

test('invalid rules do not change the paths of later ones', () => {
  const rule = (permission: string) => ({ permission, pattern: '*', action: 'deny' }) as const
  const omitted = ['/rules/3', '/rules/0', '/allowlist/1', '/rules/1']
  const { rules } = new Settings({
    merged: {},
    layers: [{ layer: 'global', location: 'g', config: { rules: [rule('a'), rule('b')] }, omitted }],
  })
  expect(rules.map(({ permission, source }) => [permission, source])).toEqual([
    ['a', 'g#/rules/2'], ['b', 'g#/rules/4'],
  ])
})

test('the flag of a role overrides the general flag', () => {
  const settings = new Settings({
    merged: { roles: { allow_bash: true, allow_bash_reviewer: false, allow_edit: false } }, layers: [],
  })
  expect(settings.forbiddingFlag('bash', 'reviewer')).toBe('allow_bash_reviewer')
  expect(settings.forbiddingFlag('bash', 'author')).toBeUndefined()
  expect(settings.forbiddingFlag('edit', 'agent')).toBe('allow_edit')
  expect(settings.forbiddingFlag('read', 'reviewer')).toBeUndefined()
})

test('names of object prototypes find nothing', () => {
  const settings = new Settings({ merged: {}, layers: [] })
  expect(settings.tool('constructor')).toEqual({})
  expect(settings.extension('constructor')).toEqual({})
})
