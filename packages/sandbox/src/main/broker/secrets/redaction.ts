import { RedactingStream } from './redacting-stream.ts'

export const REDACTED = '[REDACTED]'

/** How a value may come back that nobody meant to hide: as it is, as a server read its bytes, in a URL, in JSON. */
function formsOf(value: string): readonly Buffer[] {
  const bytes = Buffer.from(value)
  const forms = [
    bytes,
    // As a header carries it, and as a text is taken for one of single bytes.
    ...(/^[\0-\xff]*$/.test(value) ? [Buffer.from(value, 'latin1')] : []),
    Buffer.from(bytes.toString('latin1')),
    Buffer.from(encodeURIComponent(value)),
    Buffer.from(JSON.stringify(value).slice(1, -1)),
  ]
  return forms.filter((form, index) => forms.findIndex((other) => other.equals(form)) === index)
}

/** Takes values out of what comes back, before code sees it. Other encodings than these pass. */
export class Redaction {
  readonly #forms: readonly Buffer[]

  constructor(values: readonly string[]) {
    this.#forms = values.flatMap(formsOf)
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
