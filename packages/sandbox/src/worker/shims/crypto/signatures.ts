import { Buffer } from 'node:buffer'
import type { KeyObject as NodeKey } from 'node:crypto'
import { Writable } from 'node:stream'
import { keyOf } from './keys.ts'
import { bytesOf, fields, integer, later, optional, result, text, wrongType, type Native } from './values.ts'

type Encoding = BufferEncoding | undefined

/** A key with the options of a signature or of RSA. */
function withOptions(given: unknown, make: (input: never) => NodeKey): never {
  const key = keyOf(given, make)
  const options = fields(typeof given === 'object' ? given : {}, [
    'padding', 'saltLength', 'dsaEncoding', 'oaepHash', 'oaepLabel',
  ])
  const { padding, saltLength, dsaEncoding, oaepHash, oaepLabel } = options
  return {
    key,
    ...(padding !== undefined && { padding: integer('padding', padding, 1, 6) }),
    ...(saltLength !== undefined && { saltLength: integer('saltLength', saltLength, -2, 512) }),
    ...(dsaEncoding !== undefined && { dsaEncoding: text('dsaEncoding', dsaEncoding) }),
    ...(oaepHash !== undefined && { oaepHash: text('oaepHash', oaepHash) }),
    ...(oaepLabel !== undefined && { oaepLabel: bytesOf('oaepLabel', oaepLabel) }),
  } as never
}

/** Signatures, and encryption with RSA. The data of a signature is collected, so no state of Node is kept. */
export function signatures(native: Native): Readonly<Record<string, unknown>> {
  const secret = (input: never): NodeKey => native.createPrivateKey(input)
  const shared = (input: never): NodeKey => native.createPublicKey(input)
  const algorithmOf = (given: unknown): string | null =>
    optional(given, (name) => text('The algorithm', name).replace(/^RSA-/i, '')) ?? null
  const signBytes = (algorithm: unknown, data: Buffer, key: unknown): Buffer =>
    result(native.sign(algorithmOf(algorithm), data, withOptions(key, secret))) as Buffer
  const verifyBytes = (algorithm: unknown, data: Buffer, key: unknown, signature: Buffer): boolean =>
    native.verify(algorithmOf(algorithm), data, withOptions(key, shared), signature)

  class Signed extends Writable {
    readonly #algorithm: string
    readonly #pieces: Buffer[] = []

    constructor(algorithm: unknown) {
      super()
      this.#algorithm = text('The algorithm', algorithm)
    }

    update(data: unknown, encoding?: Encoding): this {
      this.#pieces.push(bytesOf('The data', data, encoding))
      return this
    }

    override _write(chunk: unknown, encoding: BufferEncoding, done: () => void): void {
      this.update(chunk, encoding)
      done()
    }

    protected taken(): [algorithm: string, data: Buffer] {
      return [this.#algorithm, Buffer.concat(this.#pieces.splice(0))]
    }
  }
  class Sign extends Signed {
    sign(key: unknown, encoding?: Encoding): Buffer | string {
      return result(signBytes(...this.taken(), key), encoding)
    }
  }
  class Verify extends Signed {
    verify(key: unknown, signature: unknown, encoding?: Encoding): boolean {
      return verifyBytes(...this.taken(), key, bytesOf('The signature', signature, encoding))
    }
  }

  const rsa = (name: 'publicEncrypt' | 'publicDecrypt' | 'privateEncrypt' | 'privateDecrypt') =>
    (key: unknown, data: unknown): Buffer => {
      const make = name.startsWith('public') ? shared : secret
      return result(native[name](withOptions(key, make), bytesOf('The data', data))) as Buffer
    }
  return {
    Sign, Verify,
    createSign: (algorithm: unknown) => new Sign(algorithm),
    createVerify: (algorithm: unknown) => new Verify(algorithm),
    sign: (algorithm: unknown, data: unknown, key: unknown, callback?: unknown) => {
      const work = (): Buffer => signBytes(algorithm, bytesOf('The data', data), key)
      return callback === undefined ? work() : later('sign', callback, () => [work()])
    },
    verify: (algorithm: unknown, data: unknown, key: unknown, signature: unknown, callback?: unknown) => {
      if (typeof signature === 'string') throw wrongType('The signature', 'a buffer or a view')
      const work = (): boolean =>
        verifyBytes(algorithm, bytesOf('The data', data), key, bytesOf('The signature', signature))
      return callback === undefined ? work() : later('verify', callback, () => [work()])
    },
    publicEncrypt: rsa('publicEncrypt'), publicDecrypt: rsa('publicDecrypt'),
    privateEncrypt: rsa('privateEncrypt'), privateDecrypt: rsa('privateDecrypt'),
  }
}
