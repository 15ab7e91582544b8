import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'

type Files = Readonly<Record<string, string | object>>
const module = { 'index.js': 'export default {}' }

class PackagesFixture extends HomeFixture {
  /** An npm package below a folder's node_modules. */
  npm(folder: string, name: string, files: Files): string {
    const at = join(folder, 'node_modules', name)
    for (const [path, content] of Object.entries({ ...module, ...files })) this.write(join(at, path), content)
    return at
  }

  named(root: string, packages: readonly unknown[]): void {
    this.write(join(root, 'config.json'), { packages })
  }
}

describe('a configured package', () => {
  test('loads with a manifest file in each layer, scoped or not', async () => {
    using home = new PackagesFixture()
    home.npm(home.globalRoot, 'weather', {
      'bulkhead.json': manifestOf(), 'package.json': { name: 'weather', version: '9.9.9' },
    })
    home.npm(home.workspace, '@acme/storms', { 'bulkhead.json': manifestOf({ id: 'storms' }) })
    home.npm(home.workspace, 'unnamed', { 'bulkhead.json': manifestOf({ id: 'unnamed' }) })
    home.named(home.globalRoot, ['weather'])
    home.named(home.projectRoot, ['@acme/storms', '@acme/storms'])
    const { extensions, diagnostics } = await home.load()
    expect(diagnostics).toEqual([])
    expect(extensions.map(({ layer, id, version, location }) => [layer, id, version, location])).toEqual([
      ['global', 'weather', '1.4.0', join(home.globalRoot, 'node_modules/weather')],
      ['project', 'storms', '1.4.0', join(home.workspace, 'node_modules/@acme/storms')],
    ])
  })

  test('loads with a bulkhead key, which may omit the version', async () => {
    using home = new PackagesFixture()
    const { version: _, ...manifest } = manifestOf()
    home.npm(home.globalRoot, 'weather', { 'package.json': { name: 'weather', version: '2.0.1', bulkhead: manifest } })
    home.named(home.globalRoot, ['weather'])
    const { extensions, diagnostics } = await home.load()
    expect([diagnostics, extensions.map(({ id, version }) => `${id}@${version}`)]).toEqual([[], ['weather@2.0.1']])
    const [{ code }] = extensions as [typeof extensions[number]]
    expect(code.kind === 'files' && [...(await code.readFiles()).keys()].toSorted()).toEqual([
      'index.js', 'package.json',
    ])
  })

  test('of the embedder may be a link to any folder', async () => {
    using home = new PackagesFixture()
    const app = join(home.base, 'app')
    const store = home.npm(join(home.base, 'store'), 'weather', { 'bulkhead.json': manifestOf() })
    mkdirSync(join(app, 'node_modules'), { recursive: true })
    symlinkSync(store, join(app, 'node_modules', 'weather'))
    const loader = createLoader(home.options({ roots: { global: home.globalRoot, packages: app } }))
    const { extensions, diagnostics } = await loader.load({
      workspace: home.workspace, trust: 'declined', projectDigest: 'any',
      overrides: { packages: ['weather'], policy: { lock: { global: 'off' } } },
    })
    expect([diagnostics, extensions.map(({ layer, location }) => [layer, location])]).toEqual([[], [['global', store]]])
  })

  test('of a project may be a link only inside the project', async () => {
    using home = new PackagesFixture()
    const inside = join(home.workspace, 'node_modules/.pnpm/weather@1/node_modules/weather')
    renameSync(
      home.npm(home.workspace, 'weather', { 'bulkhead.json': manifestOf() }),
      (mkdirSync(join(inside, '..'), { recursive: true }), inside),
    )
    symlinkSync(inside, join(home.workspace, 'node_modules/weather'))
    symlinkSync(
      home.npm(home.base, 'storms', { 'bulkhead.json': manifestOf({ id: 'storms' }) }),
      join(home.workspace, 'node_modules/storms'),
    )
    home.named(home.projectRoot, ['storms', 'weather'])
    const { extensions, diagnostics } = await home.load()
    expect(extensions.map(({ id, location }) => [id, location])).toEqual([['weather', inside]])
    expect(diagnostics).toMatchObject([
      { stage: 'locate', code: 'PackageUnsafe', path: '/packages/0', location: join(home.projectRoot, 'config.json') },
    ])
  })

  test('is not read before the project is trusted, and is part of its digest', async () => {
    using home = new PackagesFixture()
    const at = home.npm(home.workspace, 'weather', { 'bulkhead.json': manifestOf() })
    home.named(home.projectRoot, ['weather', 'gone'])
    expect((await home.load({}, 'declined')).extensions).toEqual([])
    const { trust } = createLoader(home.options())
    const { digest } = await trust.decide(home.workspace, 'trusted')
    const loaded = await createLoader(home.options()).load({
      workspace: home.workspace, trust: 'trusted', projectDigest: digest!,
    })
    expect(loaded.extensions.map(({ id }) => id)).toEqual(['weather'])
    writeFileSync(join(at, 'index.js'), 'export default []')
    expect((await trust.status(home.workspace)).status.kind).toBe('changed')
  })

  test('can be shadowed, used as a fallback, and disabled', async () => {
    using home = new PackagesFixture()
    home.npm(home.globalRoot, 'weather', { 'bulkhead.json': manifestOf() })
    home.named(home.globalRoot, ['weather'])
    const project = home.extension(home.projectRoot, 'weather', manifestOf({ version: '2.0.0' }))
    const ids = async (...args: Parameters<HomeFixture['load']>) =>
      (await home.load(...args)).extensions.map(({ layer, version }) => `${layer} ${version}`)
    expect(await ids()).toEqual(['global 1.4.0', 'project 2.0.0'])
    home.write(join(project, 'bulkhead.json'), '{')
    const { extensions, diagnostics } = await home.load()
    expect([extensions.length, diagnostics[0]?.fallbackTo]).toEqual([1, 'global'])
    expect(await ids({}, 'trusted', { extensions: { weather: { enabled: false } } })).toEqual([])
  })
})

describe('refuses a package', () => {
  const lacking: readonly (readonly [string, Files, string, string, RegExp])[] = [
    ['no manifest', { 'package.json': { name: 'weather' } }, '', '', /has no "bulkhead"/],
    ['neither file', {}, '', '', /no bulkhead\.json/],
    ['an invalid package.json', { 'package.json': '{' }, 'package.json', '', /package\.json is not JSON/],
    [
      'a duplicate key', { 'package.json': '{"bulkhead":{},"bulkhead":{}}' }, 'package.json', '/bulkhead',
      /duplicate key/,
    ],
    [
      'a manifest that is a string', { 'package.json': { bulkhead: './tool.json' } }, 'package.json', '/bulkhead',
      /expected object/,
    ],
    [
      'an invalid id', { 'package.json': { bulkhead: manifestOf({ id: '../x', tools: [toolOf()] }) } }, 'package.json',
      '/bulkhead/id', /lower-case/,
    ],
    [
      'an invalid version', { 'package.json': { version: 'x', bulkhead: { ...manifestOf(), version: undefined } } },
      'package.json', '/bulkhead/version', /a version/,
    ],
    [
      'a schema that does not compile',
      {
        'package.json': { bulkhead: manifestOf({ tools: [toolOf({ inputSchema: { type: 'object', required: 1 } })] }) },
      },
      'package.json', '/bulkhead/tools/0/inputSchema/required', /must be array/,
    ],
    [
      'a locked name', { 'package.json': { bulkhead: manifestOf({ tools: [toolOf({ name: 'bash' })] }) } },
      'package.json', '/bulkhead/tools/0/name', /reserved for/,
    ],
  ]
  test.each(lacking)('is refused with %s', async (_, files, file, path, message) => {
    using home = new PackagesFixture()
    const at = home.npm(home.globalRoot, 'weather', files)
    home.named(home.globalRoot, ['weather'])
    const { extensions, diagnostics } = await home.load()
    expect(extensions).toEqual([])
    expect(diagnostics).toMatchObject([{ severity: 'error', location: join(at, file), path }])
    expect(diagnostics[0]!.message).toMatch(message)
  })

  test.each([
    '../up', '/etc', 'a/b', '.bin', '@acme', '@acme/../x', 'UPPER', 'a\u200bb', '', 5,
  ])('is refused with the name %j', async (name) => {
    using home = new PackagesFixture()
    home.named(home.globalRoot, [name])
    expect((await home.load()).diagnostics).toMatchObject([
      { stage: 'configSchema', code: 'ConfigInvalid', path: '/packages/0' },
    ])
  })

  test('that is missing or not a folder', async () => {
    using home = new PackagesFixture()
    home.named(home.globalRoot, ['gone', 'file'])
    home.write(join(home.globalRoot, 'node_modules/file'), '')
    expect((await home.load()).diagnostics).toMatchObject([
      {
        stage: 'locate', code: 'ExtensionNotFound', path: '/packages/0', location: join(home.globalRoot, 'config.json'),
      },
      { stage: 'locate', code: 'PackageUnsafe', path: '/packages/1' },
    ])
    const { diagnostics } = await home.load({ roots: { global: null } }, 'declined', { packages: ['weather'] })
    expect(diagnostics).toMatchObject([{ code: 'ExtensionNotFound', location: 'overrides' }])
  })
})

test('works with another folder name', async () => {
  using home = new PackagesFixture()
  const root = join(home.workspace, '.stud')
  home.extension(root, 'weather')
  home.npm(home.workspace, 'storms', { 'bulkhead.json': manifestOf({ id: 'storms' }) })
  home.named(root, ['storms'])
  const { extensions, diagnostics } = await home.load({ roots: { global: null, projectFolder: '.stud' } })
  expect([diagnostics, extensions.map(({ id }) => id)]).toEqual([[], ['storms', 'weather']])
})
