/** Stops the time of something. Returns what lets it go on. */
type Pause = () => () => void

interface Member {
  readonly pause: Pause
  resume: (() => void) | undefined
}

/** Deadlines that stand still together. One that joins during a pause stands still from then on. */
export class JointPause {
  readonly #members = new Set<Member>()
  #pauses = 0

  /** Returns what takes it out again, and lets its time go on. Idempotent. */
  join(pause: Pause): () => void {
    const member: Member = { pause, resume: this.#pauses > 0 ? pause() : undefined }
    this.#members.add(member)
    return () => {
      if (this.#members.delete(member)) member.resume?.()
    }
  }

  /** Pauses overlap: time goes on when each was resumed. Resuming twice is once. */
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
