import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConfigFile } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { HomeFixture } from '../home-fixture.ts'
import { BUILD, SigstoreFixture, type Claims } from '../signature/sigstore-fixture.ts'
import { sha512 } from '../../src/model/digest.ts'
import { folderOf, install, installerFor, packageFiles, tarballOf } from './install-fixture.ts'
import { RegistryFixture } from './registry-fixture.ts'

type Version = ReturnType<typeof packageFiles>
async function verdictOf(before: Version, after: Version, policy: ConfigFile['policy'] = {}) {
  using home = new HomeFixture()
  home.write(join(home.globalRoot, 'config.json'), { policy })
  const installer = installerFor(home)
  await install(installer, folderOf(home, before))
  const { verdict, capabilities, definitions } = await installer.plan(folderOf(home, after, 'newer-source'))
  return { verdict, capabilities, definitions }
}
const v = packageFiles

const WIDER = [
  ['1.0.0', '1.1.0', {}, 'refused'], ['1.0.0', '2.0.0', {}, 'consent'], ['0.1.0', '0.1.1', {}, 'refused'],
  ['0.1.0', '0.2.0', {}, 'consent'],
  ['1.0.0', '1.0.1', { update: { widening: 'consent' } }, 'consent'],
  ['1.0.0', '2.0.0', { update: { widening: 'refuse' } }, 'refused'],
  ['1.0.0', '1.0.1', { scopes: { weather: { widening: 'consent' } } }, 'consent'],
  ['1.0.0', '2.0.0', { scopes: { 'wea*': { widening: 'refuse' } } }, 'refused'],
] as const

describe.each([[WIDER.slice(0, 2), {}], [WIDER.slice(2), LONG]] as const)('an update', (forms, options) => {
  test.each(forms)('%s to %s with more powers under %o: %s', options, async (before, after, policy, kind) => {
    const { verdict, capabilities } = await verdictOf(
      v(before), v(after, ['a.example', 'b.example']), policy as ConfigFile['policy'],
    )
    expect(capabilities.adds).toEqual(['net: b.example'])
    expect(verdict.kind).toBe(kind)
    expect(JSON.stringify(verdict)).toContain('adds net: b.example')
    if (verdict.kind === 'consent') expect(verdict.explicit).toBe(true)
  })
})

describe('an update', () => {
  test.each([
    ['with the same powers', v('1.0.1'), {}],
    ['with fewer powers', v('1.0.1', []), {}],
    ['with another description', v('1.0.1', ['a.example'], {}, { description: 'Something else.' }), {}],
    ['with fewer powers, where wider ones are refused', v('1.0.1', []), { update: { widening: 'refuse' } }],
  ] as const)('%s is silent', async (_, after, policy) => {
    expect((await verdictOf(v('1.0.0'), after, policy as ConfigFile['policy'])).verdict).toEqual({ kind: 'silent' })
  })

  test.each([
    [
      'a tool that no longer requires approval', v('2.0.0', ['a.example'], {}, { gated: false }),
      /no longer requires approval/,
    ],
    ['an older version', v('0.9.0'), /older than the accepted 1\.0\.0/],
    [
      'the same version with different content', { ...v('1.0.0'), 'index.js': 'export default 2' },
      /has the accepted version 1\.0\.0 but different content/,
    ],
    ['the same version with other build metadata', v('1.0.0+other'), /has the accepted version 1\.0\.0\+other/],
  ])('%s needs explicit consent', async (_, after, reason) => {
    const { verdict } = await verdictOf(v('1.0.0'), after)
    expect(verdict).toMatchObject({ kind: 'consent', explicit: true })
    expect(JSON.stringify(verdict)).toMatch(reason)
  })

  test.each([
    ['1.1.0', '1.0.0', {}, 'consent'], ['2.0.0', '1.9.0', {}, 'consent'], ['0.2.0', '0.1.9', {}, 'consent'],
    ['1.0.0', '1.0.0-rc.1', {}, 'consent'],
    ['1.1.0', '1.0.0', { update: { widening: 'refuse' } }, 'refused'], ['1.0.0', '1.0.0', {}, 'refused'],
  ] as const)('back from %s to %s, which had more powers, under %o: %s', LONG, async (before, after, policy, kind) => {
    const { verdict } = await verdictOf(v(before), v(after, ['a.example', 'b.example']), policy as ConfigFile['policy'])
    expect(verdict).toMatchObject(kind === 'refused' ? { kind } : {
      kind, explicit: true,
      reasons: [
        expect.stringContaining('adds net: b.example'), expect.stringContaining(`older than the accepted ${before}`),
      ],
    })
  })

  test('refuses fewer approvals with a readable message', async () => {
    const { verdict } = await verdictOf(v('1.0.0', [], {}, { mode: 'local' }), v('1.0.1', [], {}, { mode: 'read' }))
    expect(verdict).toEqual({
      kind: 'refused',
      message: 'It requires more (forecast is read and was local), and 1.0.1 is not a new major version after 1.0.0.',
    })
  })

  test('never writes a refused plan', async () => {
    using home = new HomeFixture()
    const installer = installerFor(home)
    await install(installer, folderOf(home, v('1.0.0')))
    const plan = await installer.plan(folderOf(home, v('1.0.1', ['a.example', 'b.example']), 'newer-source'))
    await expect(installer.install(plan, 'ann')).rejects.toMatchObject({ code: 'UpdateRefused' })
    expect(installer.accepted().get('weather')).toMatchObject({ version: '1.0.0' })
  })

  test('needs consent if the accepted version is missing', async () => {
    using home = new HomeFixture()
    const installer = installerFor(home)
    await install(installer, folderOf(home, v('1.0.0')))
    rmSync((await home.load()).extensions[0]!.location, { recursive: true })
    const { verdict, definitions } = await installer.plan(folderOf(home, v('1.0.1'), 'newer-source'))
    expect([definitions, verdict]).toMatchObject([null, { kind: 'consent', explicit: true }])
  })
})

test('ignores a changed installed version when comparing', async () => {
  using home = new HomeFixture()
  const installer = installerFor(home)
  await install(installer, folderOf(home, v('1.0.0')))
  const bolder = (version: string) => v(version, ['a.example'], {}, { gated: false })
  home.write(join((await home.load()).extensions[0]!.location, 'bulkhead.json'), bolder('1.0.0')['bulkhead.json']!)
  const { verdict, definitions } = await installer.plan(folderOf(home, bolder('1.0.1'), 'newer-source'))
  expect([definitions, verdict]).toMatchObject([null, { kind: 'consent', explicit: true }])
})

describe('a registry with attestations', () => {
  let sigstore: SigstoreFixture
  beforeAll(async () => { sigstore = await SigstoreFixture.start() })
  afterAll(() => sigstore[Symbol.asyncDispose]())

  async function publish(
    registry: RegistryFixture, version: string, claims: Claims | undefined,
    over: { readonly name?: string; readonly bytes?: Uint8Array } = {},
  ) {
    const tarball = await tarballOf(v(version))
    const statement: Json = {
      _type: 'https://in-toto.io/Statement/v1', predicateType: 'https://slsa.dev/provenance/v1', predicate: {},
      subject: [
        { name: `pkg:npm/${over.name ?? 'weather'}@${version}`, digest: { sha512: sha512(over.bytes ?? tarball) } },
      ],
    }
    registry.publish('weather', version, {
      tarball,
      ...(claims && {
        attestations: {
          attestations: [
            { predicateType: 'https://slsa.dev/provenance/v1', bundle: await sigstore.attest(statement, claims) },
          ],
        },
      }),
    })
  }
  const at = (version: string): Claims =>
    ({ ...BUILD, sub: BUILD.sub.replace('v1.4.0', `v${version}`), ref: `refs/tags/v${version}` })
  const installerOf = (home: HomeFixture, registry: RegistryFixture) =>
    installerFor(home, { registry: { url: registry.url }, loader: { trustRoot: sigstore.trustRoot } })

  test('shows and locks the builder, which satisfies a pin, also at load', LONG, async () => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    home.write(join(home.globalRoot, 'config.json'), {
      policy: {
        signature: { global: 'require' }, identities: { weather: { repository: 'https://github.com/acme/weather' } },
      },
    })
    await publish(registry, '1.0.0', at('1.0.0'))
    const installer = installerOf(home, registry)
    const plan = await install(installer, 'weather@1.0.0')
    expect(plan).toMatchObject({
      signedBy: 'npm', extension: { integrity: 'signed', signer: { repository: 'https://github.com/acme/weather' } },
    })
    const report = await home.loadAsItIs({ trustRoot: sigstore.trustRoot })
    expect([report.extensions.map(({ integrity }) => integrity), report.diagnostics]).toEqual([['signed'], []])
  })

  test('ignores a builder in the lock of a project', async () => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    await publish(registry, '1.0.0', at('1.0.0'))
    const installer = installerFor(home, {
      layer: 'project', registry: { url: registry.url }, loader: { trustRoot: sigstore.trustRoot },
    })
    await install(installer, 'weather@1.0.0')
    const report = await home.loadAsItIs({ trustRoot: sigstore.trustRoot }, 'trusted', {
      policy: { signature: { project: 'require' } },
    })
    expect(report.diagnostics.map(({ code }) => code)).toEqual(['SignatureInvalid'])
  })

  test.each([
    ['the same build at another tag', at('1.0.1'), 'silent'],
    [
      'another repository',
      { ...at('1.0.1'), sub: at('1.0.1').sub.replace('acme', 'evil'), repository: 'evil/weather' }, 'consent',
    ],
    ['no signer', undefined, 'consent'],
  ])('an update by %s', LONG, async (_, claims, kind) => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    await publish(registry, '1.0.0', at('1.0.0'))
    const installer = installerOf(home, registry)
    await install(installer, 'weather@1.0.0')
    await publish(registry, '1.0.1', claims)
    const { verdict } = await installer.plan('weather@1.0.1')
    expect(verdict.kind).toBe(kind)
    if (verdict.kind === 'consent') {
      expect(verdict).toMatchObject({ explicit: true, reasons: [expect.stringContaining('was signed by')] })
    }
    expect(await installer.newest('weather', installer.accepted().get('weather')!)).toEqual(
      { id: 'weather', name: 'weather', current: '1.0.0', latest: '1.0.1', isNewer: true, spec: 'weather@1.0.1' })
  })

  test.each([
    ['another name', { name: 'storms' }], ['another tarball', { bytes: new Uint8Array(1) }],
  ])('refuses an attestation of %s', async (_, over) => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    await publish(registry, '1.0.0', at('1.0.0'), over)
    const code = await installerOf(home, registry).plan('weather@1.0.0').then(
      () => 'done', (error: unknown) => BulkheadError.from(error).code,
    )
    expect(code).toBe('SignatureInvalid')
  })
})
