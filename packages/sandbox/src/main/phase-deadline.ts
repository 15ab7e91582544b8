/** The time a phase may take. It stands still while a person is asked. */
export class PhaseDeadline {
  readonly #expire: () => void
  #leftMs: number
  #since = 0
  #pauses = 0
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number, expire: () => void) {
    this.#leftMs = ms
    this.#expire = expire
    this.#run()
  }

  /** Returns what lets it go on. To be called once. */
  pause(): () => void {
    if (this.#pauses++ === 0) {
      clearTimeout(this.#timer)
      this.#leftMs -= performance.now() - this.#since
    }
    return () => {
      if (--this.#pauses === 0) this.#run()
    }
  }

  /** Idempotent. Afterwards it never expires. */
  stop(): void {
    this.#pauses = Infinity
    clearTimeout(this.#timer)
  }

  #run(): void {
    this.#since = performance.now()
    this.#timer = setTimeout(this.#expire, Math.max(0, this.#leftMs))
  }
}
