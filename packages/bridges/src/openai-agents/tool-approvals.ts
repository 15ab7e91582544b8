import { CallApprovals } from '../models/call-approvals.ts'

/** The approver of a session whose person answers interruptions of a run. */
export class ToolApprovals extends CallApprovals {
  /** Ids of calls that have run with an approval. */
  readonly #used = new Set<string>()

  /**
   * True once for each id. An approval is part of the state of a run, and a saved state can be resumed any number of
   * times.
   */
  redeem(callId: string): boolean {
    if (this.#used.has(callId)) return false
    this.#used.add(callId)
    return true
  }
}
