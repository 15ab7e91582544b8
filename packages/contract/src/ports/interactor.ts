import type { ApprovalAnswer, ApprovalRequest, InteractionEnvelope, InteractionResponse } from '../model/interaction.ts'

/** A person, or what stands for one. Aborted when somebody else answered first or the question is void. */
export interface Interactor {
  /** Whether several questions may be with it at once, to be answered in any order. Looked at for each. Default: one at a time. */
  readonly takesMany?: boolean
  /** Whether it stands for nobody: it hears of each question, and answers none. */
  readonly isNobody?: boolean
  interact(envelope: InteractionEnvelope, signal: AbortSignal): Promise<InteractionResponse>
}

/** Decides one call that needs a person's word. */
export interface Approver {
  approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer>
}
