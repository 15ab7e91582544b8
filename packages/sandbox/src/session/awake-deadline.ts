/** How often the timer checks whether this thread was blocked. */
const CHECK_MS = 100

/**
 * The time limit for an import or a phase. It stops while a person is asked, and nearly stops while this thread is
 * blocked: an extension must not be blamed for messages that the host does not read.
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

  /** Returns a function that resumes it. Call that once. */
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
    this.#spanMs = Math.min(Math.max(1, this.#leftMs), CHECK_MS)
    this.#timer = setTimeout(this.#check, this.#spanMs)
  }

  readonly #check = (): void => {
    const lateness = Math.max(1, (performance.now() - this.#since) / this.#spanMs)
    // The later the timer, the less time counts, but never nothing: the deadline must expire on a thread that is always
    // late.
    this.#leftMs -= lateness < 2 ? this.#spanMs : this.#spanMs / lateness
    if (this.#leftMs > 0) this.#run()
    else this.#expire()
  }
}
