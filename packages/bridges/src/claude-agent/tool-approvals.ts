import { CallApprovals } from '../models/call-approvals.ts'

/** The approver of a session whose person answers in `canUseTool`. */
export class ToolApprovals extends CallApprovals {
  /** Ids of calls that the person has approved. */
  readonly #granted = new Set<string>()

  grant(callId: string): void {
    this.#granted.add(callId)
  }

  /** Whether the person has approved this call. True once for each approval. */
  redeem(callId: string): boolean {
    return this.#granted.delete(callId)
  }
}
