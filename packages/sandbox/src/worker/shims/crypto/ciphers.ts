import { Transform, type TransformCallback } from 'node:stream'
import type { CipherGCM, DecipherGCM } from 'node:crypto'
import { keyMaterial } from './keys.ts'
import { bytesOf, fields, integer, optional, result, text, type Native } from './values.ts'

type Encoding = BufferEncoding | undefined
/** Wrapping modes need no stream and have other rules. */
const UNSUPPORTED = /wrap|^id-/i

/** `createCipheriv` and `createDecipheriv`. Node's objects stay private. */
export function ciphers(native: Native): Readonly<Record<string, unknown>> {
  class Cipher extends Transform {
    readonly #cipher: CipherGCM | DecipherGCM

    constructor(cipher: CipherGCM | DecipherGCM) {
      super()
      this.#cipher = cipher
    }

    update(data: unknown, input?: Encoding, output?: Encoding): Buffer | string {
      return result(this.#cipher.update(bytesOf('The data', data, input)), output)
    }

    final(output?: Encoding): Buffer | string {
      return result(this.#cipher.final(), output)
    }

    setAutoPadding(on = true): this {
      this.#cipher.setAutoPadding(Boolean(on))
      return this
    }

    setAAD(data: unknown, options?: unknown): this {
      const plaintextLength = optional(fields(options, ['plaintextLength']).plaintextLength, (length) =>
        integer('plaintextLength', length, 0, 2 ** 31 - 1))
      this.#cipher.setAAD(
        bytesOf('The data', data), plaintextLength === undefined ? undefined as never : { plaintextLength },
      )
      return this
    }

    override _transform(chunk: unknown, encoding: BufferEncoding, done: TransformCallback): void {
      done(null, this.update(chunk, encoding))
    }

    override _flush(done: TransformCallback): void {
      let last: Buffer | string
      try {
        last = this.final()
      } catch (error) {
        return done(error as Error)
      }
      done(null, last)
    }
  }

  class Cipheriv extends Cipher {
    readonly #cipher: CipherGCM

    constructor(cipher: CipherGCM) {
      super(cipher)
      this.#cipher = cipher
    }

    getAuthTag(): Buffer {
      return result(this.#cipher.getAuthTag()) as Buffer
    }
  }

  class Decipheriv extends Cipher {
    readonly #cipher: DecipherGCM

    constructor(cipher: DecipherGCM) {
      super(cipher)
      this.#cipher = cipher
    }

    setAuthTag(tag: unknown, encoding?: Encoding): this {
      this.#cipher.setAuthTag(bytesOf('The tag', tag, encoding))
      return this
    }
  }

  const parts = (
    name: unknown, key: unknown, iv: unknown, options: unknown,
  ): [name: string, key: ReturnType<typeof keyMaterial>, iv: Buffer | null, options: { authTagLength: number }] => {
    const algorithm = text('The algorithm', name)
    if (UNSUPPORTED.test(algorithm)) throw new TypeError(`The cipher ${algorithm} does not exist in a compartment.`)
    const length = optional(fields(options, ['authTagLength']).authTagLength, (given) =>
      integer('authTagLength', given, 1, 16))
    const tag = length === undefined ? {} : { authTagLength: length }
    return [
      algorithm, keyMaterial(key), iv === null ? null : bytesOf('The initialization vector', iv),
      tag as { authTagLength: number },
    ]
  }
  return {
    Cipheriv, Decipheriv,
    createCipheriv: (name: unknown, key: unknown, iv: unknown, options?: unknown) => new Cipheriv(
      native.createCipheriv(...parts(name, key, iv, options) as Parameters<typeof native.createCipheriv>) as
        CipherGCM,
    ),
    createDecipheriv: (name: unknown, key: unknown, iv: unknown, options?: unknown) => new Decipheriv(
      native.createDecipheriv(...parts(name, key, iv, options) as Parameters<typeof native.createDecipheriv>) as
        DecipherGCM,
    ),
    getCiphers: () => native.getCiphers().filter((name) => !UNSUPPORTED.test(name)),
  }
}
