import { Buffer } from 'node:buffer'
import type { CipherGCM, DecipherGCM, KeyObject as NodeKey } from 'node:crypto'
import { bytesOf, integer, optional, wrongType, type Native } from './values.ts'
import {
  algorithmOf, CryptoKey, hashOf, nodeKeyIn, refused, webKeys, type AlgorithmParameters,
} from './web-keys.ts'

type Method = (...given: unknown[]) => Promise<unknown>
type Derive = Readonly<Record<string, (...given: unknown[]) => unknown>>

const TAG_BITS = 128
const own = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** `crypto.subtle` over the synchronous functions of `node:crypto`: nothing waits in a shared thread pool. */
export function subtleOver(native: Native, derive: Derive): object {
  const { RSA_PKCS1_OAEP_PADDING: OAEP, RSA_PKCS1_PSS_PADDING: PSS } = native.constants
  const { generateKey, importKey, exportKey } = webKeys(native)

  /** Node's key, if it may be used for that. */
  const keyFor = (usage: string, { name }: AlgorithmParameters, key: unknown): NodeKey => {
    if (!(key instanceof CryptoKey)) throw wrongType('The key', 'a CryptoKey')
    if (key.algorithm.name !== name) throw refused('InvalidAccessError', `The key is not for ${name}.`)
    if (!key.usages.includes(usage)) throw refused('InvalidAccessError', `The key is not for \`${usage}\`.`)
    return nodeKeyIn(key)
  }

  type Signing = { readonly hash: string | null; readonly more: object }
  const signing = (given: AlgorithmParameters, key: unknown): Signing => {
    const { name } = given
    if (name === 'Ed25519') return { hash: null, more: {} }
    if (name === 'ECDSA') return { hash: hashOf(given.hash).node, more: { dsaEncoding: 'ieee-p1363' } }
    const hash = hashOf((key as CryptoKey).algorithm.hash).node
    if (name === 'RSASSA-PKCS1-v1_5') return { hash, more: {} }
    if (name !== 'RSA-PSS') throw refused('NotSupportedError', `${name} does not sign.`)
    return { hash, more: { padding: PSS, saltLength: integer('saltLength', given.saltLength, 0, 512) } }
  }
  const mac = (node: NodeKey, key: unknown, data: Buffer): Buffer =>
    native.createHmac(hashOf((key as CryptoKey).algorithm.hash).node, node).update(data).digest()

  const sign: Method = async (given, key, data) => {
    const algorithm = algorithmOf(given)
    const node = keyFor('sign', algorithm, key)
    const bytes = bytesOf('The data', data)
    if (algorithm.name === 'HMAC') return own(mac(node, key, bytes))
    const { hash, more } = signing(algorithm, key)
    return own(native.sign(hash, bytes, { key: node, ...more } as never))
  }

  const verify: Method = async (given, key, signature, data) => {
    const algorithm = algorithmOf(given)
    const node = keyFor('verify', algorithm, key)
    const [bytes, signed] = [bytesOf('The data', data), bytesOf('The signature', signature)]
    if (algorithm.name === 'HMAC') {
      const expected = mac(node, key, bytes)
      return expected.length === signed.length && native.timingSafeEqual(expected, signed)
    }
    const { hash, more } = signing(algorithm, key)
    return native.verify(hash, bytes, { key: node, ...more } as never, signed)
  }

  const oaep = ({ label }: AlgorithmParameters, key: unknown, node: NodeKey): object => ({
    key: node, padding: OAEP, oaepHash: hashOf((key as CryptoKey).algorithm.hash).node,
    ...(label !== undefined && { oaepLabel: bytesOf('label', label) }),
  })

  /** AES, with the mode of the algorithm. */
  const aes = (given: AlgorithmParameters, node: NodeKey, data: Buffer, encrypts: boolean): Buffer => {
    const { name } = given
    const mode = name.slice('AES-'.length).toLowerCase()
    const iv = bytesOf('iv', mode === 'ctr' ? given.counter : given.iv)
    const tagBytes = (optional(given.tagLength, (bits) => integer('tagLength', bits, 32, TAG_BITS)) ?? TAG_BITS) / 8
    const parts = [
      `aes-${node.symmetricKeySize! * 8}-${mode}`, node, iv, mode === 'gcm' ? { authTagLength: tagBytes } : {},
    ]
    const cipher = (encrypts ? native.createCipheriv : native.createDecipheriv)(
      ...parts as Parameters4,
    ) as unknown as CipherGCM & DecipherGCM
    if (mode !== 'gcm') return Buffer.concat([cipher.update(data), cipher.final()])
    if (given.additionalData !== undefined) cipher.setAAD(bytesOf('additionalData', given.additionalData))
    if (encrypts) return Buffer.concat([cipher.update(data), cipher.final(), cipher.getAuthTag()])
    cipher.setAuthTag(data.subarray(data.length - tagBytes))
    return Buffer.concat([cipher.update(data.subarray(0, data.length - tagBytes)), cipher.final()])
  }
  type Parameters4 = [string, NodeKey, Buffer, never]

  const crypt = (usage: 'encrypt' | 'decrypt'): Method => async (given, key, data) => {
    const algorithm = algorithmOf(given)
    const node = keyFor(usage, algorithm, key)
    const bytes = bytesOf('The data', data)
    try {
      if (algorithm.name.startsWith('AES-')) return own(aes(algorithm, node, bytes, usage === 'encrypt'))
      if (algorithm.name === 'RSA-OAEP') {
        const run = usage === 'encrypt' ? native.publicEncrypt : native.privateDecrypt
        return own(run(oaep(algorithm, key, node) as never, bytes))
      }
    } catch (error) {
      if (error instanceof DOMException || error instanceof TypeError || error instanceof RangeError) throw error
      throw refused('OperationError', `The data cannot be ${usage}ed.`)
    }
    throw refused('NotSupportedError', `${algorithm.name} does not ${usage}.`)
  }

  const MAX_DERIVED_BITS = 524_288
  const deriveFor = (usage: string, given: unknown, key: unknown, length: unknown): ArrayBuffer => {
    const algorithm = algorithmOf(given)
    const { name, hash, salt, info, iterations, public: other } = algorithm
    const node = keyFor(usage, algorithm, key)
    if (name === 'ECDH' || name === 'X25519') {
      if (!(other instanceof CryptoKey)) throw wrongType('public', 'a CryptoKey')
      const secret = native.diffieHellman({ privateKey: node, publicKey: nodeKeyIn(other) })
      return own(length === null || length === undefined ? secret
        : secret.subarray(0, integer('length', length, 0, secret.length * 8) / 8))
    }
    const bytes = integer('length', length, 0, MAX_DERIVED_BITS) / 8
    const material = node.export()
    if (name === 'HKDF') {
      return derive['hkdfSync']!(hashOf(hash).node, material, salt, info, bytes) as ArrayBuffer
    }
    if (name !== 'PBKDF2') throw refused('NotSupportedError', `${name} derives nothing.`)
    return own(derive['pbkdf2Sync']!(material, salt, iterations, bytes, hashOf(hash).node) as Buffer)
  }

  const deriveKey: Method = async (given, key, forKey, extractable, usages) => {
    const wanted = algorithmOf(forKey)
    const bits = integer('length', wanted.length ?? (wanted.name === 'HMAC' ? 512 : 256), 8, 8192)
    return importKey!('raw', deriveFor('deriveKey', given, key, bits), forKey, extractable, usages)
  }

  return Object.freeze({
    digest: async (algorithm: unknown, data: unknown) =>
      own(native.createHash(hashOf(algorithm).node).update(bytesOf('The data', data)).digest()),
    sign, verify, encrypt: crypt('encrypt'), decrypt: crypt('decrypt'), generateKey, importKey, exportKey, deriveKey,
    deriveBits: async (given: unknown, key: unknown, length: unknown) => deriveFor('deriveBits', given, key, length),
  })
}

