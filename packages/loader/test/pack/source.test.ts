import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { inspectPackage } from '../../src/install/obtain-package.ts'
import { packFolder } from '../../src/pack/pack-folder.ts'
import { HomeFixture, manifestOf } from '../home-fixture.ts'
import { folderOf, packageFiles } from '../install/install-fixture.ts'
import { bundleOf } from './bundle-fixture.ts'

const pack = (home: HomeFixture, files: Parameters<typeof folderOf>[1], bundle?: (main: string) => Promise<string>) =>
  packFolder(join(home.base, folderOf(home, files)), {
    loader: home.options(), ...(bundle && { bundle: bundleOf(bundle) }),
  })
const codeOf = (work: Promise<unknown>) => work.then(() => 'done', (error: unknown) => BulkheadError.from(error).code)

describe('a main module in TypeScript', () => {
  const source = {
    ...packageFiles(), 'bulkhead.json': manifestOf({ main: './src/index.ts' }), 'index.js': 'not the main module',
    'src/index.ts': 'export default 1 as number', 'src/index.test.ts': '', 'src/more.d.ts': '',
  }
  const bundle = async (main: string) => `export default "the bundle of ${main}"`
  const textOf = (packed: Awaited<ReturnType<typeof pack>>, path: string) =>
    Buffer.from(packed.files.get(path)!).toString()

  test('is replaced by its bundle, a declaration and a manifest that names the bundle', async () => {
    using home = new HomeFixture()
    const packed = await pack(home, source, bundle)
    expect(packed).toMatchObject({
      bundled: true, leftOut: ['src/index.test.ts', 'src/index.ts'],
      extension: { manifest: { main: './src/index.js' } },
    })
    expect(textOf(packed, 'src/index.js')).toBe('export default "the bundle of src/index.ts"')
    expect(textOf(packed, 'src/index.d.ts')).toContain('declare const extension: ExtensionModule')
    expect(packed.files.has('src/more.d.ts')).toBe(true)
  })

  test('keeps listed sources and the declaration of the author', async () => {
    using home = new HomeFixture()
    const listed = { 'package.json': { files: ['src'] }, 'src/index.d.ts': 'export {}' }
    const packed = await pack(home, { ...source, ...listed }, bundle)
    expect([...packed.files.keys()].filter((path) => path.startsWith('src/')).toSorted())
      .toEqual(['src/index.d.ts', 'src/index.js', 'src/index.test.ts', 'src/index.ts', 'src/more.d.ts'])
    expect(textOf(packed, 'src/index.d.ts')).toBe('export {}')
  })

  test('may be named in package.json', async () => {
    using home = new HomeFixture()
    const { version, ...manifest } = manifestOf({ main: './index.ts' })
    const packed = await pack(home, {
      'package.json': { name: 'weather', version, bulkhead: manifest }, 'index.ts': '',
    }, bundle)
    expect(packed.extension).toMatchObject({ version, manifest: { main: './index.js' } })
  })

  test('declares the manifest, together with package.json', async () => {
    using home = new HomeFixture()
    const { tools } = manifestOf()
    const about = { name: '@acme/weather', version: '2.0.0', description: 'Forecasts.', bulkhead: { title: 'Weather' } }
    const folder = join(home.base, folderOf(home, { 'package.json': about, 'index.ts': '' }))
    const described: (readonly string[])[] = []
    const declare = async (module: string, files: ReadonlyMap<string, Uint8Array>) => {
      described.push([module, ...files.keys()].toSorted())
      return { tools, env: ['WEATHER_REGION'] } as unknown as JsonObject
    }
    const packed = await packFolder(folder, { loader: home.options(), bundle: bundleOf(bundle), describe: declare })
    expect(packed.extension.manifest).toMatchObject({
      id: 'weather', version: '2.0.0', description: 'Forecasts.', title: 'Weather', main: './index.js',
      requiredCoreVersion: `^${home.options().coreVersion}`, env: ['WEATHER_REGION'], tools: [{ name: 'weather_tool' }],
    })
    expect(described).toEqual([['index.d.ts', 'index.js', 'index.js', 'package.json']])
    expect(await codeOf(packFolder(folder, { loader: home.options(), bundle: bundleOf(bundle) }))).toBe('ShapeInvalid')
    const wrong = packFolder(folder, {
      loader: home.options(), bundle: bundleOf(bundle), describe: async () => ({ tools: [] }),
    })
    await expect(wrong).rejects.toThrow(/tools/)
    home.write(join(folder, 'package.json'), { name: 'weather', version: '1.0.0' })
    expect(
      (await packFolder(folder, { loader: home.options(), bundle: bundleOf(bundle), describe: declare })).extension
        .version,
    ).toBe('1.0.0')
  })

  test('must exist, and needs a bundler', async () => {
    using home = new HomeFixture()
    expect(await codeOf(pack(home, source))).toBe('ModuleNotFound')
    expect(await codeOf(pack(home, { 'bulkhead.json': manifestOf({ main: './gone.ts' }) }, bundle))).toBe(
      'ShapeInvalid',
    )
  })

  test('is refused by a host, with the cure', async () => {
    using home = new HomeFixture()
    const folder = join(home.base, folderOf(home, source))
    await expect(inspectPackage(folder, home.base, home.options())).rejects.toThrow(/TypeScript.*"bulkhead pack"/)
  })
})
