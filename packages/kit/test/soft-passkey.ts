import { generateKeyPairSync, hash, randomBytes, sign, type KeyObject } from 'node:crypto'
import type { PasskeySignature, PublicPasskey } from '../src/webauthn.ts'

/** What a signature says. A test changes one of them. */
export interface Signing {
  readonly challenge: string
  readonly origin?: string
  readonly type?: string
  readonly rpId?: string
  /** User present and verified by default. */
  readonly flags?: number
  readonly counter?: number
  readonly client?: object
}

const ORIGIN = 'http://localhost:8770'
const KEYS = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  ES384: () => generateKeyPairSync('ec', { namedCurve: 'secp384r1' }),
} as const satisfies Record<string, () => { publicKey: KeyObject; privateKey: KeyObject }>

/** An authenticator in this process, with a real key. */
export function softPasskey(algorithm: keyof typeof KEYS = 'ES256', rpId = 'localhost') {
  const { publicKey, privateKey } = KEYS[algorithm]()
  const key: PublicPasskey = {
    id: randomBytes(20).toString('base64url'), rpId,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64url'),
  }
  return {
    key,
    sign(
      { challenge, origin = ORIGIN, type = 'webauthn.get', flags = 0x05, counter = 0, ...more }: Signing,
    ): PasskeySignature {
      const head = Buffer.alloc(5)
      head.writeUInt8(flags)
      head.writeUInt32BE(counter, 1)
      const data = Buffer.concat([hash('sha256', more.rpId ?? rpId, 'buffer'), head])
      const client = Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...more.client }))
      const signed = Buffer.concat([data, hash('sha256', client, 'buffer')])
      const signature = sign(algorithm === 'EdDSA' ? null : 'sha256', signed, privateKey)
      return {
        credential: key.id, authenticatorData: data.toString('base64url'), clientDataJSON: client.toString('base64url'),
        signature: signature.toString('base64url'),
      }
    },
  }
}
