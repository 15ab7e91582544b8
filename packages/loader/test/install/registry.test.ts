import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { HomeFixture } from '../home-fixture.ts'
import { codeOf, installerFor, packageFiles, tarballOf } from './install-fixture.ts'
import { RegistryFixture } from './registry-fixture.ts'

describe('refuses a registry with', () => {
  test.each([
    ['another tarball', { integrity: `sha512-${Buffer.alloc(64).toString('base64')}` }, 'IntegrityFailed'],
    ['no digest', { integrity: undefined }, 'InstallSourceInvalid'],
    ['a weak digest', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }, 'InstallSourceInvalid'],
    [
      'two digests',
      { integrity: `sha512-${Buffer.alloc(64).toString('base64')} sha512-${Buffer.alloc(64, 1).toString('base64')}` },
      'InstallSourceInvalid',
    ],
    ['a tarball over http', { tarball: 'http://tarballs.example/x.tgz' }, 'InstallSourceInvalid'],
    ['a file URL', { tarball: 'file:///etc/passwd' }, 'InstallSourceInvalid'],
    ['an unreachable tarball', { tarball: 'http://127.0.0.1:1/x.tgz' }, 'InstallSourceUnavailable'],
  ])('%s', async (_, dist, code) => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    registry.publish('weather', '1.0.0', { tarball: await tarballOf(packageFiles()), dist })
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('weather@1.0.0'))).toBe(code)
    expect(readdirSync(home.globalRoot)).toEqual([])
  })

  test('another version in the manifest', async () => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    registry.publish('weather', '1.0.1', { tarball: await tarballOf(packageFiles('1.0.0')) })
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('weather@1.0.1'))).toBe(
      'PackageUnsafe',
    )
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('weather@9.9.9'))).toBe(
      'InstallSourceInvalid',
    )
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('nothing'))).toBe(
      'InstallSourceInvalid',
    )
    expect(await codeOf(installerFor(home, { registry: { url: 'http://registry.example' } }).plan('weather'))).toBe(
      'InstallSourceInvalid',
    )
  })
})

test('warns about a deprecated version', LONG, async () => {
  using home = new HomeFixture()
  await using registry = await RegistryFixture.start()
  const tarball = await tarballOf(packageFiles())
  const warnings = async (deprecated?: string) => {
    registry.publish('weather', '1.0.0', { tarball, ...(deprecated !== undefined && { deprecated }) })
    return (await installerFor(home, { registry: { url: registry.url } }).plan('weather')).warnings
  }
  expect(await warnings('Leaks\u001b[2J: use 1.0.1')).toEqual([
    'This version is deprecated: Leaks\\u{1b}[2J: use 1.0.1',
  ])
  for (const none of [undefined, '']) expect(await warnings(none)).toEqual([])
})

describe('a redirect of a registry', () => {
  test('is followed, without the token for other origins', async () => {
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
    ['to http', 'http://registry.example/weather', 'InstallSourceInvalid'],
    ['to a file', 'file:///etc/passwd', 'InstallSourceInvalid'],
    ['to an invalid URL', 'http://[', 'InstallSourceInvalid'],
    ['in a loop', '/weather', 'InstallSourceUnavailable'],
  ])('%s is refused', async (_, location, code) => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    registry.redirects.set('weather', location)
    expect(await codeOf(installerFor(home, { registry: { url: registry.url } }).plan('weather'))).toBe(code)
  })
})
