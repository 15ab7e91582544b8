import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, type Loader } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { createLoader } from '../../src/load/loader.ts'
import { emptyModule, HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'

const bundled = (...ids: string[]) => ids.map((id) => ({ manifest: manifestOf({ id }), module: emptyModule }))

describe('discovery', () => {
  test('loads a folder with a manifest and one module', async () => {
    using home = new HomeFixture()
    const location = home.extension(home.globalRoot, 'weather')
    const { extensions, diagnostics, config } = await home.load()
    expect(diagnostics).toEqual([])
    expect(config.merged).toEqual({})
    expect(extensions).toHaveLength(1)
    expect(extensions[0]).toMatchObject(
      { id: 'weather', version: '1.4.0', layer: 'global', location, integrity: 'unpinned', code: { kind: 'files' } },
    )
    expect(extensions[0]!.manifest).toMatchObject(
      { main: './index.js', stateSlot: null, env: [], tools: [{ gated: true, requires: {} }] },
    )
  })

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

  test('sorts by layer, then by id in byte order', async () => {
    using home = new HomeFixture()
    for (const folder of ['zeta', 'b', 'a', 'b-2']) home.extension(home.globalRoot, folder)
    for (const folder of ['c', 'a1']) home.extension(home.projectRoot, folder)
    home.extension(home.globalRoot, 'first-folder', manifestOf({ id: 'y' }))
    const { extensions } = await home.load({ bundled: bundled('n', 'm') })
    expect(extensions.map(({ layer, id }) => `${layer}:${id}`)).toEqual([
      'bundled:m', 'bundled:n', 'global:a', 'global:b', 'global:b-2', 'global:y', 'global:zeta', 'project:a1',
      'project:c',
    ])
  })

  test('ignores files, folders with a dot or an underscore, and other folders, and refuses links', async () => {
    using home = new HomeFixture()
    const elsewhere = home.extension(join(home.base, 'elsewhere'), 'linked')
    home.extension(home.globalRoot, '.staging')
    home.extension(home.globalRoot, '_shared')
    home.extension(home.globalRoot, 'weather/nested')
    home.extension(home.globalRoot, 'weather')
    home.extension(join(home.workspace, 'sub', '.bulkhead'), 'below')
    home.write(join(home.globalRoot, 'tools', 'README.md'), 'hello')
    symlinkSync(elsewhere, join(home.globalRoot, 'tools', 'linked'))
    const { extensions, diagnostics } = await home.load()
    expect(extensions.map(({ id }) => id)).toEqual(['weather'])
    expect(diagnostics).toMatchObject([
      {
        stage: 'locate', code: 'PackageUnsafe', layer: 'global', extensionId: 'linked',
        location: join(home.globalRoot, 'tools', 'linked'),
      },
    ])
  })

  test('does not search parent folders', async () => {
    using home = new HomeFixture()
    home.extension(home.projectRoot, 'weather')
    const inner = join(home.workspace, 'inner')
    mkdirSync(inner)
    const loader = createLoader(home.options())
    expect(await loader.hasProjectLayer(inner)).toBe(false)
    expect((await loader.load({ workspace: inner, trust: 'trusted', projectDigest: 'any' })).extensions).toEqual([])
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

  test('falls back from a refused override to the nearest layer below, with a warning', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    home.extension(home.projectRoot, 'weather', manifestOf({ requiredCoreVersion: '^9' }))
    const { extensions, diagnostics } = await home.load({ bundled: bundled('weather') })
    expect(extensions.map(({ layer }) => layer)).toEqual(['bundled', 'global'])
    expect(diagnostics).toMatchObject([
      {
        severity: 'warning', stage: 'requiredCoreVersion', layer: 'project', extensionId: 'weather',
        fallbackTo: 'global',
      },
    ])
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
  test('removes a disabled extension from all layers without a diagnostic', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    home.extension(home.projectRoot, 'weather', manifestOf({ requiredCoreVersion: '^9' }))
    home.extension(home.projectRoot, 'other')
    const { extensions, diagnostics } = await home.load({}, 'trusted', { extensions: { weather: { enabled: false } } })
    expect(extensions.map(({ id }) => id)).toEqual(['other'])
    expect(diagnostics).toEqual([])
  })

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

  test('is the same for the same disk', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    home.extension(home.globalRoot, 'broken', '{')
    const plain = async () =>
      JSON.stringify(await home.load(), (_, value: unknown) => value instanceof Map ? [...value] : value)
    expect(await plain()).toBe(await plain())
  })
})

describe('refuses', () => {
  const refusal = async (work: Promise<unknown>) => {
    const error: unknown = await work.then(() => undefined, (thrown: unknown) => thrown)
    return BulkheadError.is(error) ? error.code : error
  }

  test('a workspace that is not a folder', async () => {
    using home = new HomeFixture()
    const file = join(home.base, 'file')
    writeFileSync(file, '')
    const loader: Loader = createLoader(home.options())
    for (const workspace of [file, join(home.base, 'nowhere'), 'relative', '', 'a\0b']) {
      expect(await refusal(loader.load({ workspace, trust: 'trusted', projectDigest: 'any' }))).toBe(
        'ProjectPathInvalid',
      )
      expect(await refusal(loader.hasProjectLayer(workspace))).toBe('ProjectPathInvalid')
    }
  })

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
