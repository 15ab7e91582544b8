const MAX_CHARS = 2_000

/**
 * What a running tool tells, on its way to a client. While a note is under way only the newest of those that follow is kept, so a
 * tool that tells much fills nobody's memory.
 */
export class ProgressNotes {
  readonly #send: (progress: number, message: string) => Promise<void>
  #count = 0
  #next: string | undefined
  #isSending = false
  #hasEnded = false

  /** `send` is told how many there were, which rises with each. Whether it fails is not our concern: the result tells the same. */
  constructor(send: (progress: number, message: string) => Promise<void>) {
    this.#send = send
  }

  tell(message: string): void {
    if (this.#hasEnded) return
    this.#next = message.length > MAX_CHARS ? `${message.slice(0, MAX_CHARS).toWellFormed()}…` : message
    if (!this.#isSending) void this.#sendAll()
  }

  /** Nothing is told behind the result. */
  end(): void {
    this.#hasEnded = true
    this.#next = undefined
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true
    while (this.#next !== undefined) {
      const message = this.#next
      this.#next = undefined
      await this.#send(++this.#count, message).catch(() => {})
    }
    this.#isSending = false
  }
}
