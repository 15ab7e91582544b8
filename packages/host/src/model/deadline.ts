import type { Clock } from '@bulkhead/contract'

/** Time that runs out once, and stands still while somebody else is waited for. */
export class Deadline {
  readonly #clock: Clock
  readonly #expire: () => void
  #leftMs: number
  #since = 0
  #pauses = 0
  #pausedAt = 0
  #pausedMs = 0
  #stopTimer: (() => void) | undefined
  #over = false

  constructor(clock: Clock, ms: number, expire: () => void) {
    this.#clock = clock
    this.#leftMs = ms
    this.#expire = expire
    this.#run()
  }

  /** What of its time is left; of one that is over, when that has just happened. */
  get leftMs(): number {
    return this.#pauses > 0 ? this.#leftMs : this.#leftMs - (this.#clock.monotonic() - this.#since)
  }

  /** How long it has stood still. */
  get pausedMs(): number {
    return this.#pausedMs + (this.#pauses > 0 ? this.#clock.monotonic() - this.#pausedAt : 0)
  }

  /** Pauses overlap: time goes on when each was resumed. Returns what resumes it; doing so twice is once. */
  pause(): () => void {
    if (this.#pauses++ === 0) {
      this.#pausedAt = this.#clock.monotonic()
      if (!this.#over) {
        this.#stopTimer?.()
        this.#leftMs -= this.#pausedAt - this.#since
      }
    }
    let paused = true
    return () => {
      if (!paused) return
      paused = false
      if (--this.#pauses > 0) return
      this.#pausedMs += this.#clock.monotonic() - this.#pausedAt
      if (!this.#over) this.#run()
    }
  }

  /** Idempotent. Afterwards it never expires. */
  stop(): void {
    this.#over = true
    this.#stopTimer?.()
  }

  #run(): void {
    this.#since = this.#clock.monotonic()
    this.#stopTimer = this.#clock.after(Math.max(0, this.#leftMs), () => {
      this.#over = true
      this.#expire()
    })
  }
}
