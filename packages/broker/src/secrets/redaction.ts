import type { Sought } from './rolling-search.ts'
import { RedactingStream } from './redacting-stream.ts'

export const REDACTED = '[REDACTED]'

/** Takes values out of what comes back, before code sees it. Other encodings than these pass. */
export class Redaction {
  readonly #sought: readonly Sought[]

  constructor(sought: readonly Sought[]) {
    this.#sought = sought
  }

  text(text: string): string {
    const stream = this.stream()
    return Buffer.concat([stream.push(Buffer.from(text)), stream.end()]).toString()
  }

  stream(): RedactingStream {
    return new RedactingStream(this.#sought, Buffer.from(REDACTED))
  }
}
