import { createHash, createPublicKey } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { PublicKey } from '@sigstore/protobuf-specs'
import { describe, expect, test } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { publicData } from '../../../../scripts/public-data.ts'
import { findPinFault } from '../../src/signature/signer.ts'
import { PUBLIC_GOOD_ROOT } from '../../src/signature/public-good.ts'
import { BundleVerifier, type TrustedKeys } from '../../src/signature/sigstore.ts'
import { isAbout, type Verification } from '../../src/signature/verification.ts'

const CORPUS = publicData('sigstore-bundles')
const BEACON = 'https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon'
  + '/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main'
const ISSUER = 'https://token.actions.githubusercontent.com'

/** Why the case is refused, or undefined when it verifies. */
function refusalOf(name: string): string | undefined {
  const own = (file: string): Buffer | undefined => {
    const path = join(CORPUS!, name, file)
    return existsSync(path) ? readFileSync(path) : undefined
  }
  const json = (bytes: Buffer): JsonObject => JSON.parse(bytes.toString('utf8')) as JsonObject
  const bundle = json(own('bundle.sigstore.json')!)
  const artifact = own('artifact') ?? readFileSync(join(CORPUS!, 'a.txt'))
  const root = own('trusted_root.json')
  const opened = BundleVerifier.open(
    root === undefined ? PUBLIC_GOOD_ROOT.json : json(root), keysOf(bundle, own('key.pub')),
  )
  if (!opened.ok) return wordsOf(opened)
  const result = opened.value.verify(bundle, artifact)
  if (!result.ok) return wordsOf(result)
  const { signer, statement } = result.value
  const digests = new Map(['sha256', 'sha512'].map((kind) => [kind, createHash(kind).update(artifact).digest('hex')]))
  if (statement !== null && !isAbout(statement, digests)) return 'subject'
  const text = (file: string, otherwise: string): string => own(file)?.toString('utf8').trim() ?? otherwise
  if (signer === null) return undefined
  return findPinFault({ workflow: text('identity', BEACON), issuer: text('issuer', ISSUER) }, signer)
}

const wordsOf = (result: Verification<unknown>): string =>
  result.ok ? '' : `${result.fault.step}: ${result.fault.message}`

function keysOf(bundle: JsonObject, pem: Buffer | undefined): TrustedKeys {
  if (pem === undefined) return new Map()
  const { publicKey } = bundle['verificationMaterial'] as { readonly publicKey: { readonly hint: string } }
  const rawBytes = createPublicKey(pem).export({ format: 'der', type: 'spki' }).toString('base64')
  return new Map([[publicKey.hint, PublicKey.fromJSON({ rawBytes, keyDetails: 'PKIX_ECDSA_P256_SHA_256' })]])
}

const cases = CORPUS === undefined ? [] : readdirSync(CORPUS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory()).map(({ name }) => name).toSorted()

describe('the public conformance corpus', needs('public test data'), () => {
  test('is whole', () => {
    expect(cases.length).toBeGreaterThanOrEqual(35)
  })
  test.each(cases.filter((name) => !name.endsWith('_fail')))('%s verifies', (name) => {
    expect(refusalOf(name)).toBeUndefined()
  })
  test.each(cases.filter((name) => name.endsWith('_fail')))('%s is refused', (name) => {
    expect(refusalOf(name)).toBeTypeOf('string')
  })
})
