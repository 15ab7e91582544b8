import type { SessionMemory } from '@bulkhead/contract'

/** Work on the memory of one session, one after the other: what is written depends on what was read. */
export class SessionTurns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Contract: rejects with what `work` rejects with. */
  async take<Result>(session: SessionMemory, work: () => Promise<Result>): Promise<Result> {
    const id = await session.id()
    const before = this.#last.get(id)
    const turn = before === undefined ? work() : before.then(work, work)
    this.#last.set(id, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(id) === turn) this.#last.delete(id)
    }
  }
}
