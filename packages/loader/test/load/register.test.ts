import { describe, expect, test } from 'vitest'
import { emptyModule, HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'

const readInput = {
  type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false,
}
const readTool = toolOf({ name: 'read', inputSchema: readInput, requires: { fs: { read: ['**'] } } })
const bundledRead = [{ manifest: manifestOf({ id: 'read', tools: [readTool] }), module: emptyModule }]
const depending = (id: string, ...dependsOn: string[]) => manifestOf({ id, dependsOn })

describe('two extensions of one layer', () => {
  test('may have the name of a tool in another layer', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'one', manifestOf({ id: 'one', tools: [toolOf({ name: 'shared' })] }))
    home.extension(home.projectRoot, 'two', manifestOf({ id: 'two', tools: [toolOf({ name: 'shared' })] }))
    const { extensions, diagnostics } = await home.load()
    expect([extensions.length, diagnostics]).toEqual([2, []])
  })

  test('do not conflict if one is disabled', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'one', manifestOf({ id: 'one', tools: [toolOf()] }))
    home.extension(home.globalRoot, 'two', manifestOf({ id: 'two', tools: [toolOf()] }))
    const { extensions, diagnostics } = await home.load({}, 'trusted', { extensions: { two: { enabled: false } } })
    expect([extensions.map(({ id }) => id), diagnostics]).toEqual([['one'], []])
  })
})

describe('a tool with a locked name', () => {
  test.each([
    ['as an equal definition', {}, undefined],
    [
      'with keys in another order', { inputSchema: Object.fromEntries(Object.entries(readInput).toReversed()) },
      undefined,
    ],
    ['with less power', { requires: { fs: { read: ['src/**'] } } }, undefined],
    ['with another schema', { inputSchema: { ...readInput, additionalProperties: true } }, '/tools/0/inputSchema'],
    ['with more power', { requires: { fs: { read: ['**'] }, net: { hosts: ['evil.example'] } } }, '/tools/0/requires'],
    ['with files beyond the workspace', { requires: { fs: { read: ['{user-data}/**'] } } }, '/tools/0/requires'],
  ])('is accepted only if it is equal or narrower: %s', async (_, over, path) => {
    using home = new HomeFixture()
    home.extension(home.projectRoot, 'mine', manifestOf({ id: 'mine', tools: [{ ...readTool, ...over }] }))
    const { extensions, diagnostics } = await home.load({ bundled: bundledRead })
    expect(extensions.map(({ id }) => id)).toEqual(path === undefined ? ['read', 'mine'] : ['read'])
    expect(diagnostics).toMatchObject(
      path === undefined ? [] : [{ stage: 'register', code: 'LockedIdRedefined', path, extensionId: 'mine' }],
    )
  })

  test('is accepted with an equal definition if the bundled tool is disabled', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'right', manifestOf({ id: 'right', tools: [readTool] }))
    home.extension(home.projectRoot, 'wrong', manifestOf({ id: 'wrong', tools: [toolOf({ name: 'read' })] }))
    const { extensions, diagnostics } = await home.load(
      { bundled: bundledRead }, 'trusted', { extensions: { read: { enabled: false } } },
    )
    expect(extensions.map(({ id }) => id)).toEqual(['right'])
    expect(diagnostics).toMatchObject([{ code: 'LockedIdRedefined', extensionId: 'wrong' }])
  })
})

describe('dependencies', () => {
  const outcome = async (home: HomeFixture) => {
    const { extensions, diagnostics } = await home.load()
    return {
      loaded: extensions.map(({ layer, id }) => `${layer}:${id}`),
      refused: diagnostics
        .map(({ code, extensionId, layer, path }) => `${layer}:${extensionId} ${code} ${path}`).toSorted(),
      messages: diagnostics.map(({ message }) => message),
    }
  }

  test('are found in the same layer and below', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'base')
    home.extension(home.projectRoot, 'top', depending('top', 'middle', 'base'))
    home.extension(home.projectRoot, 'middle', depending('middle', 'base', 'base'))
    expect(await outcome(home)).toMatchObject({ loaded: ['global:base', 'project:middle', 'project:top'], refused: [] })
  })

  test('refuse an extension with a missing one, and its dependents', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'top', depending('top', 'middle'))
    home.extension(home.globalRoot, 'middle', depending('middle', 'base', 'gone'))
    home.extension(home.globalRoot, 'base')
    expect(await outcome(home)).toMatchObject({
      loaded: ['global:base'],
      refused: ['global:middle DependencyMissing /dependsOn/1', 'global:top DependencyMissing /dependsOn/0'],
    })
  })

  test('are not found in a higher layer', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'low', depending('low', 'high'))
    home.extension(home.projectRoot, 'high')
    expect(await outcome(home)).toMatchObject(
      { loaded: ['project:high'], refused: ['global:low DependencyMissing /dependsOn/0'] },
    )
  })

  test('are missing if disabled', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'low')
    home.extension(home.globalRoot, 'high', depending('high', 'low'))
    const { extensions, diagnostics } = await home.load({}, 'trusted', { extensions: { low: { enabled: false } } })
    expect([extensions, diagnostics.map(({ code }) => code)]).toEqual([[], ['DependencyMissing']])
  })

  test('refuse all members of a cycle, and name them', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'a', depending('a', 'free', 'b'))
    home.extension(home.globalRoot, 'b', depending('b', 'c'))
    home.extension(home.globalRoot, 'c', depending('c', 'a'))
    home.extension(home.globalRoot, 'free')
    home.extension(home.globalRoot, 'waiting', depending('waiting', 'a'))
    home.extension(home.globalRoot, 'selfish', depending('selfish', 'selfish'))
    const { loaded, refused, messages } = await outcome(home)
    expect(loaded).toEqual(['global:free'])
    expect(refused).toEqual([
      'global:a DependencyCycle /dependsOn/1', 'global:b DependencyCycle /dependsOn/0',
      'global:c DependencyCycle /dependsOn/0',
      'global:selfish DependencyCycle /dependsOn/0', 'global:waiting DependencyMissing /dependsOn/0',
    ])
    expect(messages).toContainEqual(expect.stringContaining('a → b → c → a'))
  })

  test('refuse an override that closes a cycle, and keep the layers below', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'a')
    home.extension(home.globalRoot, 'b', depending('b', 'a'))
    home.extension(home.projectRoot, 'a', depending('a', 'b'))
    expect(await outcome(home)).toMatchObject(
      { loaded: ['global:a', 'global:b'], refused: ['project:a DependencyCycle /dependsOn/0'] },
    )
  })
})
