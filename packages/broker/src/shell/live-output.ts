import { StringDecoder } from 'node:string_decoder'

export type StreamName = 'stdout' | 'stderr'

/** Output on its way to whoever watches, gathered so that it comes at most once in so many milliseconds per stream. */
export class LiveOutput {
  readonly #tell: (stream: StreamName, text: string) => void
  readonly #everyMs: number
  readonly #decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
  readonly #texts = new Map<StreamName, string>()
  #timer: NodeJS.Timeout | undefined

  constructor(tell: (stream: StreamName, text: string) => void, everyMs: number) {
    this.#tell = tell
    this.#everyMs = everyMs
  }

  add(stream: StreamName, bytes: Buffer): void {
    const text = this.#decoders[stream].write(bytes)
    if (text === '') return
    this.#texts.set(stream, (this.#texts.get(stream) ?? '') + text)
    this.#timer ??= setTimeout(() => this.flush(), this.#everyMs)
  }

  /** Tells what was gathered, without waiting. */
  flush(): void {
    const texts = [...this.#texts]
    this.drop()
    for (const [stream, text] of texts) this.#tell(stream, text)
  }

  /** Forgets what was gathered. */
  drop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#texts.clear()
  }
}
