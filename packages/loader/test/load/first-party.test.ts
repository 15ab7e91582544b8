import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigFile } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'
import { PackageFixture } from '../signature/signed-package.ts'

class ShippedFixture extends HomeFixture {
  readonly shippedRoot = join(this.base, 'product')

  shipped(overrides: ConfigFile = {}, cache?: string) {
    return this.load(
      { roots: { bundled: this.shippedRoot, global: this.globalRoot }, ...(cache !== undefined && { cache }) },
      'trusted', overrides,
    )
  }
}

const LAX = {
  policy: { integrity: { global: 'off', project: 'off' }, scopes: { weather: { integrity: 'off' } } },
} as const

describe('an extension in the bundled folder', () => {
  test('is in the bundled layer, with verified files', async () => {
    using home = new ShippedFixture()
    new PackageFixture('weather').install(home, undefined, home.shippedRoot)
    const { extensions, diagnostics } = await home.shipped()
    expect(diagnostics).toEqual([])
    expect(extensions).toMatchObject([
      { id: 'weather', layer: 'bundled', integrity: 'verified', code: { kind: 'files' } },
    ])
  })

  test.each([
    ['by default', {}], ['with any configuration', LAX],
  ])('is refused without an integrity file %s', async (_, config) => {
    using home = new ShippedFixture()
    rmSync(join(new PackageFixture('weather').install(home, undefined, home.shippedRoot), 'bulkhead.integrity.json'))
    for (const cache of [undefined, join(home.base, 'cache'), join(home.base, 'cache')]) {
      const { extensions, diagnostics } = await home.shipped(config, cache)
      expect(extensions).toEqual([])
      expect(diagnostics).toMatchObject([
        {
          severity: 'error', stage: 'integrity', code: 'IntegrityTokenMissing', layer: 'bundled',
          extensionId: 'weather',
        },
      ])
    }
  })

  test('is an error if the configured folder has no tools', async () => {
    using home = new ShippedFixture()
    const { diagnostics } = await home.shipped()
    expect(diagnostics).toMatchObject([{
      severity: 'error', stage: 'locate', code: 'ExtensionNotFound', layer: 'bundled',
      location: join(home.shippedRoot, 'tools'), cure: 'Set the root to the folder that contains "tools".',
    }])
  })

  test('is refused with a changed byte, and names the file', async () => {
    using home = new ShippedFixture()
    const at = new PackageFixture('weather').install(home, undefined, home.shippedRoot)
    writeFileSync(join(at, 'index.js'), 'export default []')
    expect((await home.shipped(LAX)).diagnostics).toMatchObject([
      { code: 'IntegrityFailed', layer: 'bundled', location: join(at, 'index.js') },
    ])
  })

  test('may require all commands, which is not cached for the same folder in another layer', async () => {
    using home = new ShippedFixture()
    const tools = [toolOf({ requires: { shell: [{ cmd: '*' }] } })]
    new PackageFixture('weather', '1.4.0', { tools }).install(home, undefined, home.shippedRoot)
    const cache = join(home.base, 'cache')
    await expect.poll(async () => {
      const { extensions: loaded } = await home.shipped({}, cache)
      return [loaded.length, existsSync(cache) && readdirSync(cache).length > 0]
    }, { interval: 20 }).toEqual([1, true])
    const { extensions, diagnostics } = await home.load({ roots: { global: home.shippedRoot }, cache })
    expect([extensions, diagnostics.map(({ code }) => code)]).toEqual([[], ['RequirementInvalid']])
  })

  test('reports faults in its manifest', async () => {
    using home = new ShippedFixture()
    const at = home.extension(home.shippedRoot, 'weather', manifestOf({ version: 'new' }))
    expect((await home.shipped()).diagnostics).toMatchObject([
      { code: 'ShapeInvalid', extensionId: 'weather', location: join(at, 'bulkhead.json') },
    ])
  })

  test('is shadowed by higher layers, and is their fallback', async () => {
    using home = new ShippedFixture()
    new PackageFixture('weather').install(home, undefined, home.shippedRoot)
    const above = home.extension(home.globalRoot, 'weather')
    expect((await home.shipped()).extensions.map(({ layer }) => layer)).toEqual(['bundled', 'global'])
    home.write(join(above, 'bulkhead.json'), manifestOf({ contractVersion: '9.0.0' }))
    const { extensions, diagnostics } = await home.shipped()
    expect(extensions.map(({ layer }) => layer)).toEqual(['bundled'])
    expect(diagnostics).toMatchObject([{ code: 'ContractVersionMismatch', severity: 'warning', fallbackTo: 'bundled' }])
  })
})

describe('a scope that requires integrity', () => {
  const codes = async (home: HomeFixture, scope: string) => {
    const { extensions, diagnostics } = await home.load({}, 'trusted', {
      policy: { scopes: { [scope]: { integrity: 'require' } } },
    })
    return [
      extensions.map(({ id }) => id),
      diagnostics.map(({ code, severity, extensionId }) => [code, severity, extensionId]),
    ]
  }
  const refused = (id: string) => [['IntegrityTokenMissing', 'error', id]]

  test.each([
    'acme-weather', 'acme-*',
  ])('refuses a package without an integrity file, and no other: %s', async (scope) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'acme-weather')
    home.extension(home.globalRoot, 'unrelated')
    expect(await codes(home, scope)).toEqual([['unrelated'], refused('acme-weather')])
  })

  test('refuses it in a project too, and loads it with an integrity file', async () => {
    using home = new HomeFixture()
    home.extension(home.projectRoot, 'acme-storms')
    new PackageFixture('acme-weather').install(home, undefined)
    expect(await codes(home, 'acme-*')).toEqual([['acme-weather'], refused('acme-storms')])
  })

  test('applies to a configured package by its npm scope', async () => {
    using home = new HomeFixture()
    for (const name of ['@acme/weather', '@other/storms']) {
      const id = name.split('/')[1]!
      home.write(join(home.globalRoot, 'node_modules', name, 'bulkhead.json'), manifestOf({ id }))
      home.write(join(home.globalRoot, 'node_modules', name, 'index.js'), 'export default {}')
    }
    home.write(join(home.globalRoot, 'config.json'), { packages: ['@acme/weather', '@other/storms'] })
    expect(await codes(home, '@acme')).toEqual([['storms'], refused('weather')])
  })
})
