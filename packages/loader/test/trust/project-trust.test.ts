import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture } from '../home-fixture.ts'

describe('a load of a project', () => {
  test.each(['trusted', 'once'] as const)('includes the project layer if it is %s', async (trust) => {
    using home = new HomeFixture()
    home.extension(home.projectRoot, 'weather')
    home.write(join(home.projectRoot, 'config.json'), { mode: 'yolo' })
    const { extensions, diagnostics, config } = await home.load({}, trust)
    expect([extensions.length, diagnostics, config.merged.mode]).toEqual([1, [], 'yolo'])
  })

  test('excludes the project layer if it is declined', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    home.extension(home.projectRoot, 'weather')
    home.extension(home.projectRoot, 'other')
    home.write(join(home.projectRoot, 'config.json'), { mode: 'yolo', extensions: { weather: { enabled: false } } })
    const { extensions, diagnostics, config } = await home.load({}, 'declined')
    expect(extensions.map(({ layer, id }) => `${layer}:${id}`)).toEqual(['global:weather'])
    expect(config.merged).toEqual({})
    expect(config.layers.map(({ layer }) => layer)).toEqual(['bundled', 'global'])
    expect(diagnostics).toMatchObject([
      { stage: 'trust', code: 'ProjectTrustRequired', location: home.projectRoot, path: '' },
    ])
  })

  test('reports nothing without a project layer', async () => {
    using home = new HomeFixture()
    expect((await home.load({}, 'declined')).diagnostics).toEqual([])
  })
})

describe('a project layer', () => {
  test('exists if its folder does, even an empty one', async () => {
    using home = new HomeFixture()
    const loader = createLoader(home.options())
    expect(await loader.hasProjectLayer(home.workspace)).toBe(false)
    home.write(join(home.projectRoot, 'x'), '')
    expect(await loader.hasProjectLayer(home.workspace)).toBe(true)
  })

  test.each(['declined', 'trusted'] as const)('does not exist if the folder is a link (%s)', async (trust) => {
    using home = new HomeFixture()
    home.extension(join(home.base, 'elsewhere'), 'weather')
    symlinkSync(join(home.base, 'elsewhere'), home.projectRoot)
    expect(await createLoader(home.options()).hasProjectLayer(home.workspace)).toBe(false)
    const { extensions, diagnostics } = await home.load({}, trust)
    expect(extensions).toEqual([])
    expect(diagnostics).toMatchObject([
      { severity: 'error', stage: 'locate', code: 'PackageUnsafe', location: home.projectRoot },
    ])
  })

  test('does not exist if the folder is a file', async () => {
    using home = new HomeFixture()
    home.write(home.projectRoot, 'a file')
    expect(await createLoader(home.options()).hasProjectLayer(home.workspace)).toBe(false)
    expect((await home.load()).diagnostics).toMatchObject([{ stage: 'locate', code: 'PackageUnsafe' }])
  })

  test('does not exist in a home folder, which is the global layer', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    const loader = createLoader(home.options())
    const workspace = join(home.base, 'home')
    expect(await loader.hasProjectLayer(workspace)).toBe(false)
    for (const trust of ['trusted', 'declined'] as const) {
      const { extensions, diagnostics } = await loader.load({ workspace, trust, projectDigest: 'any' })
      expect([extensions.map(({ layer }) => layer), diagnostics.map(({ layer }) => layer)]).toEqual([
        ['global'], ['global'],
      ])
    }
  })
})

describe('a project layer is used only with the content that was trusted:', () => {
  test('a new layer is not used', async () => {
    using home = new HomeFixture()
    const loader = createLoader(home.options())
    const { status } = await loader.trust.status(home.workspace)
    if (status.kind !== 'nothing') throw new Error(status.kind)
    home.extension(home.projectRoot, 'weather')
    const { extensions, diagnostics } = await loader.load({
      workspace: home.workspace, trust: 'once', projectDigest: status.digest,
    })
    expect(extensions).toEqual([])
    expect(diagnostics).toMatchObject([
      { stage: 'trust', code: 'ProjectTrustRequired', message: expect.stringContaining('nothing of it is used') },
    ])
  })
})
