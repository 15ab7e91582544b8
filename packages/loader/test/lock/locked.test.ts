import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LockEntry } from '@bulkhead/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { capabilityDigest } from '../../src/model/digest.ts'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'
import { PackageFixture } from '../signature/signed-package.ts'
import { BUILD, SigstoreFixture } from '../signature/sigstore-fixture.ts'
import { acceptAll } from './accepted-fixture.ts'

const seen = ({ diagnostics }: Awaited<ReturnType<HomeFixture['load']>>) =>
  diagnostics.map(({ severity, stage, code, extensionId }) => [severity, stage, code, extensionId])

describe('an unsigned package', () => {
  test('gives a warning in the global layer', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    const report = await home.loadAsItIs()
    expect(report.extensions).toHaveLength(1)
    expect(seen(report)).toEqual([['warning', 'lock', 'IntegrityTokenMissing', 'weather']])
    expect(report.diagnostics[0]).toMatchObject({ cure: expect.stringContaining('bulkhead install') })
  })

  test('is loaded in a trusted project without a lock', async () => {
    using home = new HomeFixture()
    home.extension(home.projectRoot, 'weather')
    expect(seen(await home.loadAsItIs())).toEqual([])
    await acceptAll(home, home.projectRoot)
    home.extension(home.projectRoot, 'storms')
    const report = await home.loadAsItIs()
    expect(report.extensions.map(({ id, integrity }) => [id, integrity])).toEqual([['weather', 'verified']])
    expect(seen(report)).toEqual([['error', 'lock', 'IntegrityTokenMissing', 'storms']])
  })

  test.each([
    ['require', 0, ['error']], ['warn', 1, ['warning']], ['off', 1, []],
  ] as const)('is treated as the policy %s says', async (level, loaded, severities) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    const report = await home.loadAsItIs({}, 'trusted', { policy: { lock: { global: level } } })
    expect([report.extensions.length, report.diagnostics.map(({ severity }) => severity)]).toEqual([loaded, severities])
  })
})

describe('refuses a package that differs from the accepted one', () => {
  const withHost = (...hosts: string[]) => manifestOf({ tools: [toolOf({ requires: { net: { hosts } } })] })

  test.each([
    [
      'a changed byte', 'LockMismatch', /its files have changed/,
      (home: HomeFixture, at: string): string => home.write(join(at, 'index.js'), 'export default 1'),
    ],
    [
      'an added file', 'LockMismatch', /its files have changed/,
      (home: HomeFixture, at: string): string => home.write(join(at, 'more.js'), ''),
    ],
    [
      'an older version', 'LockMismatch', /1\.4\.0 was accepted, and 1\.3\.9 is installed/,
      (home: HomeFixture, at: string): string =>
        home.write(join(at, 'bulkhead.json'), { ...withHost('a.example', 'b.example'), version: '1.3.9' }),
    ],
    [
      'fewer powers', 'LockMismatch', /it drops net: b\.example/,
      (home: HomeFixture, at: string): string => home.write(join(at, 'bulkhead.json'), withHost('a.example')),
    ],
    [
      'more powers', 'ConsentRequired', /it adds net: c\.example; drops net: b\.example/,
      (home: HomeFixture, at: string): string =>
        home.write(join(at, 'bulkhead.json'), withHost('a.example', 'c.example')),
    ],
  ] as const)('refuses %s', async (_, code, words, change) => {
    using home = new HomeFixture()
    const at = home.extension(home.globalRoot, 'weather', withHost('a.example', 'b.example'))
    await acceptAll(home, home.globalRoot)
    expect(seen(await home.loadAsItIs())).toEqual([])
    change(home, at)
    // `off` applies to packages that were not accepted, and not to one that differs from the accepted one.
    for (const policy of [{}, { lock: { global: 'off' as const } }]) {
      const report = await home.loadAsItIs({}, 'trusted', { policy })
      expect(report.extensions).toEqual([])
      expect(seen(report)).toEqual([['error', 'lock', code, 'weather']])
      expect(report.diagnostics[0]!.message).toMatch(words)
    }
  })
})

describe('a lock from before state was recorded', () => {
  const keepsState = manifestOf({ stateSlot: { slotVersion: '1', schema: { type: 'object' } } })

  /** A lock of an earlier version, without state in the capabilities and their digest. */
  async function oldLock(home: HomeFixture): Promise<void> {
    const path = await acceptAll(home, home.globalRoot)
    const lock = JSON.parse(readFileSync(path, 'utf8')) as { extensions: Record<string, LockEntry> }
    const entry = lock.extensions['weather']!
    const { state: _state, ...capabilities } = entry.capabilities
    const tools = Object.entries(capabilities.tools).map(([name, requires]) => ({ name, requires }))
    home.write(path, {
      ...lock,
      extensions: { weather: { ...entry, capabilities, capability: capabilityDigest({ ...capabilities, tools }) } },
    })
  }

  test('still accepts the same bytes', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather', keepsState)
    await oldLock(home)
    const report = await home.loadAsItIs()
    expect([report.extensions.length, seen(report)]).toEqual([1, []])
  })

  test('does not accept state for other bytes', async () => {
    using home = new HomeFixture()
    const at = home.extension(home.globalRoot, 'weather', keepsState)
    await oldLock(home)
    home.write(join(at, 'index.js'), 'export default 1')
    const report = await home.loadAsItIs()
    expect(seen(report)).toEqual([['error', 'lock', 'ConsentRequired', 'weather']])
    expect(report.diagnostics[0]!.message).toContain('it adds state: kept by the extension')
  })

  test('is equal to a new one for an extension without state', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    const path = await acceptAll(home, home.globalRoot)
    const before = readFileSync(path, 'utf8')
    await oldLock(home)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(JSON.parse(before))
  })
})

describe('the signer', () => {
  let sigstore: SigstoreFixture
  beforeAll(async () => { sigstore = await SigstoreFixture.start() })
  afterAll(() => sigstore[Symbol.asyncDispose]())
  const weather = new PackageFixture()
  const trusting = () => ({ trustRoot: sigstore.trustRoot })

  async function signedBy(claims: typeof BUILD | undefined): Promise<Awaited<ReturnType<HomeFixture['load']>>> {
    using home = new HomeFixture()
    weather.install(home, await sigstore.sign(weather.integrityFile))
    await acceptAll(home, home.globalRoot, trusting())
    weather.install(home, claims === undefined ? undefined : await sigstore.sign(weather.integrityFile, claims))
    if (claims === undefined) rmSync(join(home.globalRoot, 'tools/weather/bulkhead.sigstore.json'))
    return await home.loadAsItIs(trusting())
  }

  test('may be the same build at another tag', LONG, async () => {
    const report = await signedBy({ ...BUILD, sub: BUILD.sub.replace('v1.4.0', 'v1.4.1'), ref: 'refs/tags/v1.4.1' })
    expect([report.extensions.length, seen(report)]).toEqual([1, []])
  })

  test.each([
    ['another repository', { ...BUILD, sub: BUILD.sub.replace('acme', 'evil'), repository: 'evil/weather' }],
    ['another workflow', { ...BUILD, sub: BUILD.sub.replace('release.yml', 'test.yml') }],
    ['another issuer', { ...BUILD, iss: 'https://issuer.evil.example' }],
    ['no signer', undefined],
    [
      'a branch in place of a tag',
      { ...BUILD, sub: BUILD.sub.replace('refs/tags/v1.4.0', 'refs/heads/main'), ref: 'refs/heads/main' },
    ],
  ])('is refused with %s until it is accepted', async (_, claims) => {
    const report = await signedBy(claims)
    expect(seen(report)).toEqual([['error', 'lock', 'ConsentRequired', 'weather']])
    expect(report.diagnostics[0]!.message).toMatch(/was signed by .* and is (?:not signed|signed by .*) now/)
  })
})

describe('an invalid lock', () => {
  const broken = [['nothing', ''], ['half of it', (text: string) => text.slice(0, 200)], ['a list', '[]'],
    ['a duplicate key', (text: string) => text.replace('{', '{"lockVersion":1,')],
    ['another version', (text: string) => text.replace('1', '9')],
    ['capabilities that do not match the digest', (text: string) => text.replace('"env": []', '"env": ["TOKEN"]')],
    ['a __proto__ key', (text: string) => text.replace('{', '{"__proto__":{},')]] as const

  test.each(broken)('%s: loads only the other layers', async (_, change) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    home.extension(home.projectRoot, 'storms')
    const lock = await acceptAll(home, home.globalRoot)
    const text = readFileSync(lock, 'utf8')
    home.write(lock, typeof change === 'string' ? change : change(text))
    const report = await home.loadAsItIs()
    expect(report.extensions.map(({ id }) => id)).toEqual(['storms'])
    expect(seen(report)).toEqual([['error', 'lock', 'LockInvalid', null], ['error', 'lock', 'LockInvalid', 'weather']])
  })
})

test('reports an installed package that is missing', async () => {
  using home = new HomeFixture()
  home.extension(home.globalRoot, 'weather')
  await acceptAll(home, home.globalRoot, {}, { source: 'npm:weather@1.4.0' })
  const report = await home.loadAsItIs()
  expect(report.diagnostics).toMatchObject([
    { code: 'LockMismatch', extensionId: 'weather', message: expect.stringContaining('is missing') },
  ])
})

test('reports the age of the trust root', async () => {
  using home = new HomeFixture()
  expect((await home.load()).trustRoot).toMatchObject({
    source: expect.stringContaining('tuf'), ageDays: expect.any(Number),
  })
  expect((await home.load({ trustRoot: {} })).trustRoot).toEqual({
    source: 'set by the host', date: null, ageDays: null,
  })
})
