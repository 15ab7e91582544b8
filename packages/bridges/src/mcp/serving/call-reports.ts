import type { CallLog, CallProgress } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { LoggingLevel } from '@modelcontextprotocol/server'

/** Progress in the form of the protocol, where `progress` must grow. */
interface ProgressMessage {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

const MAX_CHARS = 2_000
/** A message without a measure moves measured progress by this much. */
const TRIFLE = 1e-6

/** Sends progress to a client. While a message is being sent, only the newest one is kept, to bound memory. */
export class ProgressReporter {
  readonly #send: (progress: ProgressMessage) => Promise<void>
  #last = 0
  #step = 1
  #next: Partial<ProgressMessage> | undefined
  #isSending = false
  #hasEnded = false

  /** Failures of `send` are ignored, because the result follows anyway. */
  constructor(send: (progress: ProgressMessage) => Promise<void>) {
    this.#send = send
  }

  report({ text, partial = null }: Pick<CallProgress, 'text' | 'partial'>): void {
    if (this.#hasEnded) return
    const measured = text === undefined ? measuredProgress(partial) : undefined
    const shown = measured ? measured.message : text ?? JSON.stringify(partial)
    this.#next = { ...measured, ...(shown !== undefined && { message: cut(visibleText(shown), MAX_CHARS) }) }
    if (!this.#isSending) void this.#sendAll()
  }

  /** Sends no progress after the result. */
  end(): void {
    this.#hasEnded = true
    this.#next = undefined
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true
    while (this.#next !== undefined) {
      const next = this.#next
      this.#next = undefined
      await this.#send({ ...next, progress: this.#advance(next.progress) }).catch(() => {})
    }
    this.#isSending = false
  }

  #advance(measured: number | undefined): number {
    const isFirst = this.#last === 0
    if (measured !== undefined) this.#step = TRIFLE
    const grows = measured !== undefined && (measured > this.#last || isFirst)
    this.#last = grows ? measured : this.#last + this.#step
    return this.#last
  }
}

const MEASURE: ReadonlySet<string> = new Set(['progress', 'total', 'message'])

/** An update with just these members is progress with a measure. */
function measuredProgress(partial: Json): ProgressMessage | undefined {
  if (!isJsonObject(partial) || !Object.keys(partial).every((key) => MEASURE.has(key))) return undefined
  const { progress, total, message } = partial
  if (typeof progress !== 'number' || !['number', 'undefined'].includes(typeof total)) return undefined
  if (!['string', 'undefined'].includes(typeof message)) return undefined
  return partial as unknown as ProgressMessage
}

const cut = (text: string, chars: number): string =>
  text.length > chars ? `${text.slice(0, chars).toWellFormed()}…` : text

const MAX_LINE_CHARS = 8_192
/** Lines that wait while one is being sent. */
const MAX_WAITING = 128

const LEVELS: Readonly<Record<CallLog['level'], LoggingLevel>> =
  { debug: 'debug', info: 'info', warn: 'warning', error: 'error' }

/** Sends what the tools of one call log, in order. A client that reads slowly misses lines and learns how many. */
export class LogReporter {
  readonly #send: (level: LoggingLevel, text: string, tool: string) => Promise<void>
  readonly #waiting: CallLog[] = []
  #dropped = 0
  #sending: Promise<void> | undefined
  #hasEnded = false

  /** Failures of `send` are ignored, because the result follows anyway. */
  constructor(send: (level: LoggingLevel, text: string, tool: string) => Promise<void>) {
    this.#send = send
  }

  report(line: CallLog): void {
    if (this.#hasEnded) return
    if (this.#waiting.length >= MAX_WAITING) this.#dropped += 1
    else this.#waiting.push(line)
    this.#sending ??= this.#sendAll()
  }

  /** Resolves when all lines are sent. Lines after it are dropped: the result follows. */
  async end(): Promise<void> {
    this.#hasEnded = true
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    for (let line = this.#waiting.shift(); line; line = this.#waiting.shift()) {
      const text = cut(visibleText(line.text, { keepLines: true }), MAX_LINE_CHARS)
      await this.#send(LEVELS[line.level], text, line.tool).catch(() => {})
      if (this.#waiting.length > 0 || this.#dropped === 0) continue
      const note = `${this.#dropped} lines of the log were dropped, because they came too fast.`
      this.#dropped = 0
      await this.#send('warning', note, line.tool).catch(() => {})
    }
    this.#sending = undefined
  }
}
