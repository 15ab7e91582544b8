import { describe, expect, test } from 'vitest'
import { emptyModule, HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'

const offering = (id: string, ...names: string[]) => manifestOf({ id, tools: names.map((name) => toolOf({ name })) })

describe('a name that looks like a locked name', () => {
  test.each([
    'Bash', 'READ', 'web-search', 'Web_Fetch', 'g1ob', 'gIob', 't0do', 'tool-search',
  ])('is refused: %s', async (name) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'mine', offering('mine', 'fine', name))
    const { extensions, diagnostics } = await home.load()
    expect(extensions).toEqual([])
    expect(diagnostics).toMatchObject([
      { stage: 'register', code: 'LockedIdRedefined', path: '/tools/1/name', extensionId: 'mine' },
    ])
    expect(diagnostics[0]!.message).toContain('looks like')
  })

  test.each(['reader', 'rea', 'web_searches', 'bashful', 'grip'])('is not confused with %s', async (name) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'mine', offering('mine', name))
    expect((await home.load()).diagnostics).toEqual([])
  })
})

describe('names that are hard to tell apart', () => {
  test.each([
    ['forecast', 'Forecast'], ['c1ock', 'clock'], ['modern', 'modem'], ['my_tool', 'my-tool'], ['vvave', 'wave'],
    ['Vvvat', 'Vwat'], ['Rndl', 'rNDI'],
  ])(
    'are refused in one layer: %s and %s', async (one, other) => {
      using home = new HomeFixture()
      home.extension(home.globalRoot, 'first', offering('first', one))
      home.extension(home.globalRoot, 'second', offering('second', other))
      const { extensions, diagnostics } = await home.load()
      expect(extensions).toEqual([])
      expect(diagnostics.map(({ code, path }) => [code, path])).toEqual([
        ['RegistrationConflict', '/tools/0/name'], ['RegistrationConflict', '/tools/0/name'],
      ])
    },
  )

  test.each([
    ['mode', 'node'], ['window', 'vindow'], ['last', 'lost'], ['a_b', 'ab'], ['Ilk', 'ilk2'], ['elm', 'elrm'],
  ])('do not include %s and %s', async (one, other) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'both', offering('both', one, other))
    expect((await home.load()).diagnostics).toEqual([])
  })

  test('are resolved in favour of the lower layer', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'first', offering('first', 'forecast'))
    home.extension(home.projectRoot, 'second', offering('second', 'Forecast'))
    const { extensions, diagnostics } = await home.load()
    expect(extensions.map(({ id }) => id)).toEqual(['first'])
    expect(diagnostics).toMatchObject([{ code: 'RegistrationConflict', layer: 'project', extensionId: 'second' }])
    expect(diagnostics[0]!.message).toContain('"forecast" of "first" in the global layer')
  })

  test('include ids, and names of one extension', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'clock', offering('clock', 'a'))
    home.extension(home.projectRoot, 'c1ock', offering('c1ock', 'b'))
    home.extension(home.projectRoot, 'both', offering('both', 'my_tool', 'my-tool'))
    const { extensions, diagnostics } = await home.load()
    expect(extensions.map(({ id }) => id)).toEqual(['clock'])
    expect(diagnostics.map(({ extensionId, path }) => [extensionId, path])).toEqual([
      ['both', '/tools/0/name'], ['c1ock', '/id'],
    ])
  })

  test('do not include equal names, which shadow each other', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'first', offering('first', 'forecast'))
    home.extension(home.projectRoot, 'second', offering('second', 'forecast'))
    expect((await home.load()).extensions).toHaveLength(2)
  })
})

describe('a missing dependency gives the reason:', () => {
  const reason = async (lay: (home: HomeFixture) => void, ...load: Parameters<HomeFixture['load']>) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'top', manifestOf({ id: 'top', dependsOn: ['base'] }))
    lay(home)
    const { diagnostics } = await home.load(...load)
    return diagnostics.find(({ code }) => code === 'DependencyMissing')?.message
  }

  test('no layer has it', async () => expect(await reason(() => {})).toContain('"base", which is not installed.'))
  test('it is disabled', async () =>
    expect(await reason((home) => home.extension(home.globalRoot, 'base'), {}, 'trusted', {
      extensions: { base: { enabled: false } },
    }))
      .toContain('is disabled by the configuration'))
  test('it was refused', async () =>
    expect(await reason((home) => home.extension(home.globalRoot, 'base', manifestOf({
      id: 'base', contractVersion: '9.0.0',
    }))))
      .toContain('was refused (ContractVersionMismatch)'))
  test('it cannot be registered', async () =>
    expect(await reason((home) => home.extension(home.globalRoot, 'base', offering('base', 'bash'))))
      .toContain('was refused (LockedIdRedefined)'))
  test('it is in a higher layer', async () =>
    expect(await reason((home) => home.extension(home.projectRoot, 'base'))).toContain('is only in the project layer'))
  test('finds a bundled one', async () =>
    expect(await reason(() => {}, { bundled: [{ manifest: manifestOf({ id: 'base' }), module: emptyModule }] }))
      .toBeUndefined())
})
