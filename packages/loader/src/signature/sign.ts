import { createPrivateKey, createPublicKey, hash, sign as signWith, type KeyObject } from 'node:crypto'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { BundleBuilderOptions, Signer } from '@sigstore/sign'
import { PAYLOAD_TYPE } from './verification.ts'

/** What is signed: a file like `cosign sign-blob` does, or an in-toto statement. */
export type Signed = { readonly file: Uint8Array } | { readonly statement: JsonObject }

export type Signing =
  /** A private key in PEM, P-256 or Ed25519. Makes no request. */
  | { readonly key: string }
  /**
   * The identity token of the CI job (GitHub Actions, or SIGSTORE_ID_TOKEN). The certificate authority, the log and the
   * timestamp authority are those of this trust root.
   */
  | { readonly trustRoot: Json }

/** Signs, and returns a sigstore bundle as JSON. Rejects with SigningFailed. */
export async function sign(signed: Signed, signing: Signing): Promise<JsonObject> {
  try {
    const { DSSEBundleBuilder, MessageSignatureBundleBuilder } = await import('@sigstore/sign')
    const { bundleToJSON } = await import('@sigstore/bundle')
    const parties = 'key' in signing
      ? { signer: keySigner(signing.key), witnesses: [] } : await publicParties(signing.trustRoot)
    const bundle = 'file' in signed
      ? await new MessageSignatureBundleBuilder(parties).create({ data: Buffer.from(signed.file) })
      : await new DSSEBundleBuilder(parties).create({
        data: Buffer.from(JSON.stringify(signed.statement)), type: PAYLOAD_TYPE,
      })
    return bundleToJSON(bundle) as unknown as JsonObject
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    throw new BulkheadError('SigningFailed', `The signature could not be made: ${causesOf(error)}`, { cause: error })
  }
}

/** The library hides the reason in the cause. */
const causesOf = (error: unknown): string =>
  [error, error instanceof Error ? error.cause : undefined].filter((part) => part !== undefined)
    .map(messageOf).join(': ')

function keySigner(pem: string): Signer {
  const privateKey = readPrivateKey(pem)
  const publicKey = createPublicKey(privateKey)
  const key = {
    $case: 'publicKey' as const, hint: keyHint(publicKey),
    publicKey: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  }
  const algorithm = privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  return { sign: async (data) => ({ signature: signWith(algorithm, data, privateKey), key }) }
}

function readPrivateKey(pem: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (error) {
    throw badKey(`cannot be read (${messageOf(error)})`, error)
  }
  if (!isSupported(key)) throw badKey('is of another kind')
  return key
}

const badKey = (what: string, cause?: unknown): BulkheadError => new BulkheadError(
  'SigningFailed',
  `The private key ${what}. Use an Ed25519 or P-256 key in PEM without a passphrase, such as one that `
    + '"openssl genpkey -algorithm ed25519" makes.',
  { cause },
)

/** Kinds of keys that can sign and be pinned. */
export const isSupported = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean =>
  asymmetricKeyType === 'ed25519'
  || (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1')

/** Names a public key inside a bundle. */
export const keyHint = (key: KeyObject): string =>
  hash('sha256', key.export({ format: 'der', type: 'spki' }), 'base64')

/** Throws SigningFailed without an identity token. Call it before work that ends with a signature. */
export function requireIdentity({ env } = process): void {
  const { SIGSTORE_ID_TOKEN, ACTIONS_ID_TOKEN_REQUEST_URL, ACTIONS_ID_TOKEN_REQUEST_TOKEN } = env
  if (SIGSTORE_ID_TOKEN || (ACTIONS_ID_TOKEN_REQUEST_URL && ACTIONS_ID_TOKEN_REQUEST_TOKEN)) return
  throw new BulkheadError(
    'SigningFailed',
    'There is no identity token. Sign in CI with the permission "id-token: write", or set SIGSTORE_ID_TOKEN.',
  )
}

const REQUEST = { timeout: 15_000, retry: 1 } as const

async function publicParties(trustRoot: Json): Promise<BundleBuilderOptions> {
  const { CIContextProvider, FulcioSigner, RekorWitness, TSAWitness } = await import('@sigstore/sign')
  requireIdentity()
  const identityProvider = new CIContextProvider('sigstore')
  const [authority] = urlsOf(trustRoot, 'certificateAuthorities', 'uri').slice(-1)
  const [log] = urlsOf(trustRoot, 'tlogs', 'baseUrl')
  const [clock] = urlsOf(trustRoot, 'timestampAuthorities', 'uri').slice(-1)
  if (authority === undefined || log === undefined) {
    throw new BulkheadError('SigningFailed', 'The trust root names no certificate authority or no log to sign with.')
  }
  return {
    signer: new FulcioSigner({ ...REQUEST, identityProvider, fulcioBaseURL: authority }),
    witnesses: [
      new RekorWitness({ ...REQUEST, rekorBaseURL: log, entryType: 'intoto' }),
      ...(clock === undefined ? [] : [new TSAWitness({ ...REQUEST, tsaBaseURL: new URL(clock).origin })]),
    ],
  }
}

/** The addresses of the services that are in use now, in the order of the root. */
function urlsOf(trustRoot: Json, list: string, name: string): readonly string[] {
  const services = isJsonObject(trustRoot) ? trustRoot[list] : undefined
  return (Array.isArray(services) ? services as readonly Json[] : []).filter(isJsonObject).flatMap((service) => {
    const { validFor } = isJsonObject(service['publicKey']) ? service['publicKey'] : service
    const url = service[name]
    return typeof url === 'string' && !(isJsonObject(validFor) && validFor['end'] !== undefined) ? [url] : []
  })
}
