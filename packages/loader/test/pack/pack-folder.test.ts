import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inspectPackage } from '../../src/install/obtain-package.ts'
import { packFolder } from '../../src/pack/pack-folder.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { HomeFixture, manifestOf } from '../home-fixture.ts'
import { folderOf, packageFiles } from '../install/install-fixture.ts'
import { bundleOf } from './bundle-fixture.ts'
import { SigstoreFixture } from '../signature/sigstore-fixture.ts'

const pack = (home: HomeFixture, files: Parameters<typeof folderOf>[1], bundle?: (main: string) => Promise<string>) =>
  packFolder(join(home.base, folderOf(home, files)), {
    loader: home.options(), ...(bundle && { bundle: bundleOf(bundle) }),
  })
const codeOf = (work: Promise<unknown>) => work.then(() => 'done', (error: unknown) => BulkheadError.from(error).code)

describe('packing a folder', () => {
  test('adds an integrity file that verifies', async () => {
    using home = new HomeFixture()
    const packed = await pack(home, packageFiles())
    expect([...packed.files.keys()].toSorted()).toEqual([
      'bulkhead.integrity.json', 'bulkhead.json', 'index.js', 'lib/more.js',
    ])
    expect(packed).toMatchObject({ bundled: false, leftOut: [], extension: { id: 'weather', integrity: 'verified' } })
    writeFileSync(join(home.base, 'packed.tgz'), packed.tarball)
    expect(await inspectPackage('packed.tgz', home.base, home.options())).toMatchObject({
      files: 4, extension: { integrity: 'verified', digests: packed.extension.digests },
    })
  })

  test('returns the packed code, in memory and in the tarball', async () => {
    using home = new HomeFixture()
    const files = {
      ...packageFiles(), 'lib/more.js': 'import "dep"', 'node_modules/dep/index.js': 'module.exports = 1',
    }
    const packed = await pack(home, files, async () => 'export default "bundled"')
    writeFileSync(join(home.base, 'packed.tgz'), packed.tarball)
    for (const { extension: { code } } of [packed, await inspectPackage('packed.tgz', home.base, home.options())]) {
      const handed = code.kind === 'files' ? await code.readFiles() : new Map<string, Uint8Array>()
      expect([...handed.keys()].toSorted()).toEqual(['bulkhead.json', 'index.js', 'lib/more.js'])
      expect(Buffer.from(handed.get('index.js')!).toString()).toBe('export default "bundled"')
    }
  })

  test('packs an extension that needs configuration, with a warning', LONG, async () => {
    using home = new HomeFixture()
    const configSchema = {
      type: 'object', properties: { units: { enum: ['metric'] } }, required: ['units'], additionalProperties: false,
    }
    const warnings = [
      expect.stringMatching(
        new RegExp(String.raw`^Configure the extension before you use it\. `
          + String.raw`The configuration at /extensions/weather/config/units is missing\.$`),
      ),
    ]
    const packed = await pack(home, packageFiles('1.0.0', [], { configSchema }))
    expect(packed.warnings).toEqual(warnings)
    writeFileSync(join(home.base, 'packed.tgz'), packed.tarball)
    expect(await inspectPackage('packed.tgz', home.base, home.options())).toMatchObject({ warnings })
  })

  test('is reproducible, also over its own output', async () => {
    using home = new HomeFixture()
    const first = await pack(home, packageFiles())
    home.write(join(home.base, 'weather-source', 'bulkhead.integrity.json'), first.integrityFile)
    expect((await pack(home, {})).tarball).toEqual(first.tarball)
  })

  test('leaves out ignored files and those not in `files`', async () => {
    using home = new HomeFixture()
    const packed = await pack(home, {
      ...packageFiles(), '.env': 'TOKEN=secret', '.git/config': '', 'lib/.npmrc': '', 'old-1.0.0.tgz': '',
      'src/index.ts': '', 'README.md': '', 'assets/a/b.txt': '',
      'package.json': { name: 'weather', files: ['index.js', './lib', 'assets/**'] },
    })
    expect(packed.leftOut).toEqual(['.env', '.git', 'lib/.npmrc', 'old-1.0.0.tgz', 'src/index.ts'])
    expect([...packed.files.keys()].toSorted()).toEqual([
      'README.md', 'assets/a/b.txt', 'bulkhead.integrity.json', 'bulkhead.json', 'index.js', 'lib/more.js',
      'package.json',
    ])
  })

  test('warns if package.json has another version', LONG, async () => {
    using home = new HomeFixture()
    const { version } = (await pack(home, { ...packageFiles(), 'package.json': { name: 'weather' } })).extension
    expect((await pack(home, { 'package.json': { name: 'weather', version } })).warnings).toEqual([])
    expect((await pack(home, { 'package.json': { name: 'weather', version: '9.9.9' } })).warnings)
      .toEqual([
        `package.json has version 9.9.9 and bulkhead.json has ${version}. `
          + 'A package from a registry can be installed only if both are equal',
      ])
  })

  test('warns if dependencies are not installed', LONG, async () => {
    using home = new HomeFixture()
    const named = { 'package.json': { name: 'weather', dependencies: { dep: '^1.0.0' } } }
    expect((await pack(home, { ...packageFiles(), ...named })).warnings).toEqual([
      expect.stringMatching(/^package\.json has dependencies, .* pack again$/),
    ])
    expect((await pack(home, { 'node_modules/dep/index.js': 'module.exports = 1' })).warnings).toEqual([])
  })

  test('bundles used dependencies, also linked ones', async () => {
    using home = new HomeFixture()
    const files = {
      ...packageFiles(), 'lib/more.js': 'import "dep"', 'node_modules/dep/index.js': 'module.exports = 1',
    }
    expect(await codeOf(pack(home, files))).toBe('ModuleNotFound')
    symlinkSync('dep', join(home.base, 'weather-source', 'node_modules', 'linked'))
    const packed = await pack(home, {}, async (main) => `export default "the bundle of ${main}"`)
    expect([packed.bundled, packed.leftOut, Buffer.from(packed.files.get('index.js')!).toString()]).toEqual([
      true, ['node_modules'], 'export default "the bundle of index.js"',
    ])
  })

  test.each<[string, boolean, Parameters<typeof folderOf>[1]]>([
    [
      'none', false,
      { 'lib/more.js': '// dep is not needed\nexport const depth = "my-dep dep2"', 'README.md': 'import "dep"' },
    ],
    ['a provided module', false, { 'lib/more.js': 'import "@bulkhead/contract"; import "@bulkhead/contract/author"' }],
    ['a module', true, { 'lib/more.js': "export * from'dep'" }],
    ['a file of a module', true, { 'lib/more.js': 'const x = await import(`dep/part.js`)' }],
    ['a scoped module', true, { 'lib/more.cjs': 'require("@acme/dep")' }],
    ['a path to a module', true, { 'lib/more.js': 'import "../node_modules/other/x.js"' }],
    ['an import map', true, { 'package.json': { imports: { '#dep': 'dep' } } }],
  ])('bundles only for code that uses a dependency: %s', async (_, bundled, files) => {
    using home = new HomeFixture()
    const installed = {
      'node_modules/dep/index.js': '', 'node_modules/@acme/dep/index.js': '',
      'node_modules/@bulkhead/contract/index.js': '', 'node_modules/.bin/dep': '',
    }
    expect(await pack(home, { ...packageFiles(), ...installed, ...files }, async () => 'export default 1'))
      .toMatchObject({ bundled, leftOut: ['node_modules'] })
    if (!bundled) expect(await pack(home, {})).toMatchObject({ bundled })
  })

  test.each([
    ['no manifest', { 'bulkhead.json': '' }, 'ShapeInvalid'],
    ['a missing main', { 'bulkhead.json': manifestOf({ main: './dist/index.js' }) }, 'ShapeInvalid'],
    ['a main that `files` leaves out', { 'package.json': { files: ['lib'] } }, 'ShapeInvalid'],
    ['invalid `files`', { 'package.json': { files: 'lib' } }, 'ShapeInvalid'],
    ['an old signature', { 'bulkhead.sigstore.json': '{}' }, 'SignatureInvalid'],
    ['names that differ in case', { 'Lib/more.js': '' }, 'PackageUnsafe'],
    ['code that cannot be parsed', { 'index.js': 'export default {{{' }, 'CompartmentStartFailed'],
    ['an import that is not installed', { 'index.js': 'import "left-pad"' }, 'ModuleNotFound'],
    ['a path that is too long', { [`${'a'.repeat(250)}/`.repeat(5) + 'b']: '' }, 'PackageUnsafe'],
  ])('refuses %s', async (_, over, code) => {
    using home = new HomeFixture()
    expect(await codeOf(pack(home, { ...packageFiles(), ...over }))).toBe(code)
  })
})

test('refuses names that Windows cannot store, unless they are left out', async () => {
  using home = new HomeFixture()
  const files = { ...packageFiles(), 'lib/aux.js': '', 'docs/what?.md': '', 'docs./a': '' }
  await expect(pack(home, files)).rejects.toMatchObject({
    code: 'PackageUnsafe',
    message: [
      'The file "lib/aux.js" of the package has a name that is a device on Windows.',
      'The file "docs./a" of the package has a name that ends in a dot or a space, which Windows drops.',
      'The file "docs/what?.md" of the package has a name with one of < > " | ? *, which Windows does not allow.',
      'Rename it, so that the package can be installed on all systems.',
    ].join(' '),
  })
  expect((await pack(home, { 'package.json': { files: ['index.js', 'lib/more.js'] } })).leftOut).toEqual([
    'docs./a', 'docs/what?.md', 'lib/aux.js',
  ])
})

describe('signing', () => {
  let sigstore: SigstoreFixture
  beforeAll(async () => { sigstore = await SigstoreFixture.start() })
  afterAll(() => sigstore[Symbol.asyncDispose]())

  test('packs a signature only while it is valid', LONG, async () => {
    using home = new HomeFixture()
    const { integrityFile } = await pack(home, packageFiles())
    const folder = join(home.base, 'weather-source')
    home.write(join(folder, 'bulkhead.sigstore.json'), await sigstore.sign(integrityFile))
    const loader = home.options({ trustRoot: sigstore.trustRoot })
    const signed = await packFolder(folder, { loader })
    expect(signed.extension).toMatchObject({
      integrity: 'signed', signer: { repository: 'https://github.com/acme/weather' },
    })
    writeFileSync(join(home.base, 'signed.tgz'), signed.tarball)
    expect(await inspectPackage('./signed.tgz', home.base, loader)).toMatchObject({
      extension: { integrity: 'signed' },
    })

    home.write(join(folder, 'index.js'), 'export default 2')
    await expect(packFolder(folder, { loader })).rejects.toMatchObject({
      code: 'SignatureInvalid',
      message: expect.stringMatching(
        /delete bulkhead\.sigstore\.json, pack, sign bulkhead\.integrity\.json, and pack again\.$/,
      ),
    })
    rmSync(join(folder, 'bulkhead.sigstore.json'))
    home.write(
      join(folder, 'bulkhead.sigstore.json'), await sigstore.sign((await packFolder(folder, { loader })).integrityFile),
    )
    expect((await packFolder(folder, { loader })).extension).toMatchObject({ integrity: 'signed' })
  })

  test('reports a change since packing with its cure', async () => {
    using home = new HomeFixture()
    const { integrityFile } = await pack(home, packageFiles())
    const folder = folderOf(home, { 'bulkhead.integrity.json': integrityFile, 'index.js': 'export default 2' })
    await expect(inspectPackage(folder, home.base, home.options())).rejects.toMatchObject({
      code: 'IntegrityFailed',
      message: expect.stringMatching(
        /the file "index\.js" has changed\. .*run "bulkhead pack" to write a new bulkhead\.integrity\.json\.$/,
      ),
    })
  })

  test('detects a change of any byte, in the folder or in the tarball', async () => {
    using home = new HomeFixture()
    const packed = await pack(home, packageFiles())
    const folder = join(home.base, 'weather-source')
    for (const [path, bytes] of packed.files) {
      for (const [name, content] of packed.files) home.write(join(folder, name), content)
      for (const at of [0, Math.floor(bytes.length / 2), bytes.length - 1]) {
        const changed = Uint8Array.from(bytes)
        changed[at]! ^= 1
        home.write(join(folder, path), changed)
        expect(await codeOf(inspectPackage('./weather-source', home.base, home.options())), `${path} at ${at}`).toMatch(
          /IntegrityFailed|ShapeInvalid|DuplicateJsonKey/,
        )
      }
    }
    for (let at = 0; at < packed.tarball.length; at += thoroughly(499, 37)) {
      const changed = Uint8Array.from(packed.tarball)
      changed[at]! ^= 0x10
      writeFileSync(join(home.base, 'changed.tgz'), changed)
      // Some bits of a gzip file have no meaning, such as the padding of its last byte. Then the package is the same.
      const seen = await inspectPackage('./changed.tgz', home.base, home.options())
        .then(({ extension }) => extension.digests.package, (error: unknown) => BulkheadError.from(error).code)
      expect(['PackageUnsafe', 'IntegrityFailed', 'ShapeInvalid', packed.extension.digests.package], `byte ${at}`)
        .toContain(seen)
    }
  })
})
