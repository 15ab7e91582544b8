/** How often it is looked whether this thread was awake. */
const LOOK_MS = 100

/**
 * The time an extension may take to be imported, or for a phase. It stands still while a person is asked, and nearly so while this
 * thread is held up: what an extension waits for, or has said, is then not looked at, and it would be blamed for that.
 */
export class AwakeDeadline {
  readonly #expire: () => void
  #leftMs: number
  #spanMs = 0
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
      this.#leftMs -= Math.min(performance.now() - this.#since, this.#spanMs)
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
    this.#spanMs = Math.min(Math.max(1, this.#leftMs), LOOK_MS)
    this.#timer = setTimeout(this.#look, this.#spanMs)
  }

  readonly #look = (): void => {
    const lateness = Math.max(1, (performance.now() - this.#since) / this.#spanMs)
    // The later, the less of it counts, and never nothing: a thread that is always late must give up some time.
    this.#leftMs -= lateness < 2 ? this.#spanMs : this.#spanMs / lateness
    if (this.#leftMs > 0) this.#run()
    else this.#expire()
  }
}
