import type { AddressInfo } from 'node:net'
import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { canonicalJson, type Json } from '@bulkhead/kit/json'

type Role = 'root' | 'timestamp' | 'snapshot' | 'targets'
const ROLES: readonly Role[] = ['root', 'timestamp', 'snapshot', 'targets']

/** A TUF repository on loopback, with one key for all roles. */
export class TufFixture {
  readonly #files = new Map<string, string>()
  readonly #server: Server
  readonly url: string
  readonly #key: KeyObject
  readonly #public: Json
  readonly #keyId: string

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => {
      const file = this.#files.get((request.url ?? '').slice(1))
      if (file === undefined) response.writeHead(404).end()
      else response.end(file)
    })
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    this.#key = privateKey
    this.#public = {
      keytype: 'ed25519', scheme: 'ed25519',
      keyval: { public: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex') },
    }
    this.#keyId = createHash('sha256').update(canonicalJson(this.#public)).digest('hex')
  }

  static async start(): Promise<TufFixture> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TufFixture(server)
  }

  get initialRoot(): string {
    return this.#signed('root', 1, {
      consistent_snapshot: true, keys: { [this.#keyId]: this.#public },
      roles: Object.fromEntries(ROLES.map((role) => [role, { keyids: [this.#keyId], threshold: 1 }])),
    })
  }

  /** Serves this content. `version` applies to all roles. */
  serve(target: string, version: number, expires = '2099-01-01T00:00:00Z'): void {
    const sha256 = createHash('sha256').update(target).digest('hex')
    this.#files.clear()
    this.#files.set(
      'timestamp.json', this.#signed('timestamp', version, { meta: { 'snapshot.json': { version } } }, expires),
    )
    this.#files.set(`${version}.snapshot.json`, this.#signed('snapshot', version, {
      meta: { 'targets.json': { version } },
    }))
    this.#files.set(`${version}.targets.json`, this.#signed('targets', version, {
      targets: { 'trusted_root.json': { length: Buffer.byteLength(target), hashes: { sha256 } } },
    }))
    this.#files.set(`targets/${sha256}.trusted_root.json`, target)
  }

  /** Changes a served file without signing it again. */
  tamper(change: (text: string, path: string) => string): void {
    for (const [path, text] of this.#files) this.#files.set(path, change(text, path))
  }

  #signed(type: Role, version: number, over: Record<string, Json>, expires = '2099-01-01T00:00:00Z'): string {
    const signed: Json = { _type: type, spec_version: '1.0.0', version, expires, ...over }
    return JSON.stringify({
      signed,
      signatures: [
        { keyid: this.#keyId, sig: sign(null, Buffer.from(canonicalJson(signed)), this.#key).toString('hex') },
      ],
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}
