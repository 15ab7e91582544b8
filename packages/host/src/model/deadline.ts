import { CALL_LIMITS, type Clock } from '@bulkhead/contract'
import { within } from '@bulkhead/kit/deadlines'

/** A deadline that can be paused. */
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

  /** The remaining time. */
  get leftMs(): number {
    return this.#pauses > 0 ? this.#leftMs : this.#leftMs - (this.#clock.monotonic() - this.#since)
  }

  /** How long it was paused. */
  get pausedMs(): number {
    return this.#pausedMs + (this.#pauses > 0 ? this.#clock.monotonic() - this.#pausedAt : 0)
  }

  /** Pauses overlap: the time continues when each was resumed. Returns a function that resumes; idempotent. */
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

/** Pauses something. Returns a function that resumes it. */
type Pause = () => () => void

interface Member {
  readonly pause: Pause
  resume: (() => void) | undefined
}

/** Deadlines that are paused together, also those that join during a pause. */
export class JointPause {
  readonly #members = new Set<Member>()
  #pauses = 0

  /** Returns a function that removes the member and resumes it. Idempotent. */
  join(pause: Pause): () => void {
    const member: Member = { pause, resume: this.#pauses > 0 ? pause() : undefined }
    this.#members.add(member)
    return () => {
      if (this.#members.delete(member)) member.resume?.()
    }
  }

  /** Pauses overlap: the time continues when each was resumed. Resuming is idempotent. */
  pause(): () => void {
    if (this.#pauses++ === 0) for (const member of this.#members) member.resume = member.pause()
    let paused = true
    return () => {
      if (!paused) return
      paused = false
      if (--this.#pauses > 0) return
      for (const member of this.#members) {
        member.resume?.()
        member.resume = undefined
      }
    }
  }
}

/** The answer of code that may deny the call. Rejects at its deadline or when the call is cancelled. */
export function inTime<Answer>(
  answer: PromiseLike<Answer>, { signal }: { readonly signal: AbortSignal }, clock: Clock,
): Promise<Answer> {
  const { policyMs: ms } = CALL_LIMITS
  return within({ clock, ms, signal, late: () => new Error(`no answer within ${ms} ms`) }, () => answer)
}
