import { RedactingStream } from './redacting-stream.ts'
import { writtenForms } from './written-forms.ts'

export const REDACTED = '[REDACTED]'

/** Takes values out of what comes back, before code sees it. Other encodings than these pass. */
export class Redaction {
  readonly #forms: readonly Buffer[]

  constructor(values: readonly string[]) {
    this.#forms = values.flatMap(writtenForms)
  }

  text(text: string): string {
    const stream = this.stream()
    return Buffer.concat([stream.push(Buffer.from(text)), stream.end()]).toString()
  }

  stream(): RedactingStream {
    return new RedactingStream(this.#forms, Buffer.from(REDACTED))
  }

  /** Never yields nothing. */
  async *pieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    const stream = this.stream()
    for await (const piece of source) {
      const clean = stream.push(piece)
      if (clean.length > 0) yield clean
    }
    const rest = stream.end()
    if (rest.length > 0) yield rest
  }
}
