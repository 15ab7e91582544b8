import type { Log } from '@bulkhead/contract'

const KEPT_LINES = 32
const LINE_CHARS = 2_000

/** The last lines of standard error of a server, kept for error messages. */
export class ServerLog {
  readonly #clean: (line: string) => string
  #lines: string[] = []
  #log: Log | undefined

  constructor(clean: (line: string) => string) {
    this.#clean = clean
  }

  get last(): string | undefined {
    return this.#lines.at(-1)
  }

  /** Contract: must not throw. */
  add(line: string): void {
    if (line.trim() === '') return
    const text = this.#clean(line).slice(0, LINE_CHARS)
    this.#lines = [...this.#lines.slice(1 - KEPT_LINES), text]
    this.#log?.info(text)
  }

  to(log: Log): void {
    this.#log = log
    for (const line of this.#lines) log.info(line)
  }
}
