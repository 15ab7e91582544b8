const TEXT_CHARS = 4_096
/** How ripgrep ends a line about what the system would not let it do. */
const SYSTEM = /\(os error (\d+)\)$/
/** What is gone by the time it is looked at. */
const NOT_FOUND = new Set(['2', '3'])

/** What ripgrep complains about: files and folders that it could not read, each in a line, or what it was asked. */
export class Complaints {
  /** How many files and folders could not be read. */
  unread = 0
  /** Whether it has come as far as reading: what it was asked was understood. */
  hasRead = false
  #text = ''
  #rest = ''

  add(bytes: Buffer): void {
    const lines = `${this.#rest}${bytes.toString('utf8')}`.split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#take(line)
  }

  /** What is not about files, when there is no more. */
  end(): string {
    if (this.#rest !== '') this.#take(this.#rest)
    this.#rest = ''
    return this.#text
  }

  #take(line: string): void {
    const number = SYSTEM.exec(line)?.[1]
    if (number === undefined) {
      if (this.#text.length < TEXT_CHARS) this.#text += `${line}\n`
      return
    }
    this.hasRead = true
    if (!NOT_FOUND.has(number)) this.unread++
  }
}
