import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { chmodSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConformanceReport, ExtensionDescriptor } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { resolveConfig } from '../../src/config/resolve-config.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { checkConformance, type ConformanceSources } from '../../src/install/conformance.ts'
import { parseInstallSpec } from '../../src/install/obtain-package.ts'
import { conformanceStatement, TEST_RESULT } from '../../src/signature/conformance.ts'
import { sign, type Signing } from '../../src/signature/sign.ts'
import { HomeFixture } from '../home-fixture.ts'
import { BUILD, SigstoreFixture } from '../signature/sigstore-fixture.ts'
import { installerFor, packageFiles, tarballOf } from './install-fixture.ts'
import { RegistryFixture } from './registry-fixture.ts'

const pems = (pair: Readonly<Record<'privateKey' | 'publicKey', KeyObject>>) => ({
  key: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  publicKey: pair.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
})
const OWN = pems(generateKeyPairSync('ed25519'))
const OTHER = pems(generateKeyPairSync('ec', { namedCurve: 'P-256' }))
/** The build of acme/weather that signs keyless. */
const PUBLISHER = { issuer: BUILD.iss, repository: 'https://github.com/acme/weather' }

let home: HomeFixture
let sigstore: SigstoreFixture
let extension: ExtensionDescriptor
const SPEC = 'weather-1.0.0.tgz'
beforeAll(async () => {
  home = new HomeFixture()
  sigstore = await SigstoreFixture.start()
  writeFileSync(join(home.base, SPEC), await tarballOf(packageFiles()))
  ;({ extension } = await installerFor(home).plan(SPEC))
})
afterAll(async () => {
  home[Symbol.dispose]()
  await sigstore[Symbol.asyncDispose]()
})

const counts = { passed: 0, failed: 0, skipped: 0 }
const reportOf = (change: Partial<ConformanceReport> = {}): ConformanceReport => ({
  extension: { id: 'weather', version: '1.0.0' }, digest: extension.digests.package, seed: 1,
  host: { version: '1.0.0', node: 'v26.0.0', platform: 'linux x64' },
  checks: [
    { id: 'call-survives', group: 'calls', level: 'must', ok: true },
    { id: 'package-readme', group: 'package', level: 'should', ok: false, evidence: 'there is no README' },
  ],
  summary: { must: counts, should: counts, conforms: true }, ...change,
})

const attest = (signing: Signing, change: Partial<ConformanceReport> = {}): Promise<JsonObject> =>
  sign({ statement: conformanceStatement(reportOf(change)) }, signing)

/** Made once: each takes a certificate, a log entry and a timestamp. */
let proof: Promise<JsonObject> | undefined
const keyless = (): Promise<JsonObject> => (proof ??= signKeyless())

async function signKeyless(): Promise<JsonObject> {
  process.env['SIGSTORE_ID_TOKEN'] = sigstore.tokenOf()
  try {
    return await attest({ trustRoot: sigstore.trustRoot })
  } finally {
    delete process.env['SIGSTORE_ID_TOKEN']
  }
}

interface Given {
  readonly policy?: unknown
  /** The text of the configuration of the user, instead of the policy. */
  readonly config?: string
  /** The configuration of the project, into which it is installed then. */
  readonly project?: unknown
  /** The policy of the machine. */
  readonly machine?: unknown
  /** Written to a file. */
  readonly attestation?: unknown
  readonly from?: ConformanceSources
}

/** `attested by …`, or the step and the message of the refusal. */
async function outcome({ policy, config, project, machine, attestation, from }: Given): Promise<string> {
  home.write(join(home.globalRoot, 'config.json'), config ?? { policy: { conformance: policy } })
  if (project !== undefined) home.write(join(home.projectRoot, 'config.json'), { policy: { conformance: project } })
  if (attestation !== undefined) home.write(join(home.base, 'proof.json'), attestation as object)
  const file = join(home.base, 'machine', 'policy.json')
  if (machine !== undefined) {
    home.write(file, machine as object)
    for (const path of [home.base, join(file, '..'), file]) chmodSync(path, 0o755)
  }
  const roots = {
    global: home.globalRoot, ...(machine !== undefined && { machine: { file, owners: [0, process.getuid?.() ?? 0] } }),
  }
  const resolution = resolveConfig(
    resolveSettings(home.options({ roots })), project === undefined ? null : home.projectRoot, undefined,
  )
  const sources = from ?? {
    spec: parseInstallSpec(SPEC, home.base), attestations: null,
    ...(attestation !== undefined && { file: join(home.base, 'proof.json') }),
  }
  try {
    const { attestedBy, warnings } = await checkConformance(extension, resolution, sources, sigstore.trustRoot)
    const said = warnings.map((text) => `, warned: ${text.replaceAll(`${home.base}/`, '')}`).join('')
    return (attestedBy === null ? 'not attested' : `attested by ${attestedBy}`) + said
  } catch (error) {
    const { code, message, data } = error as { code: string; message: string; data?: { step: string } }
    return `${code} ${data?.step}: ${message.replaceAll(`${home.base}/`, '')}`
  } finally {
    for (const root of [home.globalRoot, home.projectRoot]) rmSync(join(root, 'config.json'), { force: true })
  }
}

const failed: Partial<ConformanceReport> = {
  checks: [{ id: 'abort', group: 'abort', level: 'must', ok: false }],
  summary: { must: counts, should: counts, conforms: false },
}
const requires = (...signers: object[]) => ({ require: true, signers })
const machineWith = (...signers: object[]) => ({ policy: { conformance: requires(...signers) } })
const ownKey = { key: OWN.publicKey }

describe('policy.conformance', () => {
  test('is off by default, and signers alone require nothing', async () => {
    expect(await outcome({ config: '{}' })).toBe('not attested')
    expect(await outcome({ policy: { signers: [ownKey] } })).toBe('not attested')
    expect(await outcome({ policy: { require: false, signers: [] } })).toBe('not attested')
  })

  test('accepts an attestation with a pinned key, and by a pinned build, without a request', async () => {
    expect(await outcome({ policy: requires(ownKey), attestation: await attest(OWN) })).toBe('attested by a pinned key')
    expect(
      await outcome({ policy: requires(ownKey, { key: OTHER.publicKey }), attestation: await attest(OTHER) }),
    ).toBe('attested by a pinned key')
    expect(await outcome({ machine: machineWith(ownKey), policy: {}, attestation: await attest(OWN) })).toBe(
      'attested by a pinned key',
    )
    const words = `attested by ${BUILD.sub} (issuer ${BUILD.iss})`
    const attestation = await keyless()
    expect(await outcome({ policy: requires(ownKey, PUBLISHER), attestation })).toBe(words)
    // The same proof from another repository, key or issuer does not count.
    for (const pin of [
      { ...PUBLISHER, repository: 'https://github.com/acme/other' }, { ...PUBLISHER, issuer: 'https://x.example' },
      ownKey,
    ]) {
      expect(await outcome({ policy: requires(pin), attestation })).toMatch(
        /^ConformanceUnproven signer: (?:proof\.json is signed by .* Pin|.*if you pin that publisher)/,
      )
    }
  })

  test.each<readonly [string, () => Promise<Given>, RegExp]>([
    [
      'no attestation', async () => ({ policy: requires(ownKey) }),
      new RegExp(String.raw`^ConformanceUnproven missing: .*weather 1\.0\.0 conforms, and there is none\. `
        + 'Get an attestation .*--attestation FILE'),
    ],
    [
      'another key, which a publisher may have',
      async () => ({ policy: requires(ownKey), attestation: await attest(OTHER) }),
      /^ConformanceUnproven key: .*if you pin its key/,
    ],
    [
      'another package',
      async () => ({ policy: requires(ownKey), attestation: await attest(OWN, { digest: 'f'.repeat(128) }) }),
      /^ConformanceUnproven subject: .*"weather@1\.0\.0" with other files\..*each change/,
    ],
    [
      'failures', async () => ({ policy: requires(ownKey), attestation: await attest(OWN, failed) }),
      /^ConformanceUnproven result: .*does not conform \(abort\)\. Install another version/,
    ],
    [
      'a failed result without a reason',
      async () => ({
        policy: requires(ownKey),
        attestation: await attest(OWN, { summary: { must: counts, should: counts, conforms: false } }),
      }),
      /^ConformanceUnproven result: .*\(no results\)/,
    ],
    [
      'a must that was skipped',
      async () => ({
        policy: requires(ownKey),
        attestation: await attest(OWN, { checks: [{ id: 'abort', group: 'abort', level: 'must', ok: null }] }),
      }),
      /^ConformanceUnproven result: .*\(abort\)/,
    ],
    [
      'other bytes than JSON', async () => ({ policy: requires(ownKey), attestation: 'not JSON' }),
      /^ConformanceUnproven form: proof\.json is not .*JSON/,
    ],
    [
      'no bundle', async () => ({ policy: requires(ownKey), attestation: { statement: true } }),
      /^ConformanceUnproven form: .*not a sigstore bundle/,
    ],
    [
      'a changed statement', async () => ({ policy: requires(ownKey), attestation: tampered(await attest(OWN)) }),
      /^ConformanceUnproven signature: .*over other bytes/,
    ],
    [
      'a certificate without a log',
      async () => ({ policy: requires(PUBLISHER), attestation: unlogged(await keyless()) }),
      /^ConformanceUnproven (?:log|time): /,
    ],
    [
      'another kind of statement',
      async () => ({
        policy: requires(ownKey),
        attestation: await sign(
          { statement: { ...conformanceStatement(reportOf()), predicateType: 'https://slsa.dev/provenance/v1' } }, OWN,
        ),
      }),
      /^ConformanceUnproven statement: .*does not state results/,
    ],
    [
      'results of another suite',
      async () => ({ policy: requires(ownKey), attestation: await sign({ statement: otherSuite() }, OWN) }),
      /^ConformanceUnproven statement: .*another suite/,
    ],
    [
      'a file and no statement',
      async () => ({ policy: requires(ownKey), attestation: await sign({ file: new Uint8Array() }, OWN) }),
      /^ConformanceUnproven (?:statement|signature|form): /,
    ],
    [
      'no signers in the policy', async () => ({ policy: { require: true }, attestation: await attest(OWN) }),
      /^ConformanceUnproven policy: .*names no signer/,
    ],
    [
      'a misspelt policy',
      async () => ({ policy: { requires: true, signers: [ownKey] }, attestation: await attest(OWN) }),
      /^ConformanceUnproven policy: /,
    ],
    [
      'a key that cannot be read',
      async () => ({
        policy: requires(ownKey, { key: '-----BEGIN PUBLIC KEY-----\nx' }), attestation: await attest(OWN),
      }),
      /^ConformanceUnproven policy: /,
    ],
    [
      'a signer that is everyone of an issuer',
      async () => ({ policy: requires({ issuer: BUILD.iss }), attestation: await keyless() }),
      /^ConformanceUnproven policy: /,
    ],
    [
      'a policy of another form', async () => ({ policy: 'yes', attestation: await attest(OWN) }),
      /^ConformanceUnproven policy: /,
    ],
    [
      'an unreadable configuration', async () => ({ config: '{ "policy":', attestation: await attest(OWN) }),
      /^ConformanceUnproven policy: /,
    ],
    [
      'an unreadable section policy', async () => ({ config: '{ "policy": 7 }', attestation: await attest(OWN) }),
      /^ConformanceUnproven policy: /,
    ],
    [
      'a project that turns it off', async () => ({ policy: requires(ownKey), project: { require: false } }),
      /^ConformanceUnproven missing: /,
    ],
    [
      'a project that adds a signer',
      async () => ({
        policy: requires(ownKey), project: requires({ key: OTHER.publicKey }), attestation: await attest(OTHER),
      }),
      /^ConformanceUnproven key: /,
    ],
    [
      'a project that names the signers for a user who names none',
      async () => ({ policy: { require: true }, project: requires(ownKey), attestation: await attest(OWN) }),
      /^ConformanceUnproven policy: /,
    ],
    [
      'a project that names other signers',
      async () => ({
        policy: requires(ownKey), project: requires({ key: OTHER.publicKey }), attestation: await attest(OWN),
      }),
      /^ConformanceUnproven key: /,
    ],
    [
      'a user who turns the policy of the machine off',
      async () => ({ machine: machineWith(ownKey), policy: { require: false } }), /^ConformanceUnproven missing: /,
    ],
    [
      'a user who adds a signer to those of the machine',
      async () => ({
        machine: machineWith(ownKey), policy: requires({ key: OTHER.publicKey }), attestation: await attest(OTHER),
      }),
      /^ConformanceUnproven key: /,
    ],
    [
      'a faulty policy of the machine',
      async () => ({
        machine: { policy: { conformance: { require: false } } }, policy: {}, attestation: await attest(OWN),
      }),
      /^ConformanceUnproven policy: /,
    ],
  ])('refuses %s', async (_, given, refusal) => {
    expect(await outcome(await given())).toMatch(refusal)
  })

  test('finds the attestation beside the tarball, and in the answer of a registry', async () => {
    const beside = join(home.base, 'weather-1.0.0.conformance.json')
    home.write(beside, await attest(OWN))
    expect(await outcome({ policy: requires(ownKey), project: requires(ownKey, { key: OTHER.publicKey }) })).toBe(
      'attested by a pinned key',
    )
    home.write(beside, await attest(OTHER))
    expect(await outcome({ policy: requires(ownKey) })).toMatch(
      /^ConformanceUnproven key: weather-1\.0\.0\.conformance\.json /,
    )
    rmSync(beside)
    const listed = await Promise.all([attest(OTHER), attest(OWN)])
    const spec = { kind: 'npm' as const, name: 'weather', wanted: 'latest' }
    const attestations = { attestations: listed.map((bundle) => ({ predicateType: TEST_RESULT, bundle })) }
    expect(await outcome({ policy: requires(ownKey), from: { spec, attestations } })).toBe('attested by a pinned key')
    expect(await outcome({ policy: requires(PUBLISHER), from: { spec, attestations } })).toMatch(
      /^ConformanceUnproven key: The attestation of the registry /,
    )
    expect(await outcome({ policy: requires(ownKey), from: { spec, attestations: { attestations: 7 } } })).toMatch(
      /^ConformanceUnproven missing: /,
    )
  })

  test('is enforced by an installation', async () => {
    home.write(join(home.globalRoot, 'config.json'), { policy: { conformance: requires(ownKey) } })
    await expect(installerFor(home).plan(SPEC)).rejects.toMatchObject({ code: 'ConformanceUnproven' })
    home.write(join(home.base, 'proof.json'), await attest(OWN))
    expect(await installerFor(home).plan(SPEC, { attestation: 'proof.json' })).toMatchObject({
      conformance: 'a pinned key',
    })
  })

  test.each(thoroughly([], ['registry']))('is enforced by an installation from a %s', async () => {
    await using registry = await RegistryFixture.start()
    const tarball = await tarballOf(packageFiles())
    const provenance = await provenanceOf(tarball)
    const publish = (...attestations: JsonObject[]): void =>
      registry.publish('weather', '1.0.0', { tarball, attestations: { attestations } })
    home.write(join(home.globalRoot, 'config.json'), { policy: { conformance: requires(ownKey) } })
    const installer = installerFor(home, { registry: { url: registry.url }, loader: { trustRoot: sigstore.trustRoot } })
    publish(provenance, { predicateType: TEST_RESULT, bundle: await attest(OWN) })
    expect((await installer.plan('weather')).conformance).toBe('a pinned key')
    publish(provenance)
    await expect(installer.plan('weather')).rejects.toMatchObject({
      code: 'ConformanceUnproven', data: { step: 'missing' },
    })
  })
})

describe('an attestation that no policy requires', () => {
  const config = '{}'

  test('is verified, and shown with its signer', async () => {
    const words = `attested by ${BUILD.sub} (issuer ${BUILD.iss})`
    expect(await outcome({ config, attestation: await keyless() })).toBe(`${words}, who is not pinned`)
    expect(await outcome({ policy: { signers: [PUBLISHER] }, attestation: await keyless() })).toBe(words)
    expect(await outcome({ policy: { signers: [ownKey] }, attestation: await attest(OWN) })).toBe(
      'attested by a pinned key',
    )
  })

  test('proves nothing if its key is not pinned, or if it states failures', async () => {
    expect(await outcome({ config, attestation: await attest(OTHER) })).toMatch(
      /^not attested, warned: proof\.json is signed with a key that is not trusted .* It proves nothing\. Pin its key/,
    )
    expect(await outcome({ policy: { signers: [ownKey] }, attestation: await attest(OWN, failed) }))
      .toMatch(/^not attested, warned: proof\.json states that the package does not conform \(abort\)\./)
  })

  test.each<readonly [string, () => Promise<Given>, RegExp]>([
    [
      'about another package', async () => ({ config, attestation: await attest(OTHER, { digest: 'f'.repeat(128) }) }),
      new RegExp(String.raw`^ConformanceUnproven subject: proof\.json is about "weather@1\.0\.0" with other files\. `
        + 'Get the package and its attestation again'),
    ],
    [
      'of another statement', async () => ({ config, attestation: await sign({ statement: otherSuite() }, OTHER) }),
      /^ConformanceUnproven statement: .*another suite/,
    ],
    [
      'with a changed statement', async () => ({ config, attestation: tampered(await keyless()) }),
      /^ConformanceUnproven (?:signature|log): /,
    ],
    [
      'without a log', async () => ({ config, attestation: unlogged(await keyless()) }),
      /^ConformanceUnproven (?:log|time): /,
    ],
    [
      'that is no bundle', async () => ({ config, attestation: { statement: true } }),
      /^ConformanceUnproven form: .*not a sigstore bundle/,
    ],
    [
      'that cannot be read',
      async () => ({
        config,
        from: { spec: parseInstallSpec(SPEC, home.base), attestations: null, file: join(home.base, 'missing.json') },
      }),
      /^ConformanceUnproven form: missing\.json does not exist/,
    ],
    [
      'of more than 1 MiB', async () => ({ config, attestation: ' '.repeat(1024 ** 2 + 1) as never }),
      /1048576 are allowed/,
    ],
  ])('is refused %s', async (_, given, refusal) => {
    expect(await outcome(await given())).toMatch(refusal)
  })

  test('is refused if one of several is wrong, and each that proves nothing is named', async () => {
    const spec = { kind: 'npm' as const, name: 'weather', wanted: 'latest' }
    const listed = async (...bundles: readonly JsonObject[]) =>
      outcome({
        config,
        from: {
          spec, attestations: { attestations: bundles.map((bundle) => ({ predicateType: TEST_RESULT, bundle })) },
        },
      })
    expect(await listed(await attest(OTHER), await keyless())).toMatch(
      /^attested by .*, who is not pinned, warned: The attestation of the registry is signed with a key/,
    )
    expect(await listed(await keyless(), await attest(OWN, { digest: 'f'.repeat(128) }))).toMatch(
      /^ConformanceUnproven subject: /,
    )
  })

  test('is found beside the tarball by an installation, and one for other files is refused', async () => {
    rmSync(join(home.globalRoot, 'config.json'), { force: true })
    const beside = join(home.base, 'weather-1.0.0.conformance.json')
    const installer = installerFor(home, { loader: { trustRoot: sigstore.trustRoot } })
    expect(await installer.plan(SPEC)).toMatchObject({ conformance: null, warnings: [] })
    home.write(beside, await keyless())
    expect((await installer.plan(SPEC)).conformance).toContain('who is not pinned')
    home.write(beside, await attest(OWN, { digest: 'f'.repeat(128) }))
    await expect(installer.plan(SPEC)).rejects.toMatchObject({ code: 'ConformanceUnproven', data: { step: 'subject' } })
    rmSync(beside)
    symlinkSync('nowhere', beside)
    await expect(installer.plan(SPEC).finally(() => rmSync(beside))).rejects.toMatchObject({
      code: 'ConformanceUnproven', data: { step: 'form' },
    })
  })
})

describe('signing', () => {
  test('needs a token or a supported key, and says so', async () => {
    await expect(attest({ trustRoot: sigstore.trustRoot })).rejects.toMatchObject({
      code: 'SigningFailed', message: expect.stringContaining('id-token: write'),
    })
    await expect(attest({ key: 'nonsense' })).rejects.toMatchObject({
      code: 'SigningFailed', message: expect.stringContaining('openssl genpkey'),
    })
    await expect(attest(pems(generateKeyPairSync('ec', { namedCurve: 'P-384' })))).rejects.toMatchObject({
      code: 'SigningFailed', message: expect.stringContaining('of another kind'),
    })
  })

  test('reports an authority that cannot be reached', async () => {
    const dead = JSON.parse(
      JSON.stringify(sigstore.trustRoot).replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://127.0.0.1:9'),
    ) as JsonObject
    process.env['SIGSTORE_ID_TOKEN'] = sigstore.tokenOf()
    try {
      await expect(sign({ statement: {} }, { trustRoot: dead })).rejects.toMatchObject({
        code: 'SigningFailed', message: expect.stringMatching(/could not be made: .*ECONNREFUSED/),
      })
    } finally {
      delete process.env['SIGSTORE_ID_TOKEN']
    }
  })
})

const otherSuite = (): JsonObject => {
  const statement = conformanceStatement(reportOf()) as JsonObject & { predicate: JsonObject }
  return { ...statement, predicate: { ...statement.predicate, configuration: [{ name: 'another' }] } }
}

const tampered = (bundle: JsonObject): JsonObject => {
  const text = JSON.stringify(bundle)
  const { payload } = bundle['dsseEnvelope'] as { payload: string }
  const changed = Buffer.from(payload, 'base64').toString().replace('"seed":1', '"seed":2')
  return JSON.parse(text.replace(payload, Buffer.from(changed).toString('base64'))) as JsonObject
}

const unlogged = (bundle: JsonObject): JsonObject => ({
  ...bundle,
  verificationMaterial: {
    ...(bundle['verificationMaterial'] as JsonObject), tlogEntries: [],
    timestampVerificationData: { rfc3161Timestamps: [] },
  },
})

async function provenanceOf(tarball: Uint8Array): Promise<JsonObject> {
  const predicateType = 'https://slsa.dev/provenance/v1'
  const bundle = await sigstore.attest({
    _type: 'https://in-toto.io/Statement/v1', predicateType, predicate: {},
    subject: [
      { name: 'pkg:npm/weather@1.0.0', digest: { sha512: createHash('sha512').update(tarball).digest('hex') } },
    ],
  })
  return { predicateType, bundle }
}
