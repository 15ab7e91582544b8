import { Buffer } from 'node:buffer'
import type { KeyObject as NodeKey } from 'node:crypto'
import { usable } from './keys.ts'
import { bytesOf, fields, integer, optional, text, wrongType, type Native } from './values.ts'

type JsonWebKey = Record<string, string | undefined>

/** What a key is for, as the standard writes it. */
export interface KeyAlgorithm {
  readonly name: string
  readonly hash?: { readonly name: string }
  readonly length?: number
  readonly namedCurve?: string
  readonly modulusLength?: number
  readonly publicExponent?: Uint8Array
}

let nodeKeyIn: (key: CryptoKey) => NodeKey
let newKey: (key: NodeKey, facts: Pick<CryptoKey, 'extractable' | 'algorithm' | 'usages'>) => CryptoKey

/** Keeps Node's key private. */
export class CryptoKey {
  readonly #key: NodeKey
  readonly #facts: Pick<CryptoKey, 'extractable' | 'algorithm' | 'usages'>

  private constructor(key: NodeKey, facts: Pick<CryptoKey, 'extractable' | 'algorithm' | 'usages'>) {
    this.#key = key
    this.#facts = facts
  }

  get type(): NodeKey['type'] {
    return this.#key.type
  }

  get extractable(): boolean {
    return this.#facts.extractable
  }

  get algorithm(): KeyAlgorithm {
    return this.#facts.algorithm
  }

  get usages(): readonly string[] {
    return [...this.#facts.usages]
  }

  get [Symbol.toStringTag](): string {
    return 'CryptoKey'
  }

  static {
    nodeKeyIn = (key) => key.#key
    newKey = (key, facts) => new CryptoKey(key, facts)
  }
}

export { nodeKeyIn }

export const refused = (name: string, message: string): DOMException => new DOMException(message, name)
const absent = (what: string): DOMException => refused('NotSupportedError', `${what} does not exist in a compartment.`)

const NAMES: ReadonlyMap<string, string> = new Map([
  'HMAC', 'AES-GCM', 'AES-CBC', 'AES-CTR', 'PBKDF2', 'HKDF', 'ECDSA', 'ECDH', 'Ed25519', 'X25519', 'RSASSA-PKCS1-v1_5',
  'RSA-PSS', 'RSA-OAEP',
].map((name) => [name.toUpperCase(), name]))
const HASHES: ReadonlyMap<string, string> = new Map(
  ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'].map((name) => [name, name.toLowerCase().replace('-', '')]),
)
const CURVES: ReadonlyMap<string, string> = new Map([
  ['P-256', 'prime256v1'], ['P-384', 'secp384r1'], ['P-521', 'secp521r1'],
])
const PARAMETERS = [
  'name', 'hash', 'length', 'namedCurve', 'modulusLength', 'publicExponent', 'iv', 'additionalData', 'tagLength',
  'counter', 'saltLength', 'label', 'salt', 'iterations', 'info', 'public',
] as const
export type AlgorithmParameters = Partial<Record<(typeof PARAMETERS)[number], unknown>> & { readonly name: string }

/** The parameters of an algorithm, each read once. */
export function algorithmOf(given: unknown): AlgorithmParameters {
  const all = typeof given === 'string' ? { name: given } : fields(given, PARAMETERS)
  const written = text('The name of the algorithm', all.name)
  const name = NAMES.get(written.toUpperCase())
  if (name === undefined) throw absent(`The algorithm ${written}`)
  return { ...all, name }
}

/** Node's name of a hash. */
export function hashOf(given: unknown): { readonly name: string; readonly node: string } {
  const name = text('The hash', typeof given === 'string' ? given : fields(given, ['name']).name).toUpperCase()
  const node = HASHES.get(name)
  if (node === undefined) throw absent(`The hash ${name}`)
  return { name, node }
}

function curveOf(given: unknown): { readonly name: string; readonly node: string } {
  const name = text('namedCurve', given)
  const node = CURVES.get(name)
  if (node === undefined) throw absent(`The curve ${name}`)
  return { name, node }
}

const BLOCK_BITS: Readonly<Record<string, number>> = { sha1: 512, sha256: 512, sha384: 1024, sha512: 1024 }
const FOR_PUBLIC: ReadonlySet<string> = new Set(['verify', 'encrypt', 'wrapKey'])
const MAX_RSA_BITS = 4096

/** `generateKey`, `importKey` and `exportKey`. */
export function webKeys(native: Native): Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>> {
  const usagesOf = (given: unknown): readonly string[] => {
    if (typeof given !== 'object' || given === null) throw wrongType('The usages', 'a list')
    return Array.from(given as Iterable<unknown>, (usage) => text('A usage', usage))
  }

  const generateKey = async (given: unknown, extractable: unknown, wanted: unknown): Promise<unknown> => {
    const algorithm = algorithmOf(given)
    const usages = usagesOf(wanted)
    const { name } = algorithm
    if (name === 'HMAC' || name.startsWith('AES-')) {
      const hash = name === 'HMAC' ? hashOf(algorithm.hash) : undefined
      const bits = optional(algorithm.length, (length) => integer('length', length, 8, 8192))
        ?? (hash === undefined ? 256 : BLOCK_BITS[hash.node]!)
      const key = native.createSecretKey(native.randomBytes(Math.ceil(bits / 8)))
      return newKey(key, { extractable: Boolean(extractable), usages, algorithm: factsOf(algorithm, key) })
    }
    const pair = (native.generateKeyPairSync as (...args: unknown[]) => { publicKey: NodeKey; privateKey: NodeKey })(
      ...pairOptions(algorithm),
    )
    const half = (key: NodeKey, isPublic: boolean): CryptoKey => newKey(key, {
      extractable: isPublic || Boolean(extractable), algorithm: factsOf(algorithm, key),
      usages: usages.filter((usage) => FOR_PUBLIC.has(usage) === isPublic),
    })
    return { publicKey: half(pair.publicKey, true), privateKey: half(pair.privateKey, false) }
  }

  const pairOptions = (algorithm: AlgorithmParameters): readonly unknown[] => {
    const { name, namedCurve, modulusLength, publicExponent } = algorithm
    if (name.startsWith('EC')) return ['ec', { namedCurve: curveOf(namedCurve).node }]
    if (!name.startsWith('RSA')) return [name.toLowerCase()]
    const exponent = bytesOf('publicExponent', publicExponent ?? new Uint8Array([1, 0, 1]))
    return ['rsa', {
      modulusLength: integer('modulusLength', modulusLength, 1024, MAX_RSA_BITS),
      publicExponent: integer('publicExponent', Number(`0x${exponent.toString('hex')}`), 3, 2 ** 32 - 1),
    }]
  }

  const factsOf = ({ name, hash, namedCurve }: AlgorithmParameters, key: NodeKey): KeyAlgorithm => {
    const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
    return Object.freeze({
      name,
      ...(/^(?:HMAC|RSA)/.test(name) && { hash: Object.freeze({ name: hashOf(hash).name }) }),
      ...(key.type === 'secret' && { length: key.symmetricKeySize! * 8 }),
      ...(name.startsWith('EC') && { namedCurve: curveOf(namedCurve).name }),
      ...(name.startsWith('RSA') && {
        modulusLength, publicExponent: new Uint8Array(Buffer.from(evenHex(publicExponent), 'hex')),
      }),
    })
  }

  const keyFrom = (format: string, data: unknown, algorithm: AlgorithmParameters): NodeKey => {
    const { name } = algorithm
    const isSecret = /^(?:HMAC|AES|PBKDF2|HKDF)/.test(name)
    if (format === 'jwk') {
      const parts = fields(data, ['kty', 'crv', 'x', 'y', 'd', 'n', 'e', 'p', 'q', 'dp', 'dq', 'qi', 'k'])
      const key = Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)
        .map(([part, value]) => [part, text(part, value)])) as JsonWebKey
      if (isSecret) return native.createSecretKey(Buffer.from(text('k', key.k), 'base64url'))
      return key.d === undefined ? native.createPublicKey({ key, format }) : native.createPrivateKey({ key, format })
    }
    const bytes = bytesOf('The key', data)
    if (format === 'raw' && isSecret) return native.createSecretKey(bytes)
    if (format === 'raw') return native.createPublicKey({ format: 'jwk', key: rawPublic(bytes, algorithm) })
    if (format === 'spki') return native.createPublicKey({ key: bytes, format: 'der', type: 'spki' })
    if (format === 'pkcs8') return native.createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })
    throw absent(`The format ${format}`)
  }

  const rawPublic = (bytes: Buffer, { name, namedCurve }: AlgorithmParameters): JsonWebKey => {
    if (!name.startsWith('EC')) return { kty: 'OKP', crv: name, x: bytes.toString('base64url') }
    const half = (bytes.length - 1) / 2
    const part = (at: number): string => bytes.subarray(at, at + half).toString('base64url')
    return { kty: 'EC', crv: curveOf(namedCurve).name, x: part(1), y: part(1 + half) }
  }

  const importKey = async (
    format: unknown, data: unknown, given: unknown, extractable: unknown, wanted: unknown,
  ): Promise<CryptoKey> => {
    const algorithm = algorithmOf(given)
    const usages = usagesOf(wanted)
    const wantedFormat = text('format', format)
    let key: NodeKey
    try {
      key = usable(keyFrom(wantedFormat, data, algorithm))
    } catch (error) {
      if (error instanceof DOMException || error instanceof TypeError || error instanceof RangeError) throw error
      throw refused('DataError', `The key cannot be read: ${(error as Error).message}`)
    }
    return newKey(key, { extractable: Boolean(extractable), usages, algorithm: factsOf(algorithm, key) })
  }

  const exportKey = async (format: unknown, key: unknown): Promise<unknown> => {
    if (!(key instanceof CryptoKey)) throw wrongType('The key', 'a CryptoKey')
    if (!key.extractable) throw refused('InvalidAccessError', 'The key is not extractable.')
    const node = nodeKeyIn(key)
    const own = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer
    if (format === 'jwk') return { ...node.export({ format: 'jwk' }), key_ops: key.usages, ext: true }
    if (format === 'spki' && node.type === 'public') return own(node.export({ format: 'der', type: 'spki' }))
    if (format === 'pkcs8' && node.type === 'private') return own(node.export({ format: 'der', type: 'pkcs8' }))
    if (format === 'raw' && node.type === 'secret') return own(node.export())
    if (format === 'raw' && node.type === 'public') {
      const { x = '', y } = node.export({ format: 'jwk' })
      const part = (base64: string): Buffer => Buffer.from(base64, 'base64url')
      return own(y === undefined ? part(x) : Buffer.concat([new Uint8Array([4]), part(x), part(y)]))
    }
    throw refused('NotSupportedError', `A ${node.type} key cannot be exported as ${String(format)}.`)
  }
  return { generateKey, importKey, exportKey }
}

const evenHex = (value: bigint): string => {
  const hex = value.toString(16)
  return hex.length % 2 === 0 ? hex : `0${hex}`
}
