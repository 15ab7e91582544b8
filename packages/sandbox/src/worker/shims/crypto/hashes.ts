import { Transform, type TransformCallback } from 'node:stream'
import type { Hash as NodeHash, Hmac as NodeHmac } from 'node:crypto'
import { keyMaterial } from './keys.ts'
import { bytesOf, fields, integer, optional, result, text, type Native } from './values.ts'

type Encoding = BufferEncoding | undefined
const MAX_DIGEST_BYTES = 65_536

/** `createHash`, `createHmac` and `hash`. Node's objects stay private. */
export function hashing(native: Native): Readonly<Record<string, unknown>> {
  class Digest extends Transform {
    readonly #state: NodeHash | NodeHmac

    constructor(state: NodeHash | NodeHmac) {
      super()
      this.#state = state
    }

    update(data: unknown, encoding?: Encoding): this {
      this.#state.update(bytesOf('The data', data, encoding))
      return this
    }

    digest(encoding?: Encoding): Buffer | string {
      return result(this.#state.digest(), encoding)
    }

    override _transform(chunk: unknown, encoding: BufferEncoding, done: TransformCallback): void {
      this.#state.update(bytesOf('The data', chunk, encoding))
      done()
    }

    override _flush(done: TransformCallback): void {
      this.push(this.digest())
      done()
    }

  }

  const lengthOf = (options: unknown): { outputLength?: number } => {
    const given = optional(fields(options, ['outputLength']).outputLength, (length) =>
      integer('outputLength', length, 0, MAX_DIGEST_BYTES))
    return given === undefined ? {} : { outputLength: given }
  }

  let copyOfHash: (hash: Hash, options: unknown) => Hash
  class Hash extends Digest {
    readonly #hash: NodeHash

    constructor(hash: NodeHash) {
      super(hash)
      this.#hash = hash
    }

    copy(options?: unknown): Hash {
      return copyOfHash(this, options)
    }

    static {
      copyOfHash = (hash, options) => new Hash(hash.#hash.copy(lengthOf(options)))
    }
  }

  class Hmac extends Digest {}

  const createHash = (algorithm: unknown, options?: unknown): Hash =>
    new Hash(native.createHash(text('The algorithm', algorithm), lengthOf(options)))
  return {
    Hash, Hmac, createHash,
    createHmac: (algorithm: unknown, key: unknown) =>
      new Hmac(native.createHmac(text('The algorithm', algorithm), keyMaterial(key))),
    hash: (algorithm: unknown, data: unknown, encoding: Encoding = 'hex') =>
      createHash(algorithm).update(data).digest(encoding),
    getHashes: () => native.getHashes(),
  }
}
