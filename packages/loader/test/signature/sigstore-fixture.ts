import type { AddressInfo } from 'node:net'
import { createHash, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { bundleToJSON, type Bundle } from '@sigstore/bundle'
import {
  fulcioHandler, initializeCA, initializeCTLog, initializeTLog, initializeTSA, rekorHandler, tsaHandler,
} from '@sigstore/mock'
import {
  DSSEBundleBuilder, FulcioSigner, MessageSignatureBundleBuilder, RekorWitness, TSAWitness, type Signer,
} from '@sigstore/sign'

/** The claims of the issuer about the signer. Each becomes a certificate extension. */
export interface Claims {
  readonly sub: string
  readonly iss: string
  readonly repository?: string
  readonly ref?: string
}

const WORKFLOW = 'acme/weather/.github/workflows/release.yml@refs/tags/v1.4.0'
/** A build of acme/weather at v1.4.0. */
export const BUILD: Claims = {
  sub: `https://github.com/${WORKFLOW}`, iss: 'https://token.actions.githubusercontent.com',
  repository: 'acme/weather', ref: 'refs/tags/v1.4.0',
}

const base64 = (bytes: ArrayBufferView<ArrayBuffer>): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
const keyIdOf = (publicKey: Buffer): string => createHash('sha256').update(publicKey).digest('base64')

/** A certificate authority, a certificate log, a transparency log and a timestamp authority on loopback. */
export class SigstoreFixture {
  readonly #server: Server
  readonly #url: string
  readonly trustRoot: JsonObject

  private constructor(server: Server, url: string, trustRoot: JsonObject) {
    this.#server = server
    this.#url = url
    this.trustRoot = trustRoot
  }

  static async start(validity: JsonObject = { start: '2020-01-01T00:00:00Z' }): Promise<SigstoreFixture> {
    // All clocks show the same whole second, because the verifier reads only fractions of three digits, and DER drops
    // trailing zeros. It is in the future, because the certificates of the authorities are valid from now on.
    const now = new Date(Math.ceil(Date.now() / 1000) * 1000 + 60_000)
    const key = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const ctlog = await initializeCTLog(key(), now)
    const ca = await initializeCA(key(), ctlog, now)
    const tsa = await initializeTSA(key(), now)
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const tlog = await initializeTLog(url, key(), now)
    const handlers = new Map([fulcioHandler(ca), rekorHandler(tlog), tsaHandler(tsa)].map(({ path, fn }) => [path, fn]))
    server.on('request', (request, response) => {
      void (async () => {
        const body = await buffer(request)
        const answer = await handlers.get(request.url ?? '')!(body.toString('utf8'))
        // A kept-alive connection could time out just when a test uses it again.
        response.writeHead(answer.statusCode, {
          'content-type': answer.contentType ?? 'text/plain', connection: 'close',
        })
        response.end(answer.response)
      })()
    })
    const log = (publicKey: Buffer): JsonObject => ({
      baseUrl: url, hashAlgorithm: 'SHA2_256', logId: { keyId: keyIdOf(publicKey) },
      publicKey: { rawBytes: publicKey.toString('base64'), keyDetails: 'PKIX_ECDSA_P256_SHA_256', validFor: validity },
    })
    const authority = (...chain: ArrayBufferView<ArrayBuffer>[]): JsonObject => ({
      subject: { organization: 'sigstore.mock', commonName: 'sigstore' }, uri: url, validFor: validity,
      certChain: { certificates: chain.map((bytes) => ({ rawBytes: base64(bytes) })) },
    })
    return new SigstoreFixture(server, url, {
      mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
      tlogs: [log(tlog.publicKey)], ctlogs: [log(ctlog.publicKey)],
      certificateAuthorities: [authority(ca.rootCertificate)],
      timestampAuthorities: [authority(tsa.intCertificate, tsa.rootCertificate)],
    })
  }

  /** Signs bytes like `cosign sign-blob`. */
  async sign(data: string | Uint8Array, claims: Claims = BUILD): Promise<JsonObject> {
    const builder = new MessageSignatureBundleBuilder(this.#parties(claims))
    return jsonOf(await builder.create({ data: Buffer.from(data as string) }))
  }

  /** Signs a statement like a build attestation. */
  async attest(statement: Json, claims: Claims = BUILD, type = 'application/vnd.in-toto+json'): Promise<JsonObject> {
    const builder = new DSSEBundleBuilder(this.#parties(claims))
    return jsonOf(await builder.create({ data: Buffer.from(JSON.stringify(statement)), type }))
  }

  /** Signs a statement with a key that the verifier finds by its hint. */
  async attestByKey(statement: Json, privateKey: KeyObject, hint: string): Promise<JsonObject> {
    const publicKey = createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }).toString()
    const signer: Signer = {
      sign: async (data) => ({
        signature: sign('sha256', data, privateKey), key: { $case: 'publicKey', publicKey, hint },
      }),
    }
    const builder = new DSSEBundleBuilder({ signer, witnesses: this.#witnesses() })
    return jsonOf(await builder.create({
      data: Buffer.from(JSON.stringify(statement)), type: 'application/vnd.in-toto+json',
    }))
  }

  #witnesses() {
    return [
      new RekorWitness({ rekorBaseURL: this.#url, entryType: 'intoto' }), new TSAWitness({ tsaBaseURL: this.#url }),
    ]
  }

  /** An identity token, as CI issues one. */
  tokenOf(claims: Claims = BUILD): string {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${part({ alg: 'none' })}.${part({ ...claims, exp: Math.floor(Date.now() / 1000) + 600 })}.`
  }

  #parties(claims: Claims) {
    const token = this.tokenOf(claims)
    return {
      signer: new FulcioSigner({ fulcioBaseURL: this.#url, identityProvider: { getToken: async () => token } }),
      witnesses: this.#witnesses(),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}

const jsonOf = (bundle: Bundle): JsonObject => bundleToJSON(bundle) as unknown as JsonObject
