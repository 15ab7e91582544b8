import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { publicData } from '../../../../scripts/public-data.ts'
import { verifyNpmAttestations, type NpmAttestationRequest } from '../../src/signature/npm-attestations.ts'
import { BUILD, SigstoreFixture } from './sigstore-fixture.ts'

const PUBLISH = 'https://github.com/npm/attestation/tree/main/specs/publish/v0.1'
const PROVENANCE = 'https://slsa.dev/provenance/v1'

interface Listed {
  readonly predicateType: string
  readonly bundle: JsonObject
}

const answers = [publicData('npm-attestations/playwright-cli-0.1.1.json')]
  .filter((path) => path !== undefined)
  .map((path) => readFileSync(path, 'utf8'))
  .map((text) => JSON.parse(text) as { readonly attestations: readonly Listed[] } & JsonObject)

test('the attestations of a real npm package are here', needs('public test data'), () => {
  expect(answers).toHaveLength(1)
})

describe.each(answers)('the attestations of a package on npm', (attestations) => {
  const { payload } = attestations.attestations[0]!.bundle['dsseEnvelope'] as { readonly payload: string }
  const { subject: [subject] } = JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) as
    { readonly subject: readonly [{ readonly digest: { readonly sha512: string } }] }
  const request: NpmAttestationRequest = {
    attestations, name: '@playwright/cli', version: '0.1.1', tarballSha512: subject.digest.sha512,
  }

  test('verify offline, and name the builder', async () => {
    expect(await verifyNpmAttestations(request)).toEqual({
      ok: true,
      value: {
        published: true,
        builder: {
          issuer: 'https://token.actions.githubusercontent.com',
          subject: 'https://github.com/microsoft/playwright-cli/.github/workflows/publish.yml@refs/tags/v0.1.1',
          repository: 'https://github.com/microsoft/playwright-cli',
          workflow: 'https://github.com/microsoft/playwright-cli/.github/workflows/publish.yml',
          ref: 'refs/tags/v0.1.1',
        },
      },
    })
  })

  test.each<[string, Partial<NpmAttestationRequest>]>([
    ['name', { name: '@playwright/cla' }], ['scope', { name: 'cli' }], ['version', { version: '0.1.2' }],
    ['digest', { tarballSha512: subject.digest.sha512.replace(/^./, (digit) => digit === '0' ? '1' : '0') }],
  ])('do not verify for another %s', async (_, over) => {
    for (const attestation of attestations.attestations) {
      const one = { attestations: [attestation] } as unknown as Json
      expect(await verifyNpmAttestations({ ...request, attestations: one })).toMatchObject({ ok: true })
      expect(await verifyNpmAttestations({ ...request, attestations: one, ...over })).toMatchObject(
        { ok: false, code: 'SignatureInvalid', step: 'subject', cure: expect.stringMatching(/Do not install/) },
      )
    }
  })
})

describe('generated attestations', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const tarballSha512 = 'ab'.repeat(64)
  const statement = (predicateType: string, over: JsonObject = {}): JsonObject => ({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'pkg:npm/%40acme/weather@1.4.0', digest: { sha512: tarballSha512 } }],
    predicateType, predicate: predicateType === PUBLISH ? { name: '@acme/weather', version: '1.4.0' } : {}, ...over,
  })
  const keysFor = (keyUsage: string, validFor: JsonObject = { start: '2020-01-01T00:00:00Z' }): Json => ({
    keys: [{
      keyId: 'key-1', keyUsage,
      publicKey: {
        rawBytes: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
        keyDetails: 'PKIX_ECDSA_P256_SHA_256', validFor,
      },
    }],
  })

  let sigstore: SigstoreFixture
  let published: Listed
  let built: Listed
  const byKey = async (predicateType: string, over?: JsonObject): Promise<Listed> =>
    ({ predicateType, bundle: await sigstore.attestByKey(statement(predicateType, over), privateKey, 'key-1') })
  const byBuild = async (predicateType: string, over?: JsonObject): Promise<Listed> =>
    ({ predicateType, bundle: await sigstore.attest(statement(predicateType, over)) })
  beforeAll(async () => {
    sigstore = await SigstoreFixture.start()
    published = await byKey(PUBLISH)
    built = await byBuild(PROVENANCE)
  })
  afterAll(() => sigstore[Symbol.asyncDispose]())

  const verify = (attestations: readonly Listed[], over: Partial<NpmAttestationRequest> = {}) => verifyNpmAttestations({
    attestations: { attestations } as unknown as Json, name: '@acme/weather', version: '1.4.0', tarballSha512,
    trustRoot: sigstore.trustRoot, keys: keysFor('npm:attestations'), ...over,
  })
  const refused = (step: string, message: RegExp) =>
    ({ ok: false, code: 'SignatureInvalid', step, message: expect.stringMatching(message) })

  test('verify together and alone, and report what each proves', async () => {
    const builder = { subject: BUILD.sub, repository: 'https://github.com/acme/weather' }
    expect(await verify([published, built])).toMatchObject({ ok: true, value: { published: true, builder } })
    expect(await verify([published])).toMatchObject({ ok: true, value: { published: true, builder: null } })
    expect(await verify([built])).toMatchObject({ ok: true, value: { published: false, builder } })
  })

  test('fail if one is invalid', async () => {
    const other = await byBuild(PROVENANCE, {
      subject: [{ name: 'pkg:npm/%40acme/weather@1.4.0', digest: { sha512: '00' } }],
    })
    expect(await verify([published, other])).toMatchObject(
      refused(
        'subject',
        /^The attestation of @acme\/weather@1\.4\.0 \(provenance\) is about a tarball with another sha512\.$/,
      ),
    )
  })

  test('prove publication only by the registry, and provenance only by a build', async () => {
    expect(await verify([await byBuild(PUBLISH)])).toMatchObject(
      refused('signer', /not signed with a key of the registry/),
    )
    expect(await verify([await byKey(PROVENANCE)])).toMatchObject(
      refused('signer', /not signed with the certificate of a build/),
    )
  })

  test('accept a key only for its usage and its validity', async () => {
    expect(await verify([published], { keys: keysFor('npm:signatures') })).toMatchObject(
      refused('key', /no key is listed/),
    )
    expect(
      await verify([published], { keys: keysFor('npm:attestations', { end: '2021-01-01T00:00:00Z' }) }),
    ).toMatchObject(refused('key', /not valid for timestamp/))
    expect(
      await verify([published], { keys: keysFor('npm:attestations', { start: '2999-01-01T00:00:00Z' }) }),
    ).toMatchObject(refused('key', /not valid for timestamp/))
    const itsTime = { start: '2020-01-01T00:00:00Z', end: '2999-01-01T00:00:00Z' }
    expect(await verify([published], { keys: keysFor('npm:attestations', itsTime) })).toMatchObject({ ok: true })
    // By default only the keys of the registry are trusted.
    const { ok } = await verifyNpmAttestations({
      attestations: { attestations: [published] } as unknown as Json, name: '@acme/weather', version: '1.4.0',
      tarballSha512,
      trustRoot: sigstore.trustRoot,
    })
    expect(ok).toBe(false)
  })

  test.each<[string, () => Promise<readonly Listed[]>, string, RegExp]>([
    ['an empty list', async () => [], 'statement', /neither publication nor provenance/],
    ['an unknown type', async () => [{ ...built, predicateType: 'https://example.org/x' }], 'statement', /neither/],
    ['two of the same kind', async () => [built, built], 'statement', /states the provenance twice/],
    [
      'an attestation listed under another type', async () => [{ ...built, predicateType: PUBLISH }], 'statement',
      /listed under another type/,
    ],
    [
      'a predicate about another version',
      async () => [await byKey(PUBLISH, { predicate: { name: '@acme/weather', version: '9.0.0' } })],
      'subject', /contradicts itself/,
    ],
    [
      'a predicate about another name',
      async () => [await byKey(PUBLISH, { predicate: { name: '@acme/storms', version: '1.4.0' } })],
      'subject', /contradicts itself/,
    ],
    [
      'two subjects',
      async () => [await byBuild(PROVENANCE, { subject: ['a', 'b'].map((name) => ({ name, digest: {} })) })],
      'statement', /exactly one subject/,
    ],
    [
      'a signature over bytes', async () => [{ predicateType: PROVENANCE, bundle: await sigstore.sign('') }],
      'statement', /holds no statement/,
    ],
    ['no bundle', async () => [{ predicateType: PROVENANCE, bundle: {} }], 'form', /not a sigstore bundle/],
  ])('%s proves nothing', async (_, listed, step, message) => {
    expect(await verify(await listed())).toMatchObject(refused(step, message))
  })

  test('are at most 16, those of other types included', async () => {
    const other = { predicateType: 'https://example.com/other', bundle: {} } as Listed
    const others = Array.from({ length: 16 }, () => other)
    expect(await verify([published, ...others.slice(1)])).toMatchObject({ ok: true })
    expect(await verify([published, ...others])).toMatchObject(refused('form', /a list of at most 16/))
  })

  test.each([
    null, [], 'x', { attestations: {} }, { attestations: [null, 5] },
  ])('are refused in an answer like %j', async (attestations) => {
    expect(await verify([], { attestations: attestations as Json })).toMatchObject({
      ok: false, code: 'SignatureInvalid',
    })
  })
})
