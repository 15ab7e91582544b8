import type { Log } from '@bulkhead/contract'
import { MIN_SECRET_CHARS, writtenForms } from '@bulkhead/kit/text'

/** Removes secret values from server messages. */
export function redactorOf(secrets: ReadonlyMap<string, string>): (text: string) => string {
  const written = [...secrets].flatMap(([name, value]) => {
    const bare = value.replace(/^Bearer\s+/i, '')
    return [...(bare.length >= MIN_SECRET_CHARS ? writtenForms(bare) : []), ...writtenForms(value)]
      .map((form) => [form, `[secret ${name}]`] as const)
  })
  // The longest first: a secret that begins another one would leave the rest of that one.
  written.sort(([one], [other]) => other.length - one.length)
  return (text) => written.reduce((redacted, [form, shown]) => redacted.replaceAll(form, shown), text)
}

const KEPT_LINES = 32
const LINE_CHARS = 2_000

/** The last lines of standard error of a server, kept for error messages. */
export class ServerLog {
  readonly #clean: (line: string) => string
  #lines: string[] = []
  /** How many there were. */
  #count = 0
  #log: Log | undefined

  constructor(clean: (line: string) => string) {
    this.#clean = clean
  }

  get last(): string | undefined {
    return this.#lines.at(-1)
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  get count(): number {
    return this.#count
  }

  /** The kept lines after the first `count`. */
  since(count: number): readonly string[] {
    return this.#count === count ? [] : this.#lines.slice(count - this.#count)
  }

  /** Must not throw. */
  add(line: string): void {
    if (line.trim() === '') return
    const text = this.#clean(line).slice(0, LINE_CHARS)
    this.#lines = [...this.#lines.slice(1 - KEPT_LINES), text]
    this.#count += 1
    this.#log?.info(text)
  }

  to(log: Log): void {
    this.#log = log
    for (const line of this.#lines) log.info(line)
  }
}
