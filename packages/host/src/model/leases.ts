import { Roster } from './roster.ts'

interface Hold {
  readonly number: number
  /** Made when somebody waits for it: most holds are let go of unnoticed. */
  gone: PromiseWithResolvers<void> | undefined
}

/** Who still needs something that is to be taken away: turns that know a tool, calls that are bound to it. */
export class Holds {
  readonly #held = new Roster<Hold>()
  #count = 0

  /** Returns what lets go. Doing so twice is once. */
  enter(): () => void {
    const hold: Hold = { number: ++this.#count, gone: undefined }
    const place = this.#held.enter(hold)
    return () => {
      if (this.#held.leave(place)) hold.gone?.resolve()
    }
  }

  get size(): number {
    return this.#held.size
  }

  /** A moment, to tell who came after it. */
  get now(): number {
    return this.#count
  }

  /** Resolves when all who hold it now, and came after `since`, have let go. Whoever comes later is not waited for. */
  async whenReleased(since = 0): Promise<void> {
    const awaited = this.#held.members().filter(({ number }) => number > since)
    await Promise.all(awaited.map((hold) => (hold.gone ??= Promise.withResolvers<void>()).promise))
  }

  /** Resolves at a moment when nobody holds it. */
  async whenNone(): Promise<void> {
    while (this.#held.size > 0) await this.whenReleased()
  }
}
