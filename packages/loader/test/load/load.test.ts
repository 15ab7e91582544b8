import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createLoader } from '../../src/load/loader.ts'
import { emptyModule, HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'

const bundled = (...ids: string[]) => ids.map((id) => ({ manifest: manifestOf({ id }), module: emptyModule }))

describe('discovery', () => {
  test('bundled modules pass the same stages and keep their module', async () => {
    using home = new HomeFixture()
    const good = { manifest: manifestOf({ id: 'files' }), module: emptyModule }
    const { extensions, diagnostics } = await home.load({
      bundled: [
        good, { manifest: manifestOf({ id: 'late', contractVersion: '9.0.0' }), module: emptyModule },
        { manifest: { id: 'odd', at: new Date(0) }, module: emptyModule },
      ],
    })
    expect(extensions).toMatchObject([
      { id: 'files', layer: 'bundled', location: 'bundled:files', integrity: 'bundled' },
    ])
    expect(extensions[0]!.code).toEqual({ kind: 'module', module: emptyModule })
    expect(diagnostics).toMatchObject([
      {
        stage: 'contractVersion', code: 'ContractVersionMismatch', layer: 'bundled', extensionId: 'late',
        location: 'bundled:late',
      },
      {
        stage: 'shape', code: 'ShapeInvalid', layer: 'bundled', extensionId: 'odd', location: 'bundled:odd',
        path: '/at',
      },
    ])
    expect(Object.isFrozen(good.manifest.tools)).toBe(false)
  })

  test('a bundled manifest that changes on each read affects only itself', async () => {
    using home = new HomeFixture()
    let reads = 0
    const fickle = new Proxy(manifestOf({ id: 'fickle' }), {
      ownKeys: (target) => {
        if (++reads > 1) throw new Error('not again')
        return Reflect.ownKeys(target)
      },
    })
    const both = [{ manifest: fickle, module: emptyModule }, ...bundled('steady')]
    const { extensions, diagnostics } = await home.load({ bundled: both })
    expect(extensions.map(({ id }) => id)).toEqual(['steady'])
    expect(diagnostics).toMatchObject([{ code: 'InternalError', layer: 'bundled', location: 'bundled:fickle' }])
  })

  test('ignores a folder whose name begins with an underscore', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, '_shared')
    const { extensions, diagnostics } = await home.load()
    expect([extensions, diagnostics]).toEqual([[], []])
  })

  test('supports another name of the project folder', async () => {
    using home = new HomeFixture()
    home.extension(join(home.workspace, '.stud'), 'weather')
    home.extension(home.projectRoot, 'other')
    const { extensions } = await home.load({ roots: { global: null, projectFolder: '.stud' } })
    expect(extensions.map(({ id }) => id)).toEqual(['weather'])
  })

  test('refuses a tools folder that is a link or a file', async () => {
    using home = new HomeFixture()
    home.extension(join(home.base, 'elsewhere'), 'weather')
    symlinkSync(join(home.base, 'elsewhere', 'tools'), join(home.globalRoot, 'tools'))
    home.write(join(home.projectRoot, 'tools'), 'a file')
    const { extensions, diagnostics } = await home.load()
    expect(extensions).toEqual([])
    expect(diagnostics).toMatchObject([
      { stage: 'locate', code: 'PackageUnsafe', layer: 'global', location: join(home.globalRoot, 'tools') },
      { stage: 'locate', code: 'PackageUnsafe', layer: 'project', location: join(home.projectRoot, 'tools') },
    ])
  })

  test('refuses too many folders instead of truncating', async () => {
    using home = new HomeFixture()
    for (const folder of ['a', 'b', 'c']) home.extension(home.globalRoot, folder)
    expect((await home.load({ limits: { extensions: 3 } })).extensions).toHaveLength(3)
    const { extensions, diagnostics } = await home.load({ limits: { extensions: 2 } })
    expect(extensions).toEqual([])
    expect(diagnostics[0]!.message).toMatch(/more than 2 entries/)
  })

  test('treats a missing global root as an empty layer', async () => {
    using home = new HomeFixture()
    home.extension(home.projectRoot, 'weather')
    for (const global of [null, join(home.base, 'nowhere')]) {
      const { extensions, diagnostics } = await home.load({ roots: { global } })
      expect([extensions.length, diagnostics]).toEqual([1, []])
    }
  })
})

describe('shadowing', () => {
  test('keeps the extensions of all layers, higher layers last', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather', manifestOf({ version: '2.0.0' }))
    home.extension(home.projectRoot, 'weather', manifestOf({ version: '3.0.0' }))
    const { extensions, diagnostics } = await home.load({ bundled: bundled('weather') })
    expect(diagnostics).toEqual([])
    expect(extensions.map(({ layer, version }) => `${layer} ${version}`)).toEqual(
      ['bundled 1.4.0', 'global 2.0.0', 'project 3.0.0'],
    )
  })

  test('falls back over several layers', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather', 'not json')
    home.extension(home.projectRoot, 'weather', manifestOf({ kind: 'Other' as never }))
    const { diagnostics } = await home.load({ bundled: bundled('weather') })
    expect(diagnostics.map(({ layer, severity, fallbackTo }) => [layer, severity, fallbackTo])).toEqual([
      ['global', 'warning', 'bundled'], ['project', 'warning', 'bundled'],
    ])
  })

  test('falls back when the override is a link', async () => {
    using home = new HomeFixture()
    const target = home.extension(home.globalRoot, 'weather')
    home.write(join(home.projectRoot, 'tools', 'x'), '')
    symlinkSync(target, join(home.projectRoot, 'tools', 'weather'))
    expect((await home.load()).diagnostics).toMatchObject(
      [{ severity: 'warning', stage: 'locate', extensionId: 'weather', fallbackTo: 'global' }],
    )
  })

  test('stays an error without a fallback', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather', 'not json')
    home.extension(home.projectRoot, 'weather')
    const { diagnostics } = await home.load()
    expect(diagnostics).toMatchObject([{ severity: 'error', layer: 'global' }])
    expect('fallbackTo' in diagnostics[0]!).toBe(false)
  })
})

describe('disabling', () => {
  test('leaves a disabled tool to the host', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    const { extensions } = await home.load({}, 'trusted', { tools: { weather_tool: { enabled: false } } })
    expect(extensions).toHaveLength(1)
  })

  test('ignores inherited properties of the configuration', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'constructor', manifestOf({
      id: 'constructor', tools: [toolOf({ name: 'toString' })],
    }))
    const { extensions, diagnostics } = await home.load()
    expect([extensions.map(({ id }) => id), diagnostics]).toEqual([['constructor'], []])
  })
})

describe('the report', () => {
  test('cannot be changed', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    home.write(join(home.globalRoot, 'config.json'), { tools: { weather_tool: { timeoutMs: 5 } } })
    home.extension(home.globalRoot, 'broken', '')
    const report = await home.loadAsItIs()
    const [extension] = report.extensions
    for (const frozen of [
      report, report.extensions, report.diagnostics, report.diagnostics[0],
      report.config, report.config.merged, report.config.merged.tools, report.config.layers, report.config.layers[1],
      extension, extension!.manifest, extension!.manifest.tools[0]!.inputSchema['properties'],
      extension!.code, extension!.digests,
    ]) expect(Object.isFrozen(frozen)).toBe(true)
  })
})

describe('refuses', () => {
  test.each([
    ['/coreVersion', { coreVersion: 'next' }],
    ['/roots/global', { roots: { global: '~/.bulkhead' } }],
    ['/roots/projectFolder', { roots: { global: null, projectFolder: '../other' } }],
    ['/roots/projectFolder', { roots: { global: null, projectFolder: '..' } }],
    ['/roots/projectFolder', { roots: { global: null, projectFolder: '' } }],
  ])('the option %s', (path, over) => {
    expect(() => createLoader({ coreVersion: '1.0.0', roots: { global: null }, bundled: [], ...over }))
      .toThrow(expect.objectContaining({ code: 'ConfigInvalid', data: { path } }))
  })
})
