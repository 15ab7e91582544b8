import { generateKeyPairSync } from 'node:crypto'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { parseInstallSpec } from '../../src/install/obtain-package.ts'
import { TEST_RESULT } from '../../src/signature/conformance.ts'
import { sign } from '../../src/signature/sign.ts'
import { BUILD } from '../signature/sigstore-fixture.ts'
import { installerFor } from './install-fixture.ts'
import {
  attest, failed, type Given, home, keyless, OTHER, otherSuite, outcome, OWN, ownKey, pems, PUBLISHER, sigstore, SPEC,
  tampered, unlogged, useAttestedPackage,
} from './attested-package.ts'

useAttestedPackage()

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

  test('is found beside the tarball by an installation, and one for other files is refused', LONG, async () => {
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
