import { StringDecoder as NodeStringDecoder } from 'node:string_decoder'
import { TextDecoder as NodeTextDecoder } from 'node:util'

/**
 * Replacements for Node's decoders, which keep their state in reachable properties and pass it to native code unchecked: changed
 * state makes it read foreign memory or abort the process. These keep Node's decoder private.
 */
export class StringDecoder {
  readonly encoding: string
  readonly #decoder: NodeStringDecoder

  constructor(encoding?: BufferEncoding) {
    this.#decoder = new NodeStringDecoder(encoding)
    this.encoding = (this.#decoder as unknown as { readonly encoding: string }).encoding
  }

  write(bytes: string | NodeJS.ArrayBufferView): string {
    return this.#decoder.write(bytes as never)
  }

  end(bytes?: string | NodeJS.ArrayBufferView): string {
    return this.#decoder.end(bytes as never)
  }
}

export class TextDecoder {
  readonly #decoder: NodeTextDecoder

  constructor(...given: ConstructorParameters<typeof NodeTextDecoder>) {
    this.#decoder = new NodeTextDecoder(...given)
  }

  get encoding(): string {
    return this.#decoder.encoding
  }

  get fatal(): boolean {
    return this.#decoder.fatal
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM
  }

  decode(...given: Parameters<NodeTextDecoder['decode']>): string {
    return this.#decoder.decode(...given)
  }

  get [Symbol.toStringTag](): string {
    return 'TextDecoder'
  }
}
