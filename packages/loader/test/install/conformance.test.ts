import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { conformanceStatement, TEST_RESULT } from '../../src/signature/conformance.ts'
import { sign } from '../../src/signature/sign.ts'
import { BUILD } from '../signature/sigstore-fixture.ts'
import { installerFor, packageFiles, tarballOf } from './install-fixture.ts'
import { RegistryFixture } from './registry-fixture.ts'
import {
  attest, counts, failed, type Given, home, keyless, OTHER, otherSuite, outcome, OWN, ownKey, PUBLISHER, reportOf,
  sigstore, SPEC, tampered, unlogged, useAttestedPackage,
} from './attested-package.ts'

useAttestedPackage()

const requires = (...signers: object[]) => ({ require: true, signers })
const machineWith = (...signers: object[]) => ({ policy: { conformance: requires(...signers) } })

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
