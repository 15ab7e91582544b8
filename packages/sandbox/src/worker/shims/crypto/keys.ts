import type { KeyObject as NodeKey, PrivateKeyInput, PublicKeyInput } from 'node:crypto'
import { checkedKey } from './encrypted-keys.ts'
import { bytesOf, copyOf, fields, integer, later, result, text, wrongType, type Native } from './values.ts'

/** A key as JSON, as Node writes and reads it. */
type JsonWebKey = Record<string, string | undefined>

let nodeKeyOf: (key: KeyObject) => NodeKey
let wrap: (key: NodeKey) => KeyObject

/** Keeps Node's key private. */
class KeyObject {
  readonly #key: NodeKey

  private constructor(key: NodeKey) {
    this.#key = key
  }

  get type(): NodeKey['type'] {
    return this.#key.type
  }

  get asymmetricKeyType(): string | undefined {
    return this.#key.asymmetricKeyType
  }

  get asymmetricKeyDetails(): object | undefined {
    const details = this.#key.asymmetricKeyDetails
    return details && { ...details }
  }

  get symmetricKeySize(): number | undefined {
    return this.#key.symmetricKeySize
  }

  equals(other: unknown): boolean {
    return other instanceof KeyObject && #key in other && this.#key.equals(other.#key)
  }

  export(options?: unknown): Buffer | string | JsonWebKey {
    const exported = this.#key.export(exportOptions(options) as never) as unknown
    if (typeof exported === 'string') return exported
    return exported instanceof Uint8Array ? result(exported) : { ...exported as JsonWebKey }
  }

  get [Symbol.toStringTag](): string {
    return 'KeyObject'
  }

  static {
    nodeKeyOf = (key) => key.#key
    wrap = (key) => new KeyObject(key)
  }
}

const isKey = (given: unknown): given is KeyObject => given instanceof KeyObject

function exportOptions(options: unknown): Record<string, unknown> | undefined {
  if (options === undefined) return undefined
  const { format, type, cipher, passphrase } = fields(options, ['format', 'type', 'cipher', 'passphrase'])
  return {
    ...optionalText('format', format), ...optionalText('type', type), ...optionalText('cipher', cipher),
    ...(passphrase !== undefined && { passphrase: bytesOf('The passphrase', passphrase) }),
  }
}

/** A secret: our own key, or bytes. */
export function keyMaterial(given: unknown): NodeKey | Buffer {
  return isKey(given) ? nodeKeyOf(given) : bytesOf('The key', given)
}

const JWK = ['kty', 'crv', 'x', 'y', 'd', 'n', 'e', 'p', 'q', 'dp', 'dq', 'qi', 'k'] as const

type KeyInput = NodeKey | PrivateKeyInput | PublicKeyInput

/** A public or private key, in each form that Node takes. */
function keyInput(given: unknown): KeyInput | Buffer | string {
  if (isKey(given)) return nodeKeyOf(given)
  if (typeof given === 'string') return given
  const bytes = copyOf(given)
  if (bytes !== undefined) return bytes
  const { key, format, type, passphrase, encoding } = fields(given, ['key', 'format', 'type', 'passphrase', 'encoding'])
  if (isKey(key)) return nodeKeyOf(key)
  if (format === 'jwk') {
    const parts = Object.entries(fields(key, JWK)).filter(([, value]) => value !== undefined)
    return { format, key: Object.fromEntries(parts.map(([name, value]) => [name, text(name, value)])) } as never
  }
  if (key === undefined) throw wrongType('The key', 'a key, a string or bytes')
  const written = bytesOf('The key', key, encoding as BufferEncoding)
  const options = { ...optionalText('format', format), ...optionalText('type', type) }
  const hasPassphrase = passphrase !== undefined && passphrase !== null
  const locked = hasPassphrase ? checkedKey(written, (format ?? 'pem') === 'pem') : undefined
  // Without a passphrase Node decrypts nothing.
  if (locked === undefined) return { key: written, ...options } as never
  return { key: locked, ...options, passphrase: bytesOf('The passphrase', passphrase) } as never
}

const optionalText = (name: string, given: unknown): Record<string, string> =>
  given === undefined || given === null ? {} : { [name]: text(name, given) }

const KINDS: ReadonlySet<string> = new Set(['rsa', 'rsa-pss', 'ec', 'ed25519', 'ed448', 'x25519', 'x448'])
const MAX_NEW_BITS = 4096
const MAX_RSA_BITS = 8192

/** Contract: throws for a key whose use could take very long, and cannot be interrupted. */
export function usable(key: NodeKey): NodeKey {
  const { asymmetricKeyType: type, asymmetricKeyDetails: { modulusLength = 0 } = {} } = key
  if (type !== undefined && !KINDS.has(type)) throw new TypeError(`A compartment has no keys of type ${type}.`)
  integer('The length of the modulus in bits', modulusLength, 0, MAX_RSA_BITS)
  return key
}

/** The key of an operation, made by Node from each form that it takes. */
export function keyOf(given: unknown, make: (input: never) => NodeKey): NodeKey {
  const input = keyInput(given)
  // Only a key of Node has it: the other forms are strings, bytes and plain objects of ours.
  return typeof input === 'object' && 'export' in input ? input : usable(make(input as never))
}

/** Keys. Node's stay private. */
export function keys(native: Native): Readonly<Record<string, unknown>> {
  const generate = (kind: unknown, options: unknown): readonly unknown[] => {
    const type = text('The type of the key', kind)
    if (!KINDS.has(type)) throw new TypeError(`A key of type ${type} cannot be generated in a compartment.`)
    const given = fields(options, [
      'modulusLength', 'publicExponent', 'namedCurve', 'publicKeyEncoding', 'privateKeyEncoding',
    ])
    const { publicKey, privateKey } = native.generateKeyPairSync(type as 'rsa', {
      ...(type.startsWith('rsa') && {
        modulusLength: integer('modulusLength', given.modulusLength, 512, MAX_NEW_BITS),
        publicExponent: integer('publicExponent', given.publicExponent ?? 65_537, 3, 2 ** 32 - 1),
      }),
      ...(type === 'ec' && { namedCurve: text('namedCurve', given.namedCurve) }),
    } as never) as unknown as { publicKey: NodeKey; privateKey: NodeKey }
    const shown = (key: NodeKey, encoding: unknown): unknown =>
      encoding === undefined ? wrap(key) : wrap(key).export(encoding)
    return [shown(publicKey, given.publicKeyEncoding), shown(privateKey, given.privateKeyEncoding)]
  }
  return {
    KeyObject,
    createSecretKey: (key: unknown, encoding?: BufferEncoding) =>
      wrap(native.createSecretKey(bytesOf('The key', key, encoding))),
    createPublicKey: (key: unknown) => wrap(usable(native.createPublicKey(keyInput(key) as PublicKeyInput))),
    createPrivateKey: (key: unknown) => wrap(usable(native.createPrivateKey(keyInput(key) as PrivateKeyInput))),
    generateKeyPairSync: (kind: unknown, options?: unknown) => {
      const [publicKey, privateKey] = generate(kind, options)
      return { publicKey, privateKey }
    },
    generateKeyPair: (kind: unknown, ...rest: unknown[]) => {
      const callback = rest.pop()
      later('generateKeyPair', callback, () => generate(kind, rest[0]))
    },
    diffieHellman: (options: unknown) => {
      const { privateKey, publicKey } = fields(options, ['privateKey', 'publicKey'])
      if (!isKey(privateKey) || !isKey(publicKey)) throw wrongType('Each key', 'a KeyObject')
      return result(native.diffieHellman({ privateKey: nodeKeyOf(privateKey), publicKey: nodeKeyOf(publicKey) }))
    },
    getCurves: () => native.getCurves(),
  }
}
