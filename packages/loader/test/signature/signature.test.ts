import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigFile } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { HomeFixture } from '../home-fixture.ts'
import { PackageFixture } from './signed-package.ts'
import { BUILD, SigstoreFixture, type Claims } from './sigstore-fixture.ts'

type Policy = NonNullable<ConfigFile['policy']>

const weather = new PackageFixture()
const required: Policy = { signature: { global: 'require' } }
const signer = {
  issuer: 'https://token.actions.githubusercontent.com',
  subject: 'https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1.4.0',
  repository: 'https://github.com/acme/weather',
  workflow: 'https://github.com/acme/weather/.github/workflows/release.yml',
  ref: 'refs/tags/v1.4.0',
}

let sigstore: SigstoreFixture
let bundle: JsonObject
beforeAll(async () => {
  sigstore = await SigstoreFixture.start()
  bundle = await sigstore.sign(weather.integrityFile)
})
afterAll(() => sigstore[Symbol.asyncDispose]())

const load = (home: HomeFixture, policy: Policy = required, trustRoot: Json = sigstore.trustRoot) =>
  home.load({ trustRoot }, 'trusted', { policy })

async function refusal(home: HomeFixture, policy?: Policy, trustRoot?: Json) {
  const { extensions, diagnostics } = await load(home, policy, trustRoot)
  expect(extensions).toEqual([])
  expect(diagnostics).toHaveLength(1)
  const [diagnostic] = diagnostics
  expect(diagnostic).toMatchObject({
    severity: 'error', stage: 'signature', code: 'SignatureInvalid', extensionId: 'weather',
  })
  return diagnostic!
}

describe('a package with a signed integrity file', () => {
  test('is signed by the subject of the certificate', async () => {
    using home = new HomeFixture()
    weather.install(home, bundle)
    const { extensions, diagnostics } = await load(home)
    expect(diagnostics).toEqual([])
    expect(extensions).toMatchObject([{ id: 'weather', integrity: 'signed', signer }])
  })

  test('has the same digest and files as without the signature', LONG, async () => {
    using home = new HomeFixture()
    const location = weather.install(home, bundle)
    const [signed] = (await load(home)).extensions
    rmSync(join(location, 'bulkhead.sigstore.json'))
    const [unsigned] = (await load(home, {})).extensions
    expect(unsigned).toMatchObject({ integrity: 'verified', digests: { package: signed!.digests.package } })
    expect(unsigned).not.toHaveProperty('signer')
    const code = signed!.code
    expect(code.kind === 'files' && [...(await code.readFiles()).keys()]).toEqual(['bulkhead.json', 'index.js'])
  })

  test.each(['sha256', 'sha512'])('may have a provenance statement over its %s instead', LONG, async (algorithm) => {
    using home = new HomeFixture()
    weather.install(home, await sigstore.attest(weather.statement({ subject: [weather.subject(algorithm)] })))
    expect((await load(home)).extensions).toMatchObject([{ integrity: 'signed', signer }])
  })

  test('may be signed by a person', LONG, async () => {
    using home = new HomeFixture()
    const ada = { sub: 'mailto:ada@acme.example', iss: 'https://accounts.example' }
    weather.install(home, await sigstore.sign(weather.integrityFile, ada))
    const [extension] = (await load(home)).extensions
    expect(extension?.signer).toEqual({
      issuer: ada.iss, subject: ada.sub, repository: null, workflow: null, ref: null,
    })
  })
})

describe('refuses a signature', () => {
  test.each(['index.js', 'bulkhead.json'])('is refused after a change of %s by the integrity file', async (file) => {
    using home = new HomeFixture()
    home.write(join(weather.install(home, bundle), file), `${weather.files[file]} `)
    const { extensions, diagnostics } = await load(home)
    expect(extensions).toEqual([])
    expect(diagnostics).toMatchObject([{ stage: 'integrity', code: 'IntegrityFailed' }])
  })

  test('is refused after a change of white space in the integrity file', async () => {
    using home = new HomeFixture()
    const location = weather.install(home, bundle)
    home.write(join(location, 'bulkhead.integrity.json'), `${weather.integrityFile}\n`)
    const { message, cure, location: place } = await refusal(home)
    expect(message).toBe('bulkhead.sigstore.json has a signature over other bytes (signature verification failed).')
    expect(cure).toMatch(/Get it again/)
    expect(place).toBe(join(location, 'bulkhead.sigstore.json'))
  })

  test.each(['another package', 'another version'])('is refused if it is that of %s', async (which) => {
    using home = new HomeFixture()
    const other = which === 'another package' ? new PackageFixture('storms') : new PackageFixture('weather', '1.3.0')
    weather.install(home, await sigstore.sign(other.integrityFile))
    expect((await refusal(home)).message).toMatch(/signature over other bytes/)
    weather.install(home, await sigstore.attest(other.statement()))
    expect((await refusal(home)).message).toMatch(/provenance of another file/)
  })

  test('is refused without an integrity file', async () => {
    using home = new HomeFixture()
    rmSync(join(weather.install(home, bundle), 'bulkhead.integrity.json'))
    expect((await refusal(home)).message).toMatch(/exists without bulkhead\.integrity\.json/)
  })

  const right = weather.subject()
  test.each<[string, JsonObject, RegExp]>([
    ['two subjects', { subject: [right, right] }, /exactly one subject/],
    ['no subject', { subject: [] }, /exactly one subject/],
    ['a subject without a digest', { subject: [{ name: 'x' }] }, /no digest/],
    ['an unknown digest', { subject: [{ name: 'x', digest: { md5: 'x' } }] }, /another file/],
    [
      'one right and one wrong digest',
      { subject: [{ name: 'x', digest: { ...right['digest'] as JsonObject, sha512: '00' } }] }, /another file/,
    ],
    [
      'another predicate than provenance', { predicateType: 'https://example.org/found-harmful/v1' },
      /does not state provenance/,
    ],
    ['another type', { _type: 'https://example.org/Statement' }, /no in-toto statement/],
  ])('over a statement with %s', LONG, async (_, over, message) => {
    using home = new HomeFixture()
    weather.install(home, await sigstore.attest(weather.statement(over)))
    expect((await refusal(home)).message).toMatch(message)
  })

  test('over another payload than a statement', LONG, async () => {
    using home = new HomeFixture()
    weather.install(home, await sigstore.attest(weather.statement(), BUILD, 'text/plain'))
    expect((await refusal(home)).message).toMatch(/payload of the type "text\/plain"/)
  })
})

describe('the trust root', () => {
  test('of another instance covers no certificate, and is named in the message', async () => {
    using home = new HomeFixture()
    await using other = await SigstoreFixture.start()
    weather.install(home, bundle)
    const { message } = await refusal(home, required, other.trustRoot)
    expect(message).toMatch(/compared with the trust root \(set by the host\)\.$/)
  })

  test('is the public one by default, and its age is reported', async () => {
    using home = new HomeFixture()
    weather.install(home, bundle)
    const { extensions, diagnostics } = await home.load({}, 'trusted', { policy: required })
    expect(extensions).toEqual([])
    expect(diagnostics[0]!.message).toMatch(
      /the trust root \(@sigstore\/tuf [\d.]+ of \d{4}-\d\d-\d\d, \d+ days? old\)\.$/,
    )
    expect(diagnostics[0]!.cure).toMatch(/root is not too old/)
  })

  test('is refused if it had expired at the time of signing', async () => {
    using home = new HomeFixture()
    await using expired = await SigstoreFixture.start({ start: '2020-01-01T00:00:00Z', end: '2021-01-01T00:00:00Z' })
    weather.install(home, await expired.sign(weather.integrityFile))
    expect((await refusal(home, required, expired.trustRoot)).message).toMatch(/(?:time of signing|certificate|log)/)
  })

  test.each<[string, (root: JsonObject) => Json, RegExp]>([
    ['is not an object', () => 'nonsense', /names no certificate authority/],
    ['names no authority', () => ({}), /names no certificate authority/],
    [
      'has a broken certificate',
      (root) => ({ ...root, certificateAuthorities: [{ certChain: { certificates: [{ rawBytes: 'AAAA' }] } }] }),
      /cannot be read/,
    ],
    [
      'does not say since when',
      (root) => JSON.parse(JSON.stringify(root).replaceAll('"start"', '"begin"')) as Json, /start of validity/,
    ],
  ])('that %s refuses signed packages', async (_, rootOf, message) => {
    using home = new HomeFixture()
    weather.install(home, bundle)
    const diagnostic = await refusal(home, required, rootOf(sigstore.trustRoot))
    expect(diagnostic.message).toMatch(message)
    expect(diagnostic.cure).toMatch(/configured trust root/)
  })
})

describe('policies', () => {
  test.each<[Policy, 'error' | 'warning' | undefined]>([
    [{}, undefined], [{ signature: { global: 'off' } }, undefined], [{ signature: { project: 'require' } }, undefined],
    [{ signature: { global: 'warn' } }, 'warning'], [{ signature: { global: 'require' } }, 'error'],
    [{ identities: { weather: { repository: signer.repository } } }, 'error'],
    [{ signature: { global: 'off' }, identities: { weather: { repository: signer.repository } } }, 'error'],
    [{ identities: { storms: { repository: signer.repository } } }, undefined],
  ])('%j for an unsigned package', async (policy, severity) => {
    using home = new HomeFixture()
    weather.install(home, undefined)
    const { extensions, diagnostics } = await load(home, policy)
    expect(extensions).toHaveLength(severity === 'error' ? 0 : 1)
    expect(diagnostics).toMatchObject(severity === undefined ? [] : [
      { severity, stage: 'signature', code: 'SignatureInvalid' },
    ])
  })

  test.each<[Policy, string | undefined]>([
    [{}, undefined], [{ signature: { global: 'warn' } }, undefined], [{ signature: { global: 'require' } }, undefined],
    [{ signature: { global: 'off' } }, 'verified'],
  ])('%j for a package with an invalid signature', async (policy, integrity) => {
    using home = new HomeFixture()
    weather.install(home, { nonsense: true })
    const { extensions } = await load(home, policy)
    expect(extensions.map((extension) => extension.integrity)).toEqual(integrity === undefined ? [] : [integrity])
  })

  test('apply per layer', async () => {
    using home = new HomeFixture()
    weather.install(home, bundle)
    new PackageFixture('storms').install(home, undefined, home.projectRoot)
    const { extensions, diagnostics } = await load(home, { signature: { global: 'require', project: 'require' } })
    expect(extensions.map(({ id }) => id)).toEqual(['weather'])
    expect(diagnostics).toMatchObject([{ layer: 'project', extensionId: 'storms', code: 'SignatureInvalid' }])
  })
})

describe('a pinned signer', () => {
  const pin = { issuer: signer.issuer, repository: signer.repository, workflow: signer.workflow, ref: 'refs/tags/v*' }
  const pinned: Policy = { identities: { weather: pin } }

  test('is accepted', async () => {
    using home = new HomeFixture()
    weather.install(home, bundle)
    expect((await load(home, pinned)).extensions).toMatchObject([{ integrity: 'signed', signer }])
  })

  const elsewhere = 'evil/weather/.github/workflows/release.yml@refs/tags/v1.4.0'
  test.each<[string, Partial<Claims>, RegExp]>([
    ['issuer', { iss: 'https://issuer.evil.example' }, /its issuer is "https:\/\/issuer\.evil\.example"/],
    ['repository', { repository: 'evil/weather' }, /its repository is "https:\/\/github\.com\/evil\/weather"/],
    ['workflow', { sub: `https://github.com/${elsewhere}` }, /its workflow is "https:\/\/github\.com\/evil/],
    ['ref', { ref: 'refs/heads/main' }, /its ref is "refs\/heads\/main", and "refs\/tags\/v\*" is pinned/],
  ])('is refused with another %s', async (_, claims, message) => {
    using home = new HomeFixture()
    weather.install(home, await sigstore.sign(weather.integrityFile, { ...BUILD, ...claims }))
    const diagnostic = await refusal(home, pinned)
    expect(diagnostic.message).toMatch(message)
    expect(diagnostic.message).toContain(`is signed by ${claims.sub ?? BUILD.sub} (issuer ${claims.iss ?? BUILD.iss})`)
    expect(diagnostic.cure).toMatch(/Check who published/)
  })

  test('matches no signer if the pin cannot be read', async () => {
    using home = new HomeFixture()
    weather.install(home, bundle)
    expect((await refusal(home, { identities: { weather: {} } })).message).toMatch(/without fields/)
  })
})
