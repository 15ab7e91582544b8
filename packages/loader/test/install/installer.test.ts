import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture, manifestOf } from '../home-fixture.ts'
import { archive, entry } from '../files/archive-fixture.ts'
import { folderOf, install, installerFor, packageFiles, tarballOf } from './install-fixture.ts'
import { RegistryFixture } from './registry-fixture.ts'

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
    return 'done'
  } catch (error) {
    return BulkheadError.from(error).code
  }
}
const loaded = async (home: HomeFixture) => {
  const { extensions, diagnostics } = await home.loadAsItIs()
  return [extensions.map(({ id, version, layer, integrity }) => `${layer} ${id}@${version} ${integrity}`), diagnostics.map(({ code }) => code)]
}

describe('installing', () => {
  test('a folder: planned without writing, then there, locked and loaded', async () => {
    using home = new HomeFixture()
    const installer = installerFor(home)
    const plan = await installer.plan(folderOf(home, packageFiles()))
    expect(plan).toMatchObject({
      source: 'folder:weather-source', before: null, verdict: { kind: 'consent', explicit: false }, capabilities: { adds: ['net: a.example'] },
    })
    expect(readdirSync(home.globalRoot)).toEqual([])

    const written = await installer.install(plan, 'ann')
    expect(written).toMatchObject({ version: '1.0.0', signer: null, accepted: { by: 'ann' } })
    expect(await loaded(home)).toEqual([['global weather@1.0.0 verified'], []])
    expect(JSON.parse(readFileSync(join(home.globalRoot, 'bulkhead.lock'), 'utf8'))).toMatchObject({ lockVersion: 1, extensions: { weather: { version: '1.0.0' } } })
    expect(await (await home.load()).extensions[0]!.code).toMatchObject({ kind: 'files' })
  })

  test('a tarball, and into a project', async () => {
    using home = new HomeFixture()
    writeFileSync(join(home.base, 'weather-1.0.0.tgz'), await tarballOf(packageFiles()))
    await install(installerFor(home, { layer: 'project' }), 'weather-1.0.0.tgz')
    expect(await loaded(home)).toEqual([['project weather@1.0.0 verified'], []])
  })

  test('an npm package by name, version, range and tag; nothing but its document and its tarball is asked for', async () => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    for (const version of ['1.0.0', '1.1.0', '2.0.0']) registry.publish('@acme/weather', version, { tarball: await tarballOf(packageFiles(version)) })
    const installer = installerFor(home, { registry: { url: registry.url, token: 'secret' } })
    const version = async (spec: string) => (await installer.plan(spec)).extension.version
    expect([await version('@acme/weather@1.0.0'), await version('@acme/weather@^1.0.0'), await version('@acme/weather@latest'), await version('@acme/weather')])
      .toEqual(['1.0.0', '1.1.0', '2.0.0', '2.0.0'])
    await install(installer, '@acme/weather@1.0.0')
    expect(installer.accepted().get('weather')).toMatchObject({ source: 'npm:@acme/weather@1.0.0' })
    expect(new Set(registry.requests.map(({ path }) => path.split('|')[0]))).toEqual(new Set(['@acme/weather', 'tarball']))
    expect(registry.requests.every(({ authorization }) => authorization === 'Bearer secret')).toBe(true)
    expect(await loaded(home)).toEqual([['global weather@1.0.0 verified'], []])
  })

  test('what stands in its place already is accepted where it is', async () => {
    using home = new HomeFixture()
    const at = home.extension(home.globalRoot, 'weather')
    expect(await install(installerFor(home), at)).toMatchObject({ source: 'in-place' })
    expect(existsSync(join(home.globalRoot, 'installed', 'weather'))).toBe(false)
    expect(await loaded(home)).toEqual([['global weather@1.4.0 verified'], []])
  })

  test('the same again changes nothing, and mends what was damaged', async () => {
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

  test('uninstalling takes it away, and what is left over goes with the next change', async () => {
    using home = new HomeFixture()
    const installer = installerFor(home)
    await install(installer, folderOf(home, packageFiles()))
    await installer.uninstall('weather')
    expect(await loaded(home)).toEqual([[], []])
    expect(await codeOf(installer.uninstall('weather'))).toBe('ExtensionNotFound')
    await install(installer, folderOf(home, packageFiles('1.0.0', [], { id: 'storms', tools: manifestOf({ id: 'storms' }).tools }), 'storms-source'))
    expect(readdirSync(join(home.globalRoot, 'installed')).filter((name) => !name.startsWith('.busy'))).toEqual([expect.stringMatching(/^storms-[0-9a-f]{32}$/)])
  })
})

describe('what cannot be installed', () => {
  test.each([
    ['nothing', ''], ['a path that is not there', './nowhere'], ['a name that is none', 'Weather Tool'], ['a file that is no archive', './notes.txt'],
    ['no registry', 'weather@1.0.0'], ['a climbing name', '@acme/../x'], ['a path that no disk can have', `./${'x'.repeat(300)}`],
  ])('%s', async (_, spec) => {
    using home = new HomeFixture()
    home.write(join(home.base, 'notes.txt'), '')
    expect(await codeOf(installerFor(home).plan(spec))).toBe('InstallSourceInvalid')
  })

  test.each([
    ['a manifest that is none', { 'bulkhead.json': '{' }, 'ShapeInvalid'],
    ['no manifest', { 'index.js': '' }, 'ShapeInvalid'],
    ['a lie about its files', { ...packageFiles(), 'bulkhead.integrity.json': '{"algorithm":"sha512","files":{},"root":""}' }, 'IntegrityFailed'],
    ['a signature that is none', { ...packageFiles(), 'bulkhead.sigstore.json': '{}' }, 'SignatureInvalid'],
    ['a locked name', packageFiles('1.0.0', [], {}, { name: 'bash', requires: { shell: [{ cmd: 'sh' }] } }), 'LockedIdRedefined'],
    ['a dependency that is not there', packageFiles('1.0.0', [], { dependsOn: ['elsewhere'] }), 'DependencyMissing'],
  ])('%s', async (_, files, code) => {
    using home = new HomeFixture()
    expect(await codeOf(install(installerFor(home), folderOf(home, files)))).toBe(code)
    expect(await loaded(home)).toEqual([[], []])
  })

  test('an archive that climbs out', async () => {
    using home = new HomeFixture()
    writeFileSync(join(home.base, 'evil.tgz'), archive(entry({ name: 'package/../../evil.txt', body: 'x' })))
    expect(await codeOf(installerFor(home).plan('evil.tgz'))).toBe('PackageUnsafe')
    expect(readdirSync(home.base).toSorted()).toEqual(['evil.tgz', 'home', 'work'])
  })

  test('names that are too long for any disk, before a person is asked', async () => {
    using home = new HomeFixture()
    writeFileSync(join(home.base, 'long.tgz'), await tarballOf({ ...packageFiles(), ['x'.repeat(300)]: '' }))
    await expect(installerFor(home).plan('./long.tgz')).rejects.toMatchObject({ code: 'PackageUnsafe', message: expect.stringContaining('a name of more than 255 bytes') })
  })

  test('what cannot be written, and nothing of it stays on the disk', async () => {
    using home = new HomeFixture()
    writeFileSync(join(home.base, 'large.tgz'), await tarballOf({ ...packageFiles(), 'large.txt': 'x'.repeat(100_000) }))
    const options = JSON.stringify({ layer: 'global', workspace: home.workspace, cwd: home.base, loader: home.options() })
    const child = join(import.meta.dirname, 'crash-child.ts')
    const { stderr } = spawnSync('sh', ['-c', 'ulimit -f 32; exec "$0" "$@"', process.execPath, child, './large.tgz', options], { encoding: 'utf8' })
    expect(stderr).toMatch(/could not be written: EFBIG[^]*code: 'InstallFailed'/)
    expect(readdirSync(join(home.globalRoot, 'installed'))).toEqual(['.busy'])
    expect(existsSync(join(home.globalRoot, 'bulkhead.lock'))).toBe(false)
  })

  test('something that would take the name of another of its layer', async () => {
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

  test('over a lock that cannot be read', async () => {
    using home = new HomeFixture()
    home.write(join(home.globalRoot, 'bulkhead.lock'), '{')
    expect(await codeOf(install(installerFor(home), folderOf(home, packageFiles())))).toBe('LockInvalid')
    expect(readFileSync(join(home.globalRoot, 'bulkhead.lock'), 'utf8')).toBe('{')
  })

  test('a concurrent change', async () => {
    using home = new HomeFixture()
    const installer = installerFor(home)
    const plan = await installer.plan(folderOf(home, packageFiles()))
    await install(installer, folderOf(home, packageFiles('1.0.1'), 'other-source'))
    expect(await codeOf(installer.install(plan, 'ann'))).toBe('InstallBusy')
    expect(await loaded(home)).toEqual([['global weather@1.0.1 verified'], []])
  })
})

const packageToolsNamed = (name: string) => [{ name, description: 'x', inputSchema: { type: 'object' as const } }]

describe('a registry that lies', () => {
  test.each([
    ['another tarball than it says', { integrity: `sha512-${Buffer.alloc(64).toString('base64')}` }, 'IntegrityFailed'],
    ['no digest', { integrity: undefined }, 'InstallSourceInvalid'],
    ['a weak digest', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }, 'InstallSourceInvalid'],
    ['two digests', { integrity: `sha512-${Buffer.alloc(64).toString('base64')} sha512-${Buffer.alloc(64, 1).toString('base64')}` }, 'InstallSourceInvalid'],
    ['a tarball in the open', { tarball: 'http://tarballs.example/x.tgz' }, 'InstallSourceInvalid'],
    ['a tarball that is a file', { tarball: 'file:///etc/passwd' }, 'InstallSourceInvalid'],
    ['a tarball that is not there', { tarball: 'http://127.0.0.1:1/x.tgz' }, 'InstallSourceUnavailable'],
  ])('%s', async (_, dist, code) => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    registry.publish('weather', '1.0.0', { tarball: await tarballOf(packageFiles()), dist })
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('weather@1.0.0'))).toBe(code)
    expect(readdirSync(home.globalRoot)).toEqual([])
  })

  test('another version inside than outside', async () => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    registry.publish('weather', '1.0.1', { tarball: await tarballOf(packageFiles('1.0.0')) })
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('weather@1.0.1'))).toBe('PackageUnsafe')
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('weather@9.9.9'))).toBe('InstallSourceInvalid')
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('nothing'))).toBe('InstallSourceInvalid')
    expect(await codeOf(installerFor(home, { registry: { url: 'http://registry.example' } }).plan('weather'))).toBe('InstallSourceInvalid')
  })
})

test('a version that its publisher has deprecated is reported as one', async () => {
  using home = new HomeFixture()
  await using registry = await RegistryFixture.start()
  const tarball = await tarballOf(packageFiles())
  const warnings = async (deprecated?: string) => {
    registry.publish('weather', '1.0.0', { tarball, ...(deprecated !== undefined && { deprecated }) })
    return (await installerFor(home, { registry: { url: registry.url } }).plan('weather')).warnings
  }
  expect(await warnings('Leaks\u001b[2J: use 1.0.1')).toEqual(['This version is deprecated: Leaks\\u{1b}[2J: use 1.0.1'])
  for (const none of [undefined, '']) expect(await warnings(none)).toEqual([])
})

describe('a registry that leads elsewhere', () => {
  test('is followed, and the token is not given to others', async () => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    await using other = await RegistryFixture.start()
    for (const each of [registry, other]) each.publish('weather', '1.0.0', { tarball: await tarballOf(packageFiles()) })
    registry.redirects.set('weather', '/moved').set('moved', `${other.url}weather`)
    other.redirects.set('tarball|weather|1.0.0', `${registry.url}tarball|weather|1.0.0`)
    const { extension } = await installerFor(home, { registry: { url: registry.url, token: 'secret' } }).plan('weather')
    expect(extension.version).toBe('1.0.0')
    expect(registry.requests.map(({ path, authorization }) => [path, authorization])).toEqual([
      ['weather', 'Bearer secret'], ['moved', 'Bearer secret'], ['tarball|weather|1.0.0', undefined],
    ])
    expect(other.requests.map(({ authorization }) => authorization)).toEqual([undefined, undefined])
  })

  test.each([
    ['into the open', 'http://registry.example/weather', 'InstallSourceInvalid'],
    ['to a file', 'file:///etc/passwd', 'InstallSourceInvalid'],
    ['nowhere', 'http://[', 'InstallSourceInvalid'],
    ['in a circle', '/weather', 'InstallSourceUnavailable'],
  ])('%s is not', async (_, location, code) => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    registry.redirects.set('weather', location)
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('weather'))).toBe(code)
  })
})

describe('trust in a project', () => {
  test('is bound to its lock and to what is installed there', async () => {
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

test('what is remembered of earlier starts does not outlive the lock', async () => {
  using home = new HomeFixture()
  const cached = { cache: join(home.base, 'cache') }
  await install(installerFor(home), home.extension(home.globalRoot, 'weather'))
  for (const _ of [1, 2]) expect((await home.loadAsItIs(cached)).extensions).toHaveLength(1)
  const lock = join(home.globalRoot, 'bulkhead.lock')
  writeFileSync(lock, readFileSync(lock, 'utf8').replace(/"root": "(.)/, (_, digit: string) => `"root": "${digit === '0' ? '1' : '0'}`))
  expect((await home.loadAsItIs(cached)).diagnostics.map(({ code }) => code)).toEqual(['LockMismatch'])
})
