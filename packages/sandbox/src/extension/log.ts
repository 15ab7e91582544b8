import type { Ask } from './ask.ts'
import type { Log } from '@bulkhead/contract/author'

type Level = keyof Log

/** Lines on their way to the host. What comes while this many are is dropped and counted: a log must not flood. */
const LINES_UNDER_WAY = 256
const LINE_CHARS = 8_192

export class LogSender {
  readonly #ask: Ask
  #underWay = 0
  #dropped = 0

  constructor(ask: Ask) {
    this.#ask = ask
  }

  send(level: Level, text: string, callId: string | null): void {
    if (this.#underWay >= LINES_UNDER_WAY) {
      this.#dropped++
      return
    }
    const note = this.#dropped > 0 ? ` (${this.#dropped} lines before this one were dropped)` : ''
    this.#dropped = 0
    this.#underWay++
    const arrived = (): void => void this.#underWay--
    this.#ask('log', callId, level, text.slice(0, LINE_CHARS).toWellFormed() + note).then(arrived, arrived)
  }

  forCall(callId: string | null): Log {
    const line = (level: Level) => (text: string): void => this.send(level, String(text), callId)
    return Object.freeze({ debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') })
  }
}
