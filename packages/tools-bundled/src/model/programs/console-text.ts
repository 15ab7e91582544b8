/** How much console output a result has. */
const CONSOLE_CHARS = 16_384

/** What a program wrote to its console, as far as a result shows it. */
export class ConsoleText {
  #text = ''
  #dropped = 0

  add(line: string): void {
    const room = CONSOLE_CHARS - this.#text.length
    const whole = `${line}\n`
    this.#text += whole.slice(0, Math.max(room, 0))
    this.#dropped += Math.max(whole.length - room, 0)
  }

  get text(): string {
    const kept = this.#text.trimEnd().toWellFormed()
    return this.#dropped === 0 ? kept : `${kept}\n… ${this.#dropped} more characters`
  }
}
