import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture, manifestOf } from '../home-fixture.ts'
import { archive, entry } from '../files/archive-fixture.ts'
import { codeOf, folderOf, install, installerFor, packageFiles, tarballOf } from './install-fixture.ts'
import { RegistryFixture } from './registry-fixture.ts'

const loaded = async (home: HomeFixture) => {
  const { extensions, diagnostics } = await home.loadAsItIs()
  return [
    extensions.map(({ id, version, layer, integrity }) => `${layer} ${id}@${version} ${integrity}`),
    diagnostics.map(({ code }) => code),
  ]
}

describe('installing', () => {
  test('installs a folder: the plan writes nothing, then it is locked and loaded', async () => {
    using home = new HomeFixture()
    const installer = installerFor(home)
    const plan = await installer.plan(folderOf(home, packageFiles()))
    expect(plan).toMatchObject({
      source: 'folder:weather-source', before: null, verdict: { kind: 'consent', explicit: false },
      capabilities: { adds: ['net: a.example'] },
    })
    expect(readdirSync(home.globalRoot)).toEqual([])

    const written = await installer.install(plan, 'ann')
    expect(written).toMatchObject({ version: '1.0.0', signer: null, accepted: { by: 'ann' } })
    expect(await loaded(home)).toEqual([['global weather@1.0.0 verified'], []])
    expect(JSON.parse(readFileSync(join(home.globalRoot, 'bulkhead.lock'), 'utf8'))).toMatchObject({
      lockVersion: 1, extensions: { weather: { version: '1.0.0' } },
    })
    expect(await (await home.load()).extensions[0]!.code).toMatchObject({ kind: 'files' })
  })

  test('installs a tarball into a project', async () => {
    using home = new HomeFixture()
    writeFileSync(join(home.base, 'weather-1.0.0.tgz'), await tarballOf(packageFiles()))
    await install(installerFor(home, { layer: 'project' }), 'weather-1.0.0.tgz')
    expect(await loaded(home)).toEqual([['project weather@1.0.0 verified'], []])
  })

  test('writes nothing through a project folder that is a link', async () => {
    using home = new HomeFixture()
    symlinkSync(home.globalRoot, home.projectRoot)
    expect(() => installerFor(home, { layer: 'project' })).toThrow(/is a link, so nothing is written to it/)
  })

  test('installs an npm package by name, version, range and tag, and requests only what it needs', async () => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    for (const version of ['1.0.0', '1.1.0', '2.0.0']) {
      registry.publish('@acme/weather', version, { tarball: await tarballOf(packageFiles(version)) })
    }
    const installer = installerFor(home, { registry: { url: registry.url, token: 'secret' } })
    const version = async (spec: string) => (await installer.plan(spec)).extension.version
    expect([
      await version('@acme/weather@1.0.0'), await version('@acme/weather@^1.0.0'),
      await version('@acme/weather@latest'), await version('@acme/weather'),
    ])
      .toEqual(['1.0.0', '1.1.0', '2.0.0', '2.0.0'])
    await install(installer, '@acme/weather@1.0.0')
    expect(installer.accepted().get('weather')).toMatchObject({ source: 'npm:@acme/weather@1.0.0' })
    expect(new Set(registry.requests.map(({ path }) => path.split('|')[0]))).toEqual(new Set([
      '@acme/weather', 'tarball',
    ]))
    expect(registry.requests.every(({ authorization }) => authorization === 'Bearer secret')).toBe(true)
    expect(await loaded(home)).toEqual([['global weather@1.0.0 verified'], []])
  })

  test('accepts a folder in the layer in place', async () => {
    using home = new HomeFixture()
    const at = home.extension(home.globalRoot, 'weather')
    expect(await install(installerFor(home), at)).toMatchObject({ source: 'in-place' })
    expect(existsSync(join(home.globalRoot, 'installed', 'weather'))).toBe(false)
    expect(await loaded(home)).toEqual([['global weather@1.4.0 verified'], []])
  })

  test('repeats without a change, and repairs damaged files', async () => {
    using home = new HomeFixture()
    const installer = installerFor(home)
    const spec = folderOf(home, packageFiles())
    await install(installer, spec)
    const lock = readFileSync(join(home.globalRoot, 'bulkhead.lock'), 'utf8')
    const again = await installer.plan(spec)
    expect(again.verdict).toEqual({ kind: 'unchanged' })
    expect(await installer.install(again, 'bob')).toMatchObject({ accepted: { by: 'ann' } })
    expect(readFileSync(join(home.globalRoot, 'bulkhead.lock'), 'utf8')).toBe(lock)
    const [extension] = (await home.load()).extensions
    writeFileSync(join(extension!.location, 'index.js'), 'changed')
    expect(await loaded(home)).toEqual([[], ['LockMismatch']])
    await install(installer, spec)
    expect(await loaded(home)).toEqual([['global weather@1.0.0 verified'], []])
  })

  test('uninstalls, and removes left-over folders with the next change', async () => {
    using home = new HomeFixture()
    const installer = installerFor(home)
    await install(installer, folderOf(home, packageFiles()))
    await installer.uninstall('weather')
    expect(await loaded(home)).toEqual([[], []])
    expect(await codeOf(installer.uninstall('weather'))).toBe('ExtensionNotFound')
    await install(
      installer,
      folderOf(
        home, packageFiles('1.0.0', [], { id: 'storms', tools: manifestOf({ id: 'storms' }).tools }), 'storms-source',
      ),
    )
    expect(readdirSync(join(home.globalRoot, 'installed')).filter((name) => !name.startsWith('.busy'))).toEqual([
      expect.stringMatching(/^storms-[0-9a-f]{32}$/),
    ])
  })
})

describe('refuses to install', () => {
  test.each([
    ['an empty name', ''], ['a missing path', './nowhere'], ['an invalid name', 'Weather Tool'],
    ['a file that is not an archive', './notes.txt'],
    ['a name without a registry', 'weather@1.0.0'], ['a name with ..', '@acme/../x'],
    ['a path that is too long', `./${'x'.repeat(300)}`],
  ])('refuses %s', async (_, spec) => {
    using home = new HomeFixture()
    home.write(join(home.base, 'notes.txt'), '')
    expect(await codeOf(installerFor(home).plan(spec))).toBe('InstallSourceInvalid')
  })

  test.each([
    ['an invalid manifest', { 'bulkhead.json': '{' }, 'ShapeInvalid'],
    ['a folder without a manifest', { 'index.js': '' }, 'ShapeInvalid'],
    [
      'a wrong integrity file',
      { ...packageFiles(), 'bulkhead.integrity.json': '{"algorithm":"sha512","files":{},"root":""}' },
      'IntegrityFailed',
    ],
    ['an invalid signature', { ...packageFiles(), 'bulkhead.sigstore.json': '{}' }, 'SignatureInvalid'],
    [
      'a locked name', packageFiles('1.0.0', [], {}, { name: 'bash', requires: { shell: [{ cmd: 'sh' }] } }),
      'LockedIdRedefined',
    ],
    ['a missing dependency', packageFiles('1.0.0', [], { dependsOn: ['elsewhere'] }), 'DependencyMissing'],
  ])('%s', async (_, files, code) => {
    using home = new HomeFixture()
    expect(await codeOf(install(installerFor(home), folderOf(home, files)))).toBe(code)
    expect(await loaded(home)).toEqual([[], []])
  })

  test('an archive with a path outside', async () => {
    using home = new HomeFixture()
    writeFileSync(join(home.base, 'evil.tgz'), archive(entry({ name: 'package/../../evil.txt', body: 'x' })))
    expect(await codeOf(installerFor(home).plan('evil.tgz'))).toBe('PackageUnsafe')
    expect(readdirSync(home.base).toSorted()).toEqual(['evil.tgz', 'home', 'work'])
  })

  test('names that are too long, before asking for consent', LONG, async () => {
    using home = new HomeFixture()
    writeFileSync(join(home.base, 'long.tgz'), await tarballOf({ ...packageFiles(), ['x'.repeat(300)]: '' }))
    await expect(installerFor(home).plan('./long.tgz')).rejects.toMatchObject({
      code: 'PackageUnsafe', message: expect.stringContaining('a name of more than 255 bytes'),
    })
  })

  test('a package that cannot be written, and removes its files', LONG, async () => {
    using home = new HomeFixture()
    writeFileSync(join(home.base, 'large.tgz'), await tarballOf({
      ...packageFiles(), 'large.txt': 'x'.repeat(100_000),
    }))
    const options = JSON.stringify({
      layer: 'global', workspace: home.workspace, cwd: home.base, loader: home.options(),
    })
    const child = join(import.meta.dirname, 'crash-child.ts')
    const { stderr } = spawnSync(
      'sh', ['-c', 'ulimit -f 32; exec "$0" "$@"', process.execPath, child, './large.tgz', options],
      { encoding: 'utf8' },
    )
    expect(stderr).toMatch(/could not be written: EFBIG[^]*code: 'InstallFailed'/)
    expect(readdirSync(join(home.globalRoot, 'installed'))).toEqual(['.busy'])
    expect(existsSync(join(home.globalRoot, 'bulkhead.lock'))).toBe(false)
  })

  test('a package whose tool name is taken in its layer', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'storms', manifestOf({ id: 'storms', tools: packageToolsNamed('forecast') }))
    expect(await codeOf(install(installerFor(home), folderOf(home, packageFiles())))).toBe('RegistrationConflict')
    expect((await home.load()).extensions.map(({ id }) => id)).toEqual(['storms'])
  })

  test('into a folder that is a link', async () => {
    using home = new HomeFixture()
    home.write(join(home.base, 'precious', 'keep.txt'), 'kept')
    symlinkSync(join(home.base, 'precious'), join(home.globalRoot, 'installed'))
    expect(await codeOf(install(installerFor(home), folderOf(home, packageFiles())))).toBe('PackageUnsafe')
    expect(readdirSync(join(home.base, 'precious'))).toEqual(['keep.txt'])
  })

  test('refuses while the lock cannot be read', async () => {
    using home = new HomeFixture()
    home.write(join(home.globalRoot, 'bulkhead.lock'), '{')
    expect(await codeOf(install(installerFor(home), folderOf(home, packageFiles())))).toBe('LockInvalid')
    expect(readFileSync(join(home.globalRoot, 'bulkhead.lock'), 'utf8')).toBe('{')
  })

  test('refuses after a concurrent change', async () => {
    using home = new HomeFixture()
    const installer = installerFor(home)
    const plan = await installer.plan(folderOf(home, packageFiles()))
    await install(installer, folderOf(home, packageFiles('1.0.1'), 'other-source'))
    expect(await codeOf(installer.install(plan, 'ann'))).toBe('InstallBusy')
    expect(await loaded(home)).toEqual([['global weather@1.0.1 verified'], []])
  })
})

const packageToolsNamed = (name: string) => [{ name, description: 'x', inputSchema: { type: 'object' as const } }]

describe('trust in a project', () => {
  test('is bound to its lock and its installed packages', async () => {
    using home = new HomeFixture()
    const loader = createLoader(home.options())
    home.write(join(home.projectRoot, 'config.json'), {})
    const digestNow = async () => (await loader.trust.decide(home.workspace, 'trusted')).digest
    const empty = await digestNow()
    await install(installerFor(home, { layer: 'project' }), folderOf(home, packageFiles()))
    const installed = await digestNow()
    expect(installed).not.toBe(empty)
    const request = { workspace: home.workspace, trust: 'trusted' as const, projectDigest: installed! }
    expect((await loader.load(request)).extensions.map(({ id }) => id)).toEqual(['weather'])
    const lock = join(home.projectRoot, 'bulkhead.lock')
    writeFileSync(lock, readFileSync(lock, 'utf8').replace('"by": "ann"', '"by": "bob"'))
    expect((await loader.load(request)).extensions).toEqual([])
    expect(await digestNow()).not.toBe(installed)
  })
})

test('ignores cached results after the lock changed', async () => {
  using home = new HomeFixture()
  const cached = { cache: join(home.base, 'cache') }
  await install(installerFor(home), home.extension(home.globalRoot, 'weather'))
  for (const _ of [1, 2]) expect((await home.loadAsItIs(cached)).extensions).toHaveLength(1)
  const lock = join(home.globalRoot, 'bulkhead.lock')
  writeFileSync(
    lock,
    readFileSync(lock, 'utf8').replace(/"root": "(.)/, (_, digit: string) => `"root": "${digit === '0' ? '1' : '0'}`),
  )
  expect((await home.loadAsItIs(cached)).diagnostics.map(({ code }) => code)).toEqual(['LockMismatch'])
})
