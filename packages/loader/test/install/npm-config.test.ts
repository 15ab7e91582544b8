import { globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { readNpmConfig } from '../../src/install/npm-config.ts'
import { createTrustLedger } from '../../src/trust/trust-ledger.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { HomeFixture } from '../home-fixture.ts'
import { installerFor, packageFiles, tarballOf } from './install-fixture.ts'
import { RegistryFixture } from './registry-fixture.ts'

let home: HomeFixture
beforeEach(() => { home = new HomeFixture() })
afterEach(() => home[Symbol.dispose]())

const person = () => join(home.base, 'home')
const machineFile = () => join(home.base, 'machine-npmrc')
const write = (file: string, ...lines: readonly string[]) => home.write(file, lines.join('\n'))
const user = (...lines: readonly string[]) => write(join(person(), '.npmrc'), ...lines)
const project = (...lines: readonly string[]) => write(join(home.workspace, '.npmrc'), ...lines)
const read = (env: Readonly<Record<string, string>> = {}, trusted = false) => readNpmConfig({
  env: { HOME: person(), npm_config_globalconfig: machineFile(), ...env }, workspace: home.workspace,
  isTrusted: async () => trusted,
})
const fails = (work: Promise<unknown>, message: RegExp) =>
  expect(work).rejects.toMatchObject({ code: 'ConfigInvalid', message: expect.stringMatching(message) })

describe('the registry of a package', () => {
  test('comes from the environment, the project, the user or the machine, in this order', async () => {
    const registry = async (env = {}) => (await read(env, true)).registryOf('weather').url
    expect(new URL(await registry()).protocol, "npm's own default").toBe('https:')
    write(machineFile(), 'registry=https://machine.example')
    expect(await registry()).toBe('https://machine.example/')
    user('registry=https://user.example/npm')
    expect(await registry()).toBe('https://user.example/npm/')
    project('registry=https://project.example/')
    expect(await registry()).toBe('https://project.example/')
    expect(await registry({ npm_config_registry: 'https://env.example' })).toBe('https://env.example/')
    expect(await registry({ NPM_CONFIG_USERCONFIG: join(home.base, 'none') })).toBe('https://project.example/')
  })

  test('is that of its scope', async () => {
    user('registry=https://all.example/', '@acme:registry=https://acme.example/npm')
    const config = await read({ 'npm_config_@other:registry': 'https://other.example' })
    expect(['@acme/weather', '@other/weather', '@acmes/weather', 'weather'].map((name) => config.registryOf(name).url))
      .toEqual(['https://acme.example/npm/', 'https://other.example/', 'https://all.example/', 'https://all.example/'])
  })

  test.each([
    ['registry=', /^"registry" in .*\.npmrc names no registry\. Set it to a URL/],
    ['registry=http://registry.example', /\("registry" in .*\.npmrc\) is "http:.*must start with https/],
    ['registry[]=https://a.example', /names no registry/],
    ['registry=https://ann:hidden@registry.example', /\.npmrc\) contains a user name\. Remove it/],
  ])('%s is refused', async (line, message) => {
    user(line)
    const config = await read()
    expect(() => config.registryOf('weather')).toThrow(message)
    expect(() => config.registryOf('weather')).toThrow(/^(?!.*hidden)/)
  })
})

describe('credentials', () => {
  const authorization = async (registry: string, ...lines: readonly string[]) => {
    user(`registry=${registry}`, ...lines)
    return (await read({ TOKEN: 's3cret' })).registryOf('weather').authorization
  }
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

  test.each<[string, string, string[], string | undefined, string?]>([
    ['a token', 'https://a.example', ['//a.example/:_authToken=abc'], 'Bearer abc', 'https://a.example/'],
    ['a variable', 'https://a.example', ['//a.example/:_authToken=${TOKEN}'], 'Bearer s3cret', 'https://a.example/'],
    [
      'a user and a password', 'https://a.example',
      ['//a.example/:username=ann', `//a.example/:_password=${Buffer.from('p:w').toString('base64')}`],
      basic('ann:p:w'), 'https://a.example/',
    ],
    ['_auth', 'https://a.example', [`//a.example/:_auth=YW5uOnB3`], basic('ann:pw'), 'https://a.example/'],
    ['a port', 'https://a.example:8443', ['//a.example:8443/:_authToken=x'], 'Bearer x', 'https://a.example:8443/'],
    [
      'the longest path', 'https://a.example/npm/own/',
      ['//a.example/:_authToken=all', '//a.example/npm/own:_authToken=own'],
      'Bearer own', 'https://a.example/npm/own/',
    ],
    ['a path above', 'https://a.example/x/own', ['//a.example/x/:_authToken=x'], 'Bearer x', 'https://a.example/x/'],
    ['another host', 'https://a.example', ['//b.example/:_authToken=x', '//a.example:8443/:_authToken=x'], undefined],
    ['a path beside', 'https://a.example/npm', ['//a.example/np/:_auth=x', '//a.example/npm/own/:_auth=x'], undefined],
    ['no host', 'https://a.example', ['_authToken=x', '_auth=x'], undefined],
  ])('are sent as npm sends them: %s', async (_, registry, lines, header, below) => {
    expect(await authorization(registry, ...lines)).toEqual(header === undefined ? undefined : { header, below })
  })

  test('go to their own registry only: not to another one, a tarball elsewhere, or after a redirect', async () => {
    await using registry = await RegistryFixture.start()
    await using acme = await RegistryFixture.start()
    const tarball = await tarballOf(packageFiles())
    const elsewhere = { tarball: `${acme.url}tarball|weather|1.0.0` }
    registry.publish('weather', '1.0.0', { tarball, dist: elsewhere })
    acme.publish('weather', '1.0.0', { tarball })
    acme.publish('@acme/weather', '1.0.0', { tarball })
    acme.redirects.set('tarball|@acme/weather|1.0.0', `${registry.url}moved`)
    registry.redirects.set('moved', `${acme.url}tarball|weather|1.0.0`)
    const credentials = (url: string, token: string) => `${url.slice('http:'.length)}:_authToken=${token}`
    user(
      `registry=${registry.url}`, `@acme:registry=${acme.url}`,
      credentials(registry.url, 'general'), credentials(acme.url, '${ACME}'),
    )
    const config = await read({ ACME: 'for-acme' })
    const installer = installerFor(home, { registryFor: (name) => config.registryOf(name) })
    for (const name of ['weather', '@acme/weather']) await installer.plan(name)
    const sent = ({ requests }: RegistryFixture) => requests.map(({ path, authorization: header }) => [path, header])
    expect(sent(registry)).toEqual([['weather', 'Bearer general'], ['moved', undefined]])
    expect(sent(acme)).toEqual([
      ['tarball|weather|1.0.0', undefined], ['@acme/weather', 'Bearer for-acme'],
      ['tarball|@acme/weather|1.0.0', 'Bearer for-acme'], ['tarball|weather|1.0.0', undefined],
    ])
  })

  test('are sent below their path only, and are not shown in errors', async () => {
    await using registry = await RegistryFixture.start()
    const tarball = await tarballOf(packageFiles())
    registry.publish('weather', '1.0.0', { tarball })
    registry.redirects.set('npm/weather', '/weather')
    const below = `${registry.url}npm/`
    const plan = (header: string) =>
      installerFor(home, { registryFor: () => ({ url: below, authorization: { header, below } }) }).plan('weather')
    await plan('Bearer s3cret')
    expect(registry.requests.map(({ path, authorization: header }) => [path, header])).toEqual([
      ['npm/weather', 'Bearer s3cret'], ['weather', undefined], ['tarball|weather|1.0.0', undefined],
    ])
    await expect(plan('Bearer s3cret\u{1F511}')).rejects.toMatchObject({
      code: 'InstallSourceInvalid', message: `The credentials for ${below} contain invalid characters.`,
    })
  })
})

describe('the .npmrc of a project', () => {
  test('is ignored with a warning without trust, and is not read', async () => {
    user('registry=https://user.example')
    project('registry=https://project.example', 'strict-ssl=false')
    const { warnings, registryOf } = await read()
    expect(registryOf('weather').url).toBe('https://user.example/')
    expect(warnings).toEqual([expect.stringMatching(/work\/\.npmrc is not used, because the project is not trusted\./)])
  })

  test('does not choose the files of the user and the machine', async () => {
    const other = write(join(home.workspace, 'other'), '//project.example/:_authToken=other')
    const files = [`userconfig=${other}`, `globalconfig=${other}`, `prefix=${home.workspace}`]
    project('registry=https://project.example', ...files)
    user('registry=https://user.example', '//project.example/:_authToken=own')
    const { warnings, registryOf } = await read({}, true)
    expect([warnings, registryOf('weather')]).toEqual([[], {
      url: 'https://project.example/', authorization: { header: 'Bearer own', below: 'https://project.example/' },
    }])
  })

  test('is not that of a parent, and not that of the user', async () => {
    write(join(home.base, 'package.json'), '{ "workspaces": ["work"] }')
    write(join(home.base, '.npmrc'), 'registry=https://parent.example')
    user('registry=https://user.example')
    expect((await read({}, true)).registryOf('weather').url).toBe('https://user.example/')
    const own = await readNpmConfig({
      env: { HOME: person(), npm_config_globalconfig: machineFile() }, workspace: person(),
      isTrusted: async () => false,
    })
    expect([own.warnings, own.registryOf('weather').url]).toEqual([[], 'https://user.example/'])
  })

  test('must be a file of the project', async () => {
    symlinkSync(write(join(home.base, 'elsewhere'), 'registry=https://a.example'), join(home.workspace, '.npmrc'))
    await fails(read({}, true), /work\/\.npmrc is a link\.$/)
  })

  test('is part of what is trusted', async () => {
    home.extension(home.projectRoot, 'weather')
    const ledger = createTrustLedger(resolveSettings(home.options()))
    const before = await ledger.measure(home.workspace)
    project('registry=https://project.example')
    await ledger.decide(home.workspace, 'trusted')
    const digest = await ledger.measure(home.workspace)
    expect(digest).not.toBe(before)
    expect((await ledger.status(home.workspace)).status).toMatchObject({ kind: 'trusted', digest })
    expect((await home.load()).projectTrust).toMatchObject({ trust: 'trusted' })
    project('registry=https://changed.example')
    expect((await ledger.status(home.workspace)).status).toMatchObject({ kind: 'changed' })
  })
})

describe('an error names the file:', () => {
  test('one that cannot be read', async () => {
    mkdirSync(machineFile())
    await fails(read(), /machine-npmrc cannot be read: EISDIR/)
  })

  test('one that is a link that leads nowhere', async () => {
    symlinkSync('no-such-file', join(person(), '.npmrc'))
    await fails(read(), /home\/\.npmrc cannot be read: ENOENT/)
  })

  test('one that is not UTF-8', async () => {
    home.write(join(person(), '.npmrc'), Buffer.from('registry=https://a.example', 'utf16le'))
    await fails(read(), /home\/\.npmrc is not UTF-8 text/)
  })

  test.each(['false', '0', 'null'])('strict-ssl=%s', async (value) => {
    user(`strict-ssl=${value}`)
    await fails(read(), /^"strict-ssl" is off in .*home\/\.npmrc, but Bulkhead always checks certificates\. Remove it/)
    await fails(read({ npm_config_strict_ssl: 'false' }), /off in environment/)
  })
})

test('settings that are not used are named', async () => {
  user('https-proxy=http://proxy.example:8080', 'cafile=/etc/ca.pem', 'proxy=null', 'fund=false', 'unknown=1')
  expect((await read()).warnings).toEqual([
    expect.stringMatching(/^Settings of npm that are not used: cafile, https-proxy\. Set NODE_EXTRA_CA_CERTS /),
  ])
})

test('the environment of the process is not changed', async () => {
  const before = { ...process.env }
  await read()
  expect(process.env).toEqual(before)
})

test('no file of ours names the registry that npm uses by default', LONG, async () => {
  const { hostname } = new URL((await read()).registryOf('weather').url)
  const domain = hostname.split('.').slice(-2).join('.')
  const root = join(import.meta.dirname, '../../../..')
  const exclude = (path: string) => /(?:^|\/)(?:node_modules|dist|reports|\.turbo)(?:\/|$)/.test(path)
  const files = globSync(['*.*', '.changeset/*', '{apps,bench,docs,packages,scripts}/**/*.{ts,js,mjs,json,md}'], {
    cwd: root, exclude,
  }).filter((file) => file !== 'pnpm-lock.yaml')
  expect(files.length).toBeGreaterThan(1_000)
  expect(files.filter((file) => readFileSync(join(root, file)).includes(domain))).toEqual([])
})
